"""What the article memory takes and gives. Types only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class EmbeddingChunk:
    """One passage of an article with its vector."""

    record_id: str
    chunk_index: int
    text: str
    vector: list[float]
    metadata: dict[str, Any] = field(default_factory=dict)
    """JSON values only."""


@dataclass(slots=True)
class SearchHit:
    """A stored passage that resembles what was asked for."""

    record_id: str
    chunk_index: int
    text: str
    score: float
    """Cosine similarity, -1 to 1."""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredRecord:
    """All passages of one article, without their vectors."""

    record_id: str
    passages: tuple[str, ...]
    """In the order of their chunk index."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Metadata of the passage of the lowest chunk index."""


@dataclass(frozen=True, kw_only=True)
class RawRecord:
    """An article before it is remembered."""

    record_id: str
    title: str
    abstract: str = ""
    source_url: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
