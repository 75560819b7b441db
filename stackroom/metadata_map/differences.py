"""Where the curated map departs from what is found in a document, field by field."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stackroom.metadata_map.curated import DEFAULT, Entry
from stackroom.metadata_map.merging import ACCEPTED, Conflict
from stackroom.metadata_map.resolving import normal_chain


@dataclass(frozen=True)
class Difference:
    """A field whose curated value is not the generated one."""

    source_id: str
    chain: str
    key: str
    generated: Any
    curated: Any
    state: Literal["corrected", "added", "removed", "conflict"]


def diff(
    source_id: str, generated: Entry, curated: Entry | None, conflicts: Sequence[Conflict] = ()
) -> list[Difference]:
    """Return where the curated map departs from what is found in the file.

    Args:
        source_id: of the source.
        generated: generated entry.
        curated: curated entry.
        conflicts: of the last merge.
    """
    by_chain = {normal_chain(chain): fields for chain, fields in generated.items() if chain != DEFAULT}
    open_conflicts = {(normal_chain(conflict.chain), conflict.key) for conflict in conflicts}
    rows = []
    for chain, fields in (curated or {}).items():
        found = generated.get(DEFAULT, {}) if chain == DEFAULT else by_chain.get(normal_chain(chain), {})
        for key, value in fields.items():
            if key == ACCEPTED or value == found.get(key):
                continue
            state = _state(value, found.get(key), (normal_chain(chain), key) in open_conflicts)
            rows.append(Difference(source_id, chain, key, found.get(key), value, state))
    return rows


def _state(curated: Any, generated: Any, conflict: bool) -> Literal["corrected", "added", "removed", "conflict"]:
    if conflict:
        return "conflict"
    if curated is None:
        return "removed"
    return "added" if generated is None else "corrected"
