"""The contract of an article memory, and what all memories share: what may be stored, and how answers are checked."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stackroom.articles.types import EmbeddingChunk, SearchHit, StoredRecord
from stackroom.embedding.vectors import unit_vector
from stackroom.errors import EmbeddingStoreError, ModelMismatchError

_LARGEST_INDEX = 2**63 - 1


class AsyncEmbeddingStore(ABC):
    """An accumulating memory of article passages, searched by meaning.

    Chunks are kept by (record id, chunk index). Every ranking is by score descending, then record id, then chunk
    index. Only stored vectors of the query's length are considered; those that are not finite never match.
    """

    @abstractmethod
    async def add(self, chunks: Sequence[EmbeddingChunk]) -> None:
        """Store chunks; each replaces the one of the same record and index, of two in one call the last one wins.

        Raises:
            EmbeddingStoreError: a chunk cannot be stored (its metadata is not JSON), or the store cannot be written.
                Nothing of the call is stored then.
        """

    @abstractmethod
    async def delete_record(self, record_id: str) -> None:
        """Delete all chunks of a record; an unknown record is fine."""

    async def replace_record(self, record_id: str, chunks: Sequence[EmbeddingChunk]) -> None:
        """Make ``chunks`` the only chunks of a record.

        Raises:
            ValueError: a chunk belongs to another record.
            EmbeddingStoreError: see :meth:`add`.
        """
        check_records(record_id, chunks)
        await self.delete_record(record_id)
        await self.add(chunks)

    @abstractmethod
    async def query(
        self,
        vector: Sequence[float],
        top_k: int = 5,
        min_score: float = -1.0,
        exclude_record_id: str | None = None,
    ) -> list[SearchHit]:
        """Return the chunks most similar to a vector, best first.

        Args:
            vector: (dimension,) any length; an empty, zero or non-finite vector matches nothing.
            top_k: most hits; below 1 there are none.
            min_score: least cosine similarity; NaN lets nothing pass.
            exclude_record_id: record left out before the best are chosen.
        """

    @abstractmethod
    async def count(self) -> int:
        """Return the number of stored chunks."""

    def iter_records(self, batch_size: int = 100) -> AsyncIterator[StoredRecord]:
        """Yield every record with its passages, in record id order, without reading vectors.

        Raises:
            NotImplementedError: the store cannot list its records.
            ValueError: ``batch_size`` is below 1 (at the first step).
        """
        raise NotImplementedError(f"{type(self).__name__} cannot list its records")

    async def bind_model(self, model: str, *, record: bool) -> None:  # noqa: ARG002 - a store may not know models
        """Refuse to mix the vectors of two models.

        Args:
            model: key of the model whose vectors are about to be stored or searched with.
            record: remember it as the store's model when it has none yet.

        Raises:
            ModelMismatchError: the store holds vectors of another model; both are named.
        """
        return

    async def aclose(self) -> None:
        """Release files and threads; the store may be used again."""
        return


@dataclass(frozen=True)
class EncodedChunk:
    """A chunk as it is stored."""

    record_id: str
    chunk_index: int
    text: str
    vector: np.ndarray
    """float32 of length 1 (or zero, or not finite: then it never matches, or scores 0)."""
    metadata: str
    """JSON object."""


def encode(chunks: Sequence[EmbeddingChunk]) -> list[EncodedChunk]:
    """Check chunks and bring them into the stored form; of two with the same key the last one stays.

    Raises:
        EmbeddingStoreError: a chunk cannot be stored; the message names it and says why.
    """
    by_key = {(chunk.record_id, chunk.chunk_index): _encode(chunk) for chunk in chunks}
    return list(by_key.values())


def query_vector(vector: Sequence[float], top_k: int) -> np.ndarray | None:
    """Return the unit vector to search with, or None when nothing can match."""
    if top_k < 1 or not len(vector):
        return None
    unit = unit_vector(vector)
    return unit if bool(np.isfinite(unit).all()) and bool(unit.any()) else None


def check_records(record_id: str, chunks: Sequence[EmbeddingChunk]) -> None:
    """Refuse chunks of another record than the one being replaced.

    Raises:
        ValueError: naming the first one.
    """
    for chunk in chunks:
        if chunk.record_id != record_id:
            raise ValueError(f"chunk {chunk.chunk_index} belongs to record {chunk.record_id!r}, not {record_id!r}")


def check_batch_size(batch_size: int) -> None:
    """Refuse a batch size below 1.

    Raises:
        ValueError: it is.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, not {batch_size}")


def check_model(stored: str | None, model: str, where: str) -> None:
    """Refuse vectors of another model than the one a store was filled with.

    Raises:
        ModelMismatchError: naming both.
    """
    if stored is not None and stored != model:
        raise ModelMismatchError(
            f"{where} holds vectors of the model {stored!r}, not of {model!r}; "
            "open another file for the new model, or embed with the old one"
        )


def decode_metadata(text: object) -> dict[str, Any] | None:
    """Return stored metadata, or None when it is damaged."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _encode(chunk: EmbeddingChunk) -> EncodedChunk:
    where = f"chunk {chunk.chunk_index!r} of record {chunk.record_id!r}"
    if not isinstance(chunk.record_id, str) or not _is_utf8(chunk.record_id):
        raise EmbeddingStoreError(f"cannot write {where}: the record id is not valid text")
    index = chunk.chunk_index
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index <= _LARGEST_INDEX:
        raise EmbeddingStoreError(f"cannot write {where}: the chunk index is not a whole number from 0")
    try:
        vector = unit_vector(chunk.vector)
    except (TypeError, ValueError) as error:
        raise EmbeddingStoreError(f"cannot write {where}: its vector is not a list of numbers ({error})") from error
    if vector.ndim != 1:
        raise EmbeddingStoreError(f"cannot write {where}: its vector is not a list of numbers")
    if not isinstance(chunk.text, str):
        raise EmbeddingStoreError(f"cannot write {where}: its text is {type(chunk.text).__name__}")
    text = chunk.text.encode("utf-8", "replace").decode("utf-8")
    return EncodedChunk(chunk.record_id, index, text, vector, _encode_metadata(chunk.metadata, where))


def _encode_metadata(metadata: dict[str, Any], where: str) -> str:
    for key, value in metadata.items():
        if not isinstance(key, str):
            raise EmbeddingStoreError(f"cannot write {where}: the metadata key {key!r} is not text")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise EmbeddingStoreError(f"cannot write {where}: metadata {key!r} is not JSON ({error})") from error
    return json.dumps(metadata, allow_nan=False)  # ASCII: a lone surrogate stays an escape and survives


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
