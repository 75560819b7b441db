"""Pieces of evidence for values of a field, added up: independent signs of the same value strengthen one another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stackroom.biblio.candidates import SOURCES, Candidate

CEILING = 0.97
"""Confidence that nothing but a DOI service exceeds."""


@dataclass
class _Sum:
    value: Any
    doubt: float = 1.0
    source: str = "pattern"
    where: Mapping[str, Any] = field(default_factory=dict)
    strongest: float = 0.0
    notes: dict[str, None] = field(default_factory=dict)


@dataclass
class Evidence:
    """Collects signs of values and adds up their weights as if they were independent."""

    _sums: dict[Any, _Sum] = field(default_factory=dict)
    _seen: set[tuple[Any, str]] = field(default_factory=set)

    def add(
        self, value: Any, weight: float, source: str, where: Mapping[str, Any], note: str = "", key: Any = None
    ) -> None:
        """Note a sign of a value.

        Args:
            value: the value.
            weight: how much this sign alone would convince, 0 to 1.
            source: one of :data:`~stackroom.biblio.candidates.SOURCES`.
            where: place or key.
            note: kind of sign; a second sign of the same kind for the same value adds nothing.
            key: what makes values the same (default: the value).
        """
        key = value if key is None else key
        if (key, note or source) in self._seen:
            return
        self._seen.add((key, note or source))
        total = self._sums.setdefault(key, _Sum(value))
        total.doubt *= 1.0 - min(max(weight, 0.0), 0.99)
        if note:
            total.notes[note] = None
        better = weight, -SOURCES.index(source)
        if better > (total.strongest, -SOURCES.index(total.source)):
            total.strongest, total.source, total.where, total.value = weight, source, where, value

    def candidates(self) -> list[Candidate]:
        """Return one candidate per value."""
        return [
            Candidate(total.value, total.source, total.where, min(CEILING, 1.0 - total.doubt), ", ".join(total.notes))
            for total in self._sums.values()
        ]


def strongest(candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the candidate of the highest confidence, whatever that is."""
    return max(candidates, key=lambda candidate: candidate.confidence, default=None)
