"""The vector store contract, and everything backends share: batching, replace, checks, model identity.

A backend file holds only what differs: how rows are written, read and searched, and how a filter is translated.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stackroom.artefacts import MetadataValue, StoredRow
from stackroom.config import FilterField


@dataclass(frozen=True)
class CollectionSpec:
    """What a collection is for; stored with it and enforced when it is opened again."""

    name: str
    corpus: str
    model: str
    """Key of the embedding model's identity (name and weights hash)."""
    dimension: int
    filter_fields: tuple[FilterField, ...] = ()


@dataclass(frozen=True)
class StoreHit:
    """One ranked row of a vector store or of a keyword index."""

    chunk_id: str
    source_id: str
    text: str
    metadata: Mapping[str, MetadataValue]
    score: float
    """Cosine similarity (1 = same) for vector stores, BM25 score (> 0) for keyword indexes."""


@dataclass(frozen=True)
class ReplaceResult:
    """What replacing the rows of a source did."""

    upserted: int
    deleted: int


@dataclass(frozen=True)
class StoreInfo:
    """What a collection says about itself."""

    backend: str
    collection: str
    model: str
    dimension: int
    rows: int
    details: Mapping[str, Any] = field(default_factory=dict)


class VectorStore(ABC):
    """A collection of rows with vectors in some backend. Not thread-safe unless a backend says so."""

    spec: CollectionSpec

    @abstractmethod
    def replace_source(self, source_id: str, rows: Sequence[StoredRow]) -> ReplaceResult:
        """Make ``rows`` the only rows of a source: upsert them, delete ids that are no longer there."""

    @abstractmethod
    def query(self, vector: np.ndarray, k: int, where: Mapping[str, Any] | None = None) -> list[StoreHit]:
        """Return the ``k`` rows most similar to ``vector`` among those matching ``where``, ties by chunk id."""

    @abstractmethod
    def delete_source(self, source_id: str) -> int:
        """Delete all rows of a source and return how many there were."""

    @abstractmethod
    def count(self, source_id: str | None = None) -> int:
        """Return the number of rows, in all or of one source."""

    @abstractmethod
    def ids_of_source(self, source_id: str) -> set[str]:
        """Return the chunk ids stored for a source."""

    @abstractmethod
    def source_ids(self) -> set[str]:
        """Return all source ids that have rows."""

    @abstractmethod
    def scan(self, batch_size: int = 500) -> Iterator[StoredRow]:
        """Yield every row with its vector, in no particular order."""

    @abstractmethod
    def drop(self) -> None:
        """Delete the collection."""

    @abstractmethod
    def info(self) -> StoreInfo:
        """Return what the collection says about itself."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections."""
