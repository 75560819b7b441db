"""The metadata map: what is generated, what a person corrects, and what of both holds for a chunk."""

from stackroom.metadata_map.curated import CURATED_NAME, DEFAULT, CuratedMap, Entry, load_curated
from stackroom.metadata_map.generated import generated_entry
from stackroom.metadata_map.json_source import MapProblem
from stackroom.metadata_map.merging import Conflict, Merged, merge
from stackroom.metadata_map.resolving import resolve, resolver

__all__ = [
    "CURATED_NAME",
    "DEFAULT",
    "Conflict",
    "CuratedMap",
    "Entry",
    "MapProblem",
    "Merged",
    "generated_entry",
    "load_curated",
    "merge",
    "resolve",
    "resolver",
]
