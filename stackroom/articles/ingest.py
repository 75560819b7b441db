"""From an article's text to remembered passages."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from stackroom.articles.store_base import AsyncEmbeddingStore
from stackroom.articles.types import EmbeddingChunk
from stackroom.embedding.async_base import AsyncEmbedder
from stackroom.errors import EmbeddingError


class Article(Protocol):
    """What is needed of a record: :class:`stackroom.articles.RawRecord`, or anything with these three."""

    @property
    def record_id(self) -> str:
        """Identity of the article."""
        ...

    @property
    def title(self) -> str:
        """Its title."""
        ...

    @property
    def source_url(self) -> str | None:
        """Where it comes from."""
        ...


class Chunker(Protocol):
    """Anything that cuts text: :class:`stackroom.articles.TextChunker`, or another rule."""

    def chunk(self, text: str) -> list[str]:
        """Return the passages of a text in order."""
        ...


class AsyncChunkIngestor:
    """Cuts an article, embeds its passages, and makes them the only ones remembered for it."""

    def __init__(self, chunker: Chunker, embedder: AsyncEmbedder, store: AsyncEmbeddingStore) -> None:
        self._chunker = chunker
        self._embedder = embedder
        self._store = store

    async def ingest(self, record: Article, text: str) -> int:
        """Replace the passages of a record with those of ``text`` and return how many there are.

        A text without words clears the record. Title and source address are the only metadata kept. On any failure
        the record stays as it was.

        Raises:
            EmbeddingError: the embedder failed, or gave another number of vectors than there are passages.
            EmbeddingStoreError: the store could not be written.
            ModelMismatchError: the store holds vectors of another model.
        """
        passages = self._chunker.chunk(text)
        vectors = await self._embed(record.record_id, passages) if passages else []
        chunks = [
            EmbeddingChunk(record.record_id, index, passage, vector, _metadata(record))
            for index, (passage, vector) in enumerate(zip(passages, vectors, strict=True))
        ]
        if chunks and self._embedder.model_key is not None:
            await self._store.bind_model(self._embedder.model_key, record=True)
        await self._store.replace_record(record.record_id, chunks)
        return len(chunks)

    async def _embed(self, record_id: str, passages: Sequence[str]) -> list[list[float]]:
        vectors = await self._embedder.embed(passages)
        if len(vectors) != len(passages):
            raise EmbeddingError(
                f"the embedder gave {len(vectors)} vectors for the {len(passages)} passages of record {record_id!r}"
            )
        lengths = {len(vector) for vector in vectors}
        if len(lengths) != 1 or not all(np.isfinite(vector).all() for vector in vectors):
            raise EmbeddingError(f"the embedder gave unusable vectors for record {record_id!r} (lengths {lengths})")
        return vectors


def _metadata(record: Article) -> dict[str, str | None]:
    return {"title": record.title, "source_url": record.source_url}
