"""Retriever managers: the stores of every domain of a stores JSON, opened when first needed, asked with a depth each.

One manager serves all conversations at once. The current depth (k) of every store lives with the caller, as
``{domain: {store name: k}}``; a manager only says what it becomes.
"""

import copy
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from stackroom.errors import QueryError
from stackroom.retrieval.document import Document, document_of
from stackroom.retrieval.fusion import RankedList, Side
from stackroom.retrieval.sides import DEGRADES
from stackroom.retrieval.store_config import PerDomainConfig, RetrieverConfig, StoreInfo
from stackroom.stores.base import StoreHit

DEFAULT_K, K_MAX, K_INC = 5, 10, 1
"""Depth where a store says nothing: at first, at most, and by how much it grows."""

KValues = Mapping[str, Mapping[str, int]]
_Store = TypeVar("_Store", bound=StoreInfo)


@dataclass(frozen=True)
class StoreAnswers:
    """What the stores of a domain answered, each with its own ranked list."""

    lists: tuple[RankedList, ...] = ()
    warnings: tuple[str, ...] = field(default=())


class BaseRetriever(ABC, Generic[_Store]):
    """What all retriever managers share: lazy loading, depth, and that one failing store does not fail the others."""

    source_label: str = "retriever"
    """Name of this kind of retriever, under which raw scores are kept."""
    side: Side

    def __init__(
        self,
        config: RetrieverConfig,
        logger: logging.Logger | None = None,
        default_k: int = DEFAULT_K,
        k_max: int = K_MAX,
        k_inc: int = K_INC,
    ) -> None:
        """Take the stores of a configuration; nothing is opened.

        Args:
            config: domains and their stores (copied: what is loaded is not shared with other managers).
            logger: where warnings go; by default this module's.
            default_k: hits asked of a store at first, where it does not say.
            k_max: most hits asked of a store, where it does not say.
            k_inc: by how much the number grows, where the store does not say.

        Raises:
            ValueError: a number is below 1, or ``k_max`` is below ``default_k``.
        """
        if min(default_k, k_max, k_inc) < 1 or k_max < default_k:
            raise ValueError(
                f"default_k {default_k}, k_max {k_max} and k_inc {k_inc} must be at least 1, "
                "and k_max not below default_k"
            )
        self.config = config.model_copy(deep=True)
        self._logger = (logger or logging.getLogger(__name__)).getChild(type(self).__name__)
        self._default_k, self._k_max, self._k_inc = default_k, k_max, k_inc
        self._lock = threading.RLock()

    @abstractmethod
    def stores_of(self, domain: PerDomainConfig) -> Sequence[_Store]:
        """Return the stores of a domain that this manager is for."""

    @abstractmethod
    def open_store_of(self, domain: str, store: _Store) -> Any:
        """Open a store; None when it cannot be used now and shall be tried again."""

    @abstractmethod
    def ask_store(
        self, store: _Store, query: str, k: int, metadata_filter: Mapping[str, Any] | None
    ) -> tuple[str, list[StoreHit]]:
        """Return the name of the scale of the scores, and the hits of an opened store, best first."""

    @property
    def domains(self) -> list[str]:
        """Names of all domains, in the order of the configuration."""
        return list(self.config.domains)

    def setup(self) -> None:
        """Open what all stores share. Called once before the first retrieval; need not be."""

    def load(self, domain_name: str) -> None:
        """Open the stores of a domain that are not open yet; a store that cannot be opened is skipped with a warning.

        Raises:
            AssertionError: there is no such domain.
        """
        self._load(domain_name)

    def load_all_stores(self) -> None:
        """Open the stores of every domain."""
        for domain in self.domains:
            self.load(domain)

    def retrieve(
        self,
        domain_name: str,
        query: str,
        metadata_filter: Mapping[str, Any] | None = None,
        k_values: KValues | None = None,
    ) -> list[tuple[Document, float]]:
        """Return the documents of all stores of a domain, one store after the other, each best first.

        A failing store is left out with a warning in the log.

        Args:
            domain_name: which domain.
            query: what is looked for.
            metadata_filter: metadata filter, applied inside every store.
            k_values: current depth by domain and store name.

        Raises:
            AssertionError: there is no such domain.
            FilterError: the filter is not a sentence of the filter language.
        """
        answers = self.retrieve_lists(domain_name, query, metadata_filter, k_values)
        return [(document_of(hit), hit.score) for ranked in answers.lists for hit in ranked.hits]

    def retrieve_lists(
        self,
        domain_name: str,
        query: str,
        metadata_filter: Mapping[str, Any] | None = None,
        k_values: KValues | None = None,
    ) -> StoreAnswers:
        """Return every store's own ranked list, and what could not be asked; see :meth:`retrieve`."""
        warnings = self._load(domain_name)
        lists = []
        for store in self.stores_of(self.config.domains[domain_name]):
            if store.loaded_object is None:
                continue
            k = self.current_k(domain_name, store, k_values)
            try:
                scale, hits = self.ask_store(store, query, k, metadata_filter)
            except DEGRADES as error:
                warnings.append(self._warn(domain_name, store, error))
                continue
            lists.append(RankedList(domain_name, self.side, scale, hits))
        return StoreAnswers(tuple(lists), tuple(warnings))

    def current_k(self, domain_name: str, store: StoreInfo, k_values: KValues | None) -> int:
        """Return how many hits a store is asked for: what the caller holds, else the store's own start.

        Raises:
            QueryError: the caller's number is not a whole number above zero.
        """
        held = (k_values or {}).get(domain_name, {}).get(store.name)
        k = held if held is not None else store.default_k or min(self._default_k, self._cap(store))
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise QueryError(f"k of store {store.name!r} is {k!r}; it must be a whole number of at least 1")
        return k

    def inc_k(self, k_values: KValues) -> tuple[dict[str, dict[str, int]], bool]:
        """Return the depth of every open store grown by its increment, at most to its cap, and whether any grew.

        ``k_values`` itself is left as it is; what it says of other stores is carried over.
        """
        grown = {domain: dict(values) for domain, values in k_values.items()}
        changed = False
        for domain, store in self._open_stores():
            now, cap = self.current_k(domain, store, k_values), self._cap(store)
            if now < cap:
                grown.setdefault(domain, {})[store.name] = min(cap, now + (store.k_inc or self._k_inc))
                changed = True
        return grown, changed

    def can_inc_k(self, k_values: KValues) -> bool:
        """Say whether :meth:`inc_k` would let any open store grow."""
        return any(self.current_k(domain, store, k_values) < self._cap(store) for domain, store in self._open_stores())

    def _cap(self, store: StoreInfo) -> int:
        return store.k_max or max(self._k_max, store.default_k or 1)

    def _open_stores(self) -> Iterator[tuple[str, _Store]]:
        for name, domain in self.config.domains.items():
            for store in self.stores_of(domain):
                if store.loaded_object is not None:
                    yield name, store

    def _load(self, domain_name: str) -> list[str]:
        """Open what is not open yet, and return what could not be."""
        if domain_name not in self.config.domains:
            raise AssertionError(f"there is no domain {domain_name!r}; known: {', '.join(self.domains) or 'none'}")
        warnings = []
        for store in self.stores_of(self.config.domains[domain_name]):
            with self._lock:
                if store.loaded_object is not None:
                    continue
                try:
                    store.loaded_object = self.open_store_of(domain_name, store)
                except DEGRADES as error:
                    warnings.append(self._warn(domain_name, store, error))
        return warnings

    def _warn(self, domain: str, store: StoreInfo, error: BaseException) -> str:
        text = f"{domain}: {self.source_label} {store.name!r} was left out: {error}"
        self._logger.warning("%s", text)
        return text


def next_k_values(
    managers: Sequence[BaseRetriever[Any]], k_values: Mapping[str, KValues]
) -> dict[str, dict[str, dict[str, int]]]:
    """Let every manager grow its stores once.

    Args:
        managers: the managers.
        k_values: depth by ``source_label``, domain and store name; left as it is.
    """
    grown: dict[str, Any] = copy.deepcopy({label: dict(values) for label, values in k_values.items()})
    for manager in managers:
        grown[manager.source_label], _ = manager.inc_k(k_values.get(manager.source_label, {}))
    return grown
