"""The manager of vector stores."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from stackroom.config import EmbedderSettings
from stackroom.embedding import Embedder, open_embedder
from stackroom.retrieval.base import DEFAULT_K, K_INC, K_MAX, BaseRetriever
from stackroom.retrieval.fusion import Side
from stackroom.retrieval.store_config import PerDomainConfig, RetrieverConfig, VectorStoreInfo
from stackroom.stores.base import CollectionSpec, StoreHit, VectorStore, open_store

SIMILARITY_THRESHOLD = 0.15
"""Cosine below which a chunk is not reference material. Every backend reports the same cosine, so it means the same."""


class VSRetriever(BaseRetriever[VectorStoreInfo]):
    """The vector stores of every domain; all must have been written with the same embedding model."""

    source_label = "vector store"
    side: Side = "dense"

    def __init__(
        self,
        config: RetrieverConfig,
        logger: logging.Logger | None = None,
        embedder: EmbedderSettings | Embedder | None = None,
        default_k: int = DEFAULT_K,
        k_max: int = K_MAX,
        k_inc: int = K_INC,
        score_threshold: float = SIMILARITY_THRESHOLD,
    ) -> None:
        """Take the stores of a configuration.

        Args:
            config: domains and their stores.
            logger: where warnings go.
            embedder: the model of the stores, open or as settings; by default the bundled one.
            default_k: see :class:`BaseRetriever`.
            k_max: see :class:`BaseRetriever`.
            k_inc: see :class:`BaseRetriever`.
            score_threshold: least cosine of a hit.
        """
        super().__init__(config, logger, default_k, k_max, k_inc)
        self._settings = embedder if isinstance(embedder, EmbedderSettings) else EmbedderSettings()
        self._embedder = None if isinstance(embedder, EmbedderSettings) else embedder
        self._score_threshold = score_threshold
        self._last: tuple[str, np.ndarray] | None = None

    @override
    def setup(self) -> None:
        """Open the embedding model.

        Raises:
            EmbeddingError: it is not on this machine.
        """
        self._model()

    @override
    def stores_of(self, domain: PerDomainConfig) -> Sequence[VectorStoreInfo]:
        return domain.vector_stores

    @override
    def open_store_of(self, domain: str, store: VectorStoreInfo) -> VectorStore:
        identity = self._model().identity
        fields = tuple(self.config.domains[domain].filter_fields)
        spec = CollectionSpec(store.name, "", identity.key, identity.dimension, fields)
        return open_store(store.path, spec, create=False)

    @override
    def ask_store(
        self, store: VectorStoreInfo, query: str, k: int, metadata_filter: Mapping[str, Any] | None
    ) -> tuple[str, list[StoreHit]]:
        opened: VectorStore = store.loaded_object
        model = self._model()
        hits = opened.query(self._vector(query, model), k, metadata_filter)
        kept = [hit for hit in hits if hit.score >= self._score_threshold]
        if not kept:
            self._logger.warning("%s: nothing found; does the collection hold what it should?", store.name)
        return model.identity.key, kept

    def _vector(self, query: str, model: Embedder) -> np.ndarray:
        """Embed a query; the last one is kept, as several stores are asked the same."""
        with self._lock:
            if self._last is None or self._last[0] != query:
                self._last = (query, model.embed([query])[0])
            return self._last[1]

    def _model(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = open_embedder(self._settings)
            return self._embedder
