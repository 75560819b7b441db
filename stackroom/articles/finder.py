"""Which remembered articles resemble a piece of text?"""

from typing import Any

from stackroom.articles.store_base import AsyncEmbeddingStore
from stackroom.articles.types import SearchHit
from stackroom.embedding.async_base import AsyncEmbedder

_POOL_GROWTH = 4


class AsyncSimilarArticleFinder:
    """Searches an article memory, or a corpus (:class:`stackroom.articles.AsyncCorpusStore`), by meaning."""

    def __init__(self, embedder: AsyncEmbedder, store: AsyncEmbeddingStore) -> None:
        self._embedder = embedder
        self._store = store

    async def find_similar_chunks(
        self, text: str, top_k: int = 5, min_score: float = 0.0, exclude_record_id: str | None = None
    ) -> list[SearchHit]:
        """Return the passages most similar to ``text``, best first.

        Args:
            text: embedded in one call.
            top_k: most hits; below 1 there are none.
            min_score: least cosine similarity.
            exclude_record_id: record left out, so that an article does not find itself.

        Raises:
            EmbeddingError: the text could not be embedded.
            EmbeddingStoreError: the store could not be read.
            ModelMismatchError: the store holds vectors of another model.
        """
        vector = await self._vector(text, top_k)
        return [] if vector is None else await self._store.query(vector, top_k, min_score, exclude_record_id)

    async def find_best_chunks(
        self,
        text: str,
        top_k: int = 5,
        min_score: float = 0.0,
        exclude_record_id: str | None = None,
        chunk_pool: int = 50,
    ) -> list[SearchHit]:
        """Rank whole articles by their best passage and return that passage of each, best first.

        Args:
            text: embedded in one call.
            top_k: most articles; below 1 there are none.
            min_score: least cosine similarity.
            exclude_record_id: record left out.
            chunk_pool: passages looked at first. Where they belong to fewer than ``top_k`` articles, because long ones
                own many of them, more are looked at.

        Raises:
            See :meth:`find_similar_chunks`.
        """
        vector = await self._vector(text, top_k)
        if vector is None:
            return []
        pool = max(chunk_pool, top_k)
        while True:
            hits = await self._store.query(vector, pool, min_score, exclude_record_id)
            best: dict[str, SearchHit] = {}
            for hit in hits:  # best first: the first of a record is its best
                best.setdefault(hit.record_id, hit)
            if len(best) >= top_k or len(hits) < pool:
                return list(best.values())[:top_k]
            pool *= _POOL_GROWTH

    async def find_similar_articles(
        self,
        text: str,
        top_k: int = 5,
        min_score: float = 0.0,
        exclude_record_id: str | None = None,
        chunk_pool: int = 50,
    ) -> list[tuple[str, float, dict[str, Any]]]:
        """Return (record id, score, metadata) of the articles :meth:`find_best_chunks` ranks."""
        hits = await self.find_best_chunks(text, top_k, min_score, exclude_record_id, chunk_pool)
        return [(hit.record_id, hit.score, hit.metadata) for hit in hits]

    async def _vector(self, text: str, top_k: int) -> list[float] | None:
        if top_k < 1:
            return None
        vectors = await self._embedder.embed([text])
        if vectors and self._embedder.model_key is not None:
            await self._store.bind_model(self._embedder.model_key, record=False)
        return vectors[0] if vectors else None
