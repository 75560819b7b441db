"""The manager of keyword stores."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from stackroom.config import Bm25Settings
from stackroom.retrieval.base import DEFAULT_K, K_INC, K_MAX, BaseRetriever
from stackroom.retrieval.fusion import Side
from stackroom.retrieval.store_config import BM25StoreInfo, PerDomainConfig, RetrieverConfig
from stackroom.stores.base import StoreHit
from stackroom.stores.bm25.index import KeywordIndex, open_index
from stackroom.stores.bm25.legacy import open_legacy_index


class BM25RetrieverManager(BaseRetriever[BM25StoreInfo]):
    """The keyword stores of every domain: index folders, or corpus files of LangChain documents."""

    source_label = "BM25"
    side: Side = "bm25"

    def __init__(
        self,
        config: RetrieverConfig,
        logger: logging.Logger | None = None,
        default_k: int = DEFAULT_K,
        k_max: int = K_MAX,
        k_inc: int = K_INC,
        settings: Bm25Settings | None = None,
    ) -> None:
        """Take the stores of a configuration.

        Args:
            config: domains and their stores.
            logger: where warnings go.
            default_k: see :class:`BaseRetriever`.
            k_max: see :class:`BaseRetriever`.
            k_inc: see :class:`BaseRetriever`.
            settings: engine and parameters for corpus files; index folders bring their own.
        """
        super().__init__(config, logger, default_k, k_max, k_inc)
        self._settings = settings or Bm25Settings()

    @override
    def stores_of(self, domain: PerDomainConfig) -> Sequence[BM25StoreInfo]:
        return domain.bm25_stores

    @override
    def open_store_of(self, domain: str, store: BM25StoreInfo) -> KeywordIndex | None:
        path = Path(store.path)
        if not path.exists():
            self._logger.warning("%s: the keyword store %s does not exist and is skipped", domain, path)
            return None
        return open_legacy_index(path, domain, self._settings) if path.is_file() else open_index(path)

    @override
    def ask_store(
        self, store: BM25StoreInfo, query: str, k: int, metadata_filter: Mapping[str, Any] | None
    ) -> tuple[str, list[StoreHit]]:
        opened: KeywordIndex = store.loaded_object
        return "bm25", opened.search(query, k, metadata_filter)
