"""Candidates: what a field might be, where that was found, and how far it can be trusted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

SOURCES = ("doi-service", "pdf-info", "xmp", "embedded", "docling", "layout", "pattern", "chunk-heading", "file-name")
"""Where a value can come from, in the order of trust that decides between equally confident candidates."""

FIELDS = ("title", "authors", "keywords", "year", "journal", "doi", "url", "arxiv", "abstract")


@dataclass(frozen=True)
class Candidate:
    """One possible value of a field."""

    value: Any
    source: str
    """One of :data:`SOURCES`."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """``{"page", "box"}`` (points, origin top left), or ``{"key"}``, or ``{"service"}``."""
    confidence: float = 0.5
    """0 to 1; a candidate below 0.5 is never chosen."""
    note: str = ""
    """Why it is trusted less or more than its source would be."""

    def to_json(self) -> dict[str, Any]:
        """Return the candidate as plain values."""
        row = {
            "value": self.value,
            "source": self.source,
            "where": dict(self.where),
            "confidence": round(self.confidence, 3),
        }
        return row | ({"note": self.note} if self.note else {})


CHOSEN_FROM = 0.5
"""Confidence from which a candidate may be chosen."""


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates best first: by confidence, then by trust in their source."""
    return sorted(candidates, key=lambda candidate: (-candidate.confidence, SOURCES.index(candidate.source)))


def best(candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the candidate to choose, or None when none is trusted enough."""
    order = ranked(candidates)
    return order[0] if order and order[0].confidence >= CHOSEN_FROM else None
