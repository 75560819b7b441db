"""Reference material for a question, per domain, from the stores of a stores JSON.

Every store gives its own ranked list. The lists of a domain are fused, re-scored and cut to a budget; a store or model
that fails is left out and named in the result, and nothing is raised for it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackroom.config import RetrievalSettings
from stackroom.errors import FilterError
from stackroom.retrieval.base import BaseRetriever, KValues, next_k_values
from stackroom.retrieval.document import Document, document_of
from stackroom.retrieval.fusion import RankedList
from stackroom.retrieval.pipeline import Ranked, rank
from stackroom.retrieval.ranking import SOURCE_SCORES_KEY
from stackroom.retrieval.references import truncate_reference_material
from stackroom.retrieval.rerank import PairScorer
from stackroom.retrieval.search import checked_query
from stackroom.retrieval.sides import DEGRADES
from stackroom.stores.filters import restrict_metadata_filter, validate_metadata_filter

MAX_REFERENCE_CHARS = 20_000
"""Characters of reference material over all domains, where the caller does not say."""

References = dict[str, list[tuple[Document, float]]]


@dataclass(frozen=True)
class RetrievalResult:
    """What was found for a question."""

    references: References
    """Domain to (document, score) pairs, best first; every domain asked for is there."""
    k_values: Mapping[str, KValues]
    """Depth of every manager (by ``source_label``), for the next call."""
    warnings: tuple[str, ...] = field(default=())


class HybridRetriever:
    """Asks all managers for the domains of a question and makes one ranking per domain. Safe between threads."""

    def __init__(
        self,
        managers: Sequence[BaseRetriever[Any]],
        settings: RetrievalSettings | Mapping[str, RetrievalSettings] | None = None,
        cross_encoder: PairScorer | None = None,
        max_chars: int = MAX_REFERENCE_CHARS,
        logger: logging.Logger | None = None,
    ) -> None:
        """Bring managers together.

        Args:
            managers: managers over the same configuration, one per kind of store.
            settings: how to fuse, for all domains or by domain.
            cross_encoder: re-scores the fused documents; see :func:`stackroom.retrieval.rerank.load_cross_encoder`.
            max_chars: budget over all domains.
            logger: where warnings go.
        """
        self._managers = tuple(managers)
        self._settings = settings or RetrievalSettings()
        self._cross_encoder = cross_encoder
        self._max_chars = max_chars
        self._logger = logger or logging.getLogger(__name__)

    def retrieve(
        self,
        domains: Sequence[str],
        query: str,
        metadata_filter: Mapping[str, Any] | None = None,
        k_values: Mapping[str, KValues] | None = None,
        more: bool = False,
    ) -> RetrievalResult:
        """Return reference material.

        Args:
            domains: names of domains; one that no manager knows gets nothing and a warning.
            query: what is looked for.
            metadata_filter: filter; each domain applies the clauses whose fields it declares.
            k_values: depth by ``source_label``, domain and store name.
            more: ask every store for more than last time, as far as its cap allows.

        Raises:
            QueryError: the query is empty.
            FilterError: the filter is not a sentence of the filter language.
        """
        wanted = checked_query(query)
        canonical = validate_metadata_filter(dict(metadata_filter)) if metadata_filter else None
        depth: Mapping[str, KValues] = k_values or {}
        if more:
            depth = next_k_values(self._managers, depth)
        references: References = {}
        warnings: list[str] = []
        for domain in dict.fromkeys(domains):
            lists, problems = self._ask(domain, wanted, canonical, depth)
            ranked, more_problems = self._rank(domain, lists, wanted)
            references[domain] = [(_document(entry), entry.score) for entry in ranked]
            warnings.extend([*problems, *more_problems])
        return RetrievalResult(truncate_reference_material(references, self._max_chars), depth, tuple(warnings))

    def can_retrieve_more(self, k_values: Mapping[str, KValues] | None = None) -> bool:
        """Say whether ``more`` would let any open store give more."""
        return any(manager.can_inc_k((k_values or {}).get(manager.source_label, {})) for manager in self._managers)

    def _ask(
        self, domain: str, query: str, where: Mapping[str, Any] | None, k_values: Mapping[str, KValues]
    ) -> tuple[list[RankedList], list[str]]:
        lists: list[RankedList] = []
        warnings: list[str] = []
        known = [manager for manager in self._managers if domain in manager.config.domains]
        if not known:
            return [], [f"{domain}: there is no such domain"]
        for manager in known:
            fields = {declared.name for declared in manager.config.domains[domain].filter_fields}
            mine = restrict_metadata_filter(where, fields)
            try:
                answers = manager.retrieve_lists(domain, query, mine, k_values.get(manager.source_label))
            except FilterError:
                raise
            except DEGRADES as error:
                warnings.append(f"{domain}: {manager.source_label} was left out: {error}")
                continue
            lists.extend(answers.lists)
            warnings.extend(answers.warnings)
        return lists, warnings

    def _rank(self, domain: str, lists: Sequence[RankedList], query: str) -> tuple[list[Ranked], list[str]]:
        settings = self._settings if isinstance(self._settings, RetrievalSettings) else self._settings.get(domain)
        settings = settings or RetrievalSettings()
        most = sum(len(ranked.hits) for ranked in lists)
        try:
            return rank(lists, settings, query, most, self._cross_encoder), []
        except DEGRADES as error:
            self._logger.warning("the cross-encoder failed: %s", error)
            return rank(lists, settings, query, most), [f"{domain}: the cross-encoder was left out: {error}"]


def _document(entry: Ranked) -> Document:
    document = document_of(entry.fused.hit)
    labels = {"dense": "vector store", "bm25": "BM25"}
    document.metadata[SOURCE_SCORES_KEY] = {labels[side]: part.score for side, part in entry.fused.parts.items()}
    return document
