"""What a search gives back, and its JSON form (documented and stable)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackroom.artefacts import MetadataValue
from stackroom.stores.base import StoreHit
from stackroom.stores.metadata import display_metadata


@dataclass(frozen=True)
class Neighbour:
    """A chunk just before or after a hit in its source."""

    chunk_id: str
    chunk_index: int
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"chunk_id": self.chunk_id, "chunk_index": self.chunk_index, "text": self.text}


@dataclass(frozen=True)
class SearchHit:
    """A chunk found by a search."""

    corpus: str
    source_id: str
    chunk_id: str
    chunk_index: int
    score: float
    """What the ranking is sorted by; comparable within one result only."""
    pages: tuple[int, ...]
    headings: tuple[str, ...]
    text: str
    metadata: Mapping[str, MetadataValue]
    ranks: Mapping[str, int | None]
    """Place in the store's own list, from 1, per side (``dense``, ``bm25``); None where it was not found."""
    duplicates: tuple[str, ...] = ()
    """Other places (``source#index``) of the same content, which were folded into this hit."""
    neighbours: tuple[Neighbour, ...] = ()
    explanation: Mapping[str, Any] | None = None
    """With ``explain``: how the score came about."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = {
            "corpus": self.corpus,
            "source_id": self.source_id,
            "chunk_id": self.chunk_id,
            "chunk_index": self.chunk_index,
            "score": self.score,
            "pages": list(self.pages),
            "headings": list(self.headings),
            "text": self.text,
            "metadata": dict(self.metadata),
            "ranks": dict(self.ranks),
            "duplicates": list(self.duplicates),
        }
        if self.neighbours:
            plain["neighbours"] = [neighbour.to_json() for neighbour in self.neighbours]
        if self.explanation is not None:
            plain["explanation"] = dict(self.explanation)
        return plain


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first, and what could not be searched."""

    hits: tuple[SearchHit, ...]
    warnings: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"hits": [hit.to_json() for hit in self.hits], "warnings": list(self.warnings)}


def place_of(hit: StoreHit) -> int:
    """Return a chunk's place in its source, from 0 (also where the store does not say)."""
    index = hit.metadata.get("chunk_index")
    return index if isinstance(index, int) else 0


def pages_of(hit: StoreHit) -> tuple[int, ...]:
    """Return the pages of a chunk; empty where they are not known."""
    first, last = hit.metadata.get("page_first"), hit.metadata.get("page_last")
    if not isinstance(first, int):
        return ()
    return tuple(range(first, (last if isinstance(last, int) else first) + 1))


def headings_of(hit: StoreHit) -> tuple[str, ...]:
    """Return the headings above a chunk, outermost first."""
    headings = hit.metadata.get("headings")
    return tuple(headings) if isinstance(headings, list) else ()


def readable_place(hit: StoreHit) -> str:
    """Return ``source#index``."""
    return str(hit.metadata.get("readable_id") or f"{hit.source_id}#{place_of(hit)}")


def shown_metadata(hit: StoreHit) -> dict[str, MetadataValue]:
    """Return metadata as people see it."""
    return display_metadata(hit.metadata)
