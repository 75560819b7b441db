"""An embedder in front of which stands the cache: equal texts are embedded once."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from stackroom.embedding.cache import VectorCache
from stackroom.embedding.identity import Embedded, ModelIdentity
from stackroom.embedding.vectors import check_texts
from stackroom.identity import text_hash

_BATCHES_PER_SAVE = 16
"""Batches between two writes to the cache: what a killed process loses at most."""


class Model(Protocol):
    """What stands behind the cache."""

    @property
    def identity(self) -> ModelIdentity:
        """What makes its vectors comparable."""
        ...

    @property
    def cache_key(self) -> str:
        """Everything its vectors depend on besides the text."""
        ...

    @property
    def batch_texts(self) -> int:
        """Texts it takes at once."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit vectors, (len(texts), dimension) float32."""
        ...

    def close(self) -> None:
        """Release the model."""
        ...


class CachedEmbedder:
    """What :func:`stackroom.embedding.open_embedder` returns. Safe to call from several threads."""

    def __init__(self, model: Model, cache: VectorCache | None = None) -> None:
        self._model = model
        self._cache = cache

    @property
    def identity(self) -> ModelIdentity:
        """What makes this embedder's vectors comparable; known without loading the model."""
        return self._model.identity

    @property
    def cache_key(self) -> str:
        """What its vectors are cached under."""
        return self._model.cache_key

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See :meth:`stackroom.embedding.Embedder.embed`."""
        return self.embed_counted(texts).vectors

    def embed_counted(self, texts: Sequence[str]) -> Embedded:
        """Embed texts and say how many vectors were there already.

        Vectors are written to the cache as they are made, so that a killed process loses little.

        Raises:
            EmbeddingError: the model failed, gave vectors that cannot be used, or the cache cannot be used.
            TypeError: one text was given instead of a list.
        """
        check_texts(texts)
        hashes = [text_hash(text) for text in texts]
        wanted = dict(zip(hashes, texts, strict=True))
        vectors = self._lookup(list(wanted))
        # Longest first: texts of one batch have nearly the same length, and running out of memory shows at once.
        missing = sorted(wanted.keys() - vectors.keys(), key=lambda digest: (-len(wanted[digest]), digest))
        size = self._model.batch_texts * _BATCHES_PER_SAVE
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            made = dict(zip(part, self._model.embed([wanted[digest] for digest in part]), strict=True))
            if self._cache is not None:
                self._cache.put(self._model.cache_key, made)
            vectors.update(made)
        matrix = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        for row, digest in enumerate(hashes):
            matrix[row] = vectors[digest]
        return Embedded(matrix, reused=len(texts) - len(missing), new=len(missing))

    def close(self) -> None:
        """Release the model and the cache."""
        self._model.close()
        if self._cache is not None:
            self._cache.close()

    def _lookup(self, hashes: list[str]) -> dict[str, np.ndarray]:
        if self._cache is None or not hashes:
            return {}
        return self._cache.get(self._model.cache_key, hashes, self.identity.dimension)
