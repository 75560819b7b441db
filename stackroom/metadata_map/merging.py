"""Three-way merge of what was generated, what is generated now, and what a person has written.

For every field of every heading chain:

===========================================  ==========================================================
the curated map does not name the field      the generated value
curated and generated agree                  that value
the person changed the value                 the person's value
the person left it as it was generated then  the value generated now
both changed it, differently                 the person's value, and a conflict is listed
===========================================  ==========================================================

What was generated when the person wrote a value is remembered in the *base*, which travels with the artefact. A
conflict stays listed until the person changes the value, or accepts it (see ``accept``).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from stackroom.metadata_map.curated import DEFAULT, Entry
from stackroom.metadata_map.resolving import normal_chain

Base = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Chain to field to ``{"generated", "curated"}``: the two values when the curated one was first seen."""

ACCEPTED = "_accepted"
"""Key in a chain of the curated map: field to the generated value that the person has seen and turned down."""


@dataclass(frozen=True)
class Conflict:
    """A field that both the machine and a person have changed, differently."""

    chain: str
    key: str
    generated_before: Any
    generated_now: Any
    curated: Any

    def to_json(self) -> dict[str, Any]:
        """Return the conflict as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the conflict in words."""
        return (
            f"{self.chain}: {self.key}: the map says {self.curated!r}; what is found in the file has changed from "
            f"{self.generated_before!r} to {self.generated_now!r}"
        )


@dataclass(frozen=True)
class Merged:
    """The entry that is used."""

    entry: dict[str, dict[str, Any]]
    conflicts: tuple[Conflict, ...] = ()
    base: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """To be kept and given back at the next merge."""
    curated_fields: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Chain to the fields whose value is a person's."""


def merge(generated: Entry, curated: Entry | None, base: Base | None = None) -> Merged:
    """Return the generated entry with a person's corrections laid over it.

    Args:
        generated: what is found in the file now.
        curated: what the curated map says of the source; None when nothing.
        base: of the last merge; None at the first.
    """
    entry = {chain: dict(fields) for chain, fields in generated.items()}
    result = Merged(entry)
    if curated is None:
        return result
    names = {normal_chain(chain): chain for chain in entry if chain != DEFAULT}
    conflicts: list[Conflict] = []
    for written, fields in curated.items():
        chain = written if written == DEFAULT else names.get(normal_chain(written), written)
        own = entry.setdefault(chain, {})
        found = generated.get(chain, {})
        before = (base or {}).get(chain, {})
        accepted = fields.get(ACCEPTED) if isinstance(fields.get(ACCEPTED), Mapping) else {}
        kept: dict[str, dict[str, Any]] = {}
        for key, value in fields.items():
            if key == ACCEPTED:
                continue
            kept[key] = _remembered(before.get(key), found.get(key), value)
            choice = _choose(chain, key, found.get(key), value, kept[key], (accepted or {}).get(key, _NOTHING))
            if choice.conflict is not None:
                conflicts.append(choice.conflict)
            if choice.curated:
                own[key] = value
                result.curated_fields[chain] = (*result.curated_fields.get(chain, ()), key)
        if kept:
            result.base[chain] = kept
    _drop_removed(entry)
    return Merged(entry, tuple(conflicts), result.base, result.curated_fields)


_NOTHING = object()


@dataclass(frozen=True)
class _Choice:
    curated: bool
    conflict: Conflict | None = None


def _remembered(before: Mapping[str, Any] | None, generated: Any, curated: Any) -> dict[str, Any]:
    """Return the base of a field: as remembered while the person's value stays, afresh when it is new or changed."""
    if before is not None and before.get("curated") == curated:
        return dict(before)
    return {"generated": generated, "curated": curated}


def _choose(chain: str, key: str, generated: Any, curated: Any, base: Mapping[str, Any], accepted: Any) -> _Choice:
    then = base.get("generated")
    if generated == curated or generated is None:
        return _Choice(curated=True)
    if curated == then:
        return _Choice(curated=False)
    if generated == then or accepted == generated:
        return _Choice(curated=True)
    return _Choice(curated=True, conflict=Conflict(chain, key, then, generated, curated))


def _drop_removed(entry: dict[str, dict[str, Any]]) -> None:
    """Take out the fields that a person has set to null: that is how a wrong value is removed."""
    for fields in entry.values():
        for key in [key for key, value in fields.items() if value is None]:
            del fields[key]
