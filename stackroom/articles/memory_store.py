"""The article memory that lives as long as its process."""

from collections.abc import AsyncIterator, Sequence

import numpy as np

from stackroom.articles.matrix import VectorMatrix
from stackroom.articles.store_base import (
    AsyncEmbeddingStore,
    EncodedChunk,
    check_batch_size,
    check_model,
    check_records,
    decode_metadata,
    encode,
    query_vector,
)
from stackroom.articles.types import EmbeddingChunk, SearchHit, StoredRecord


class InMemoryEmbeddingStore(AsyncEmbeddingStore):
    """A dictionary of chunks; closing it keeps the data."""

    def __init__(self) -> None:
        self._records: dict[str, dict[int, EncodedChunk]] = {}
        self._model: str | None = None
        self._matrices: dict[int, tuple[VectorMatrix, list[EncodedChunk]]] = {}

    async def add(self, chunks: Sequence[EmbeddingChunk]) -> None:
        """See :meth:`AsyncEmbeddingStore.add`."""
        self._add(encode(chunks))

    async def delete_record(self, record_id: str) -> None:
        """See :meth:`AsyncEmbeddingStore.delete_record`."""
        self._matrices.clear()
        self._records.pop(record_id, None)

    async def replace_record(self, record_id: str, chunks: Sequence[EmbeddingChunk]) -> None:
        """See :meth:`AsyncEmbeddingStore.replace_record`; nothing else runs between deleting and adding."""
        check_records(record_id, chunks)
        encoded = encode(chunks)
        self._records.pop(record_id, None)
        self._add(encoded)

    async def query(
        self,
        vector: Sequence[float],
        top_k: int = 5,
        min_score: float = -1.0,
        exclude_record_id: str | None = None,
    ) -> list[SearchHit]:
        """See :meth:`AsyncEmbeddingStore.query`."""
        unit = query_vector(vector, top_k)
        if unit is None:
            return []
        matrix, chunks = self._matrix(len(unit))
        hits: list[SearchHit] = []
        for ranked in matrix.ranked(unit, top_k, min_score, exclude_record_id):
            chunk = chunks[ranked.row]
            metadata = decode_metadata(chunk.metadata) or {}
            hits.append(SearchHit(chunk.record_id, chunk.chunk_index, chunk.text, ranked.score, metadata))
            if len(hits) == top_k:
                break
        return hits

    async def count(self) -> int:
        """See :meth:`AsyncEmbeddingStore.count`."""
        return sum(map(len, self._records.values()))

    async def iter_records(self, batch_size: int = 100) -> AsyncIterator[StoredRecord]:
        """See :meth:`AsyncEmbeddingStore.iter_records`; yields from a snapshot taken at the first step."""
        check_batch_size(batch_size)
        snapshot = [(record_id, _in_order(chunks)) for record_id, chunks in sorted(self._records.items())]
        for record_id, chunks in snapshot:
            texts = tuple(chunk.text for chunk in chunks)
            yield StoredRecord(record_id, texts, decode_metadata(chunks[0].metadata) or {})

    async def bind_model(self, model: str, *, record: bool) -> None:
        """See :meth:`AsyncEmbeddingStore.bind_model`."""
        check_model(self._model, model, "the article memory")
        if record:
            self._model = model

    def _add(self, chunks: Sequence[EncodedChunk]) -> None:
        self._matrices.clear()
        for chunk in chunks:
            self._records.setdefault(chunk.record_id, {})[chunk.chunk_index] = chunk

    def _matrix(self, dimension: int) -> tuple[VectorMatrix, list[EncodedChunk]]:
        if dimension not in self._matrices:
            rows = [
                chunk
                for _, chunks in sorted(self._records.items())
                for chunk in _in_order(chunks)
                if len(chunk.vector) == dimension
            ]
            vectors = np.array([chunk.vector for chunk in rows], dtype=np.float32).reshape(len(rows), dimension)
            self._matrices[dimension] = VectorMatrix([chunk.record_id for chunk in rows], vectors), rows
        return self._matrices[dimension]


def _in_order(chunks: dict[int, EncodedChunk]) -> list[EncodedChunk]:
    return [chunks[index] for index in sorted(chunks)]
