"""The metadata map of a corpus as the next ingestion will make it: what was found, with the curated map as it is now.

The artefact of the stage ``metadata_map`` says what was found and what was merged then. People who edit the curated map
want to see what their edit does before they ingest again; nothing is written here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackroom.ledger import SourceState
from stackroom.map_lint import MapReport, lint_metadata_map
from stackroom.metadata_map import DEFAULT, Conflict, Entry, MapProblem, merge
from stackroom.stages import metadata_map
from stackroom.stages.bench import Bench, FileWork


@dataclass(frozen=True)
class SourceMap:
    """What the map says of one source."""

    source_id: str
    generated: Entry
    curated: Entry | None
    merged: Entry
    conflicts: tuple[Conflict, ...]

    @property
    def fields(self) -> dict[str, Any]:
        """What holds for the whole document."""
        return dict(self.merged.get(DEFAULT) or {})


def source_map(bench: Bench, source_id: str) -> SourceMap | None:
    """Return the map of a source; None while nothing was looked for in it."""
    recorded = metadata_map.read(FileWork(bench, source_id))
    if recorded is None:
        return None
    generated, curated = recorded.data["generated"], bench.curated.entry(source_id)
    merged = merge(generated, curated, recorded.data.get("base"))
    return SourceMap(source_id, generated, curated, merged.entry, merged.conflicts)


def corpus_maps(bench: Bench) -> Iterator[SourceMap]:
    """Yield the maps of all sources that are there, by source id."""
    for state in _known(bench):
        found = source_map(bench, state.source_id) if state.present else None
        if found is not None:
            yield found


@dataclass(frozen=True)
class MapLint:
    """What is to be said of the map of a corpus."""

    report: MapReport
    """Findings about the merged entries of all searchable sources."""
    problems: tuple[MapProblem, ...]
    """What is wrong with the curated map files."""
    conflicts: tuple[tuple[str, Conflict], ...]
    """Source id and open conflict."""


def lint_map(bench: Bench) -> MapLint:
    """Check the curated map files and the entries as the next ingestion will have them."""
    maps = list(corpus_maps(bench))
    stored = [one.source_id for one in _known(bench) if one.present and one.state in _STORED]
    return MapLint(
        report=lint_metadata_map({one.source_id: one.merged for one in maps}, {*stored, *(m.source_id for m in maps)}),
        problems=bench.curated.problems,
        conflicts=tuple((one.source_id, conflict) for one in maps for conflict in one.conflicts),
    )


_STORED = ("searchable", "partial")


def _known(bench: Bench) -> list[SourceState]:
    # Opening a ledger creates it; looking at a fresh project should leave no trace.
    return bench.ledger.sources(bench.name) if bench.settings.state.ledger.exists() else []
