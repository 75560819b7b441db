"""Search over the corpora of a project: both sides of every corpus, one ranking, and what could not be searched."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from stackroom.config import Config, RetrievalSettings
from stackroom.errors import QueryError
from stackroom.retrieval.filter_hints import filter_hints
from stackroom.retrieval.fusion import SIDES, RankedList
from stackroom.retrieval.hits import (
    Neighbour,
    SearchHit,
    SearchResult,
    headings_of,
    pages_of,
    place_of,
    readable_place,
    shown_metadata,
)
from stackroom.retrieval.pipeline import Ranked, rank
from stackroom.retrieval.ranking import RRF_K
from stackroom.retrieval.rerank import PairScorer, load_cross_encoder
from stackroom.retrieval.sides import DEGRADES, CorpusSides, Embedders
from stackroom.stores.filters import validate_metadata_filter
from stackroom.text import normalize_text

__all__ = ["Neighbour", "SearchHit", "SearchResult", "Searcher", "checked_query"]


class Searcher:
    """Searches corpora of a project; stores and models are opened when first needed and kept. Safe between threads."""

    def __init__(self, config: Config, embedders: Embedders | None = None) -> None:
        """Prepare to search.

        Args:
            config: the project's settings.
            embedders: models to share with others, who close them; by default models of its own.
        """
        self._config = config
        self._embedders = embedders or Embedders()
        self._own_embedders = embedders is None
        self._lock = threading.Lock()
        self._sides: dict[str, CorpusSides] = {}
        self._models: dict[str, PairScorer] = {}

    def search(
        self,
        query: str,
        corpora: Sequence[str] | None = None,
        k: int = 5,
        where: Mapping[str, Any] | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """Return the best chunks over some corpora.

        A side that is missing, empty or fails is named in the warnings, and the other side answers alone.

        Args:
            query: what is looked for; normalised as chunks are.
            corpora: names of corpora; None for all that were ingested.
            k: most hits, at least 1.
            where: metadata filter, applied inside both sides.
            explain: tell for every hit how its score came about.

        Raises:
            QueryError: the query is empty or ``k`` is not a whole number above zero.
            FilterError: ``where`` is not a sentence of the filter language.
            ConfigError: there is no corpus of that name.
        """
        wanted = checked_query(query)
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise QueryError(f"k is {k!r}; it must be a whole number of at least 1")
        canonical = validate_metadata_filter(dict(where)) if where else None
        names = list(dict.fromkeys(self._config.corpora if corpora is None else corpora))
        lists, warnings = self._ask(names, wanted, k, canonical, skip_absent=corpora is None)
        ranked, more = self._rank(lists, wanted, k)
        hits = [self._hit(entry, settings, canonical, explain) for entry, settings in ranked[:k]]
        offered = {field.name for name in names for field in self._config.corpus(name).filter_fields}
        hints = filter_hints(canonical, self._fields(names), offered) if canonical and not hits else []
        return SearchResult(tuple(hits), (*warnings, *more, *hints))

    def sides(self, corpus: str) -> CorpusSides:
        """Return the two sides of a corpus, which evaluation measures one by one.

        Raises:
            ConfigError: there is no corpus of that name.
        """
        with self._lock:
            if corpus not in self._sides:
                self._sides[corpus] = CorpusSides(self._config, corpus, self._embedders)
            return self._sides[corpus]

    def close(self) -> None:
        """Close stores and models."""
        with self._lock:
            for sides in self._sides.values():
                sides.close()
            self._sides.clear()
            self._models.clear()
        if self._own_embedders:
            self._embedders.close()

    def __enter__(self) -> Self:
        """Return the searcher itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything."""
        self.close()

    def _fields(self, names: Sequence[str]) -> dict[str, str]:
        """Return the metadata fields of the chunks of some corpora, with their kinds."""
        return {name: kind for corpus in names for name, kind in self.sides(corpus).fields().items()}

    def _ask(
        self, names: Sequence[str], query: str, k: int, where: Mapping[str, Any] | None, skip_absent: bool
    ) -> tuple[list[RankedList], list[str]]:
        """Ask both sides of every corpus."""
        lists: list[RankedList] = []
        warnings: list[str] = []
        vectors: dict[str, np.ndarray] = {}
        searched = 0
        for sides in [self.sides(name) for name in names]:
            depth = self._depth(sides.settings.retrieval, k)
            answers = (sides.keywords(query, depth, where), sides.dense(query, depth, where, vectors))
            if skip_absent and all(answer.absent for answer in answers):
                continue
            searched += 1
            lists.extend(answer.ranked for answer in answers)
            warnings.extend(answer.problem for answer in answers if answer.problem)
        if not searched:
            warnings.append("nothing was ingested yet; run `stackroom ingest` first")
        return lists, warnings

    @staticmethod
    def _depth(settings: RetrievalSettings, k: int) -> int:
        """Return how many hits to take from each side: more when a cap per source will leave some out."""
        return max(settings.candidates, 4 * k if settings.max_per_source else k)

    def _rank(
        self, lists: Sequence[RankedList], query: str, k: int
    ) -> tuple[list[tuple[Ranked, RetrievalSettings]], list[str]]:
        """Rank the lists together where their corpora agree on how, else merge the rankings by reciprocal rank."""
        groups: dict[str, tuple[RetrievalSettings, list[RankedList]]] = {}
        for ranked in lists:
            settings = self._config.corpus(ranked.corpus).retrieval
            groups.setdefault(settings.model_dump_json(), (settings, []))[1].append(ranked)
        rankings: list[tuple[RetrievalSettings, list[Ranked]]] = []
        warnings: list[str] = []
        for settings, members in groups.values():
            model, problem = self._model(settings.cross_encoder)
            warnings.extend([problem] if problem else [])
            try:
                ranking = rank(members, settings, query, k, model)
            except DEGRADES as error:
                warnings.append(f"the cross-encoder was left out: {error}")
                ranking = rank(members, settings, query, k)
            rankings.append((settings, ranking))
        if len(rankings) == 1:
            return [(entry, rankings[0][0]) for entry in rankings[0][1]], warnings
        merged = [
            (replace(entry, score=1 / (RRF_K + place)), settings)
            for settings, ranking in rankings
            for place, entry in enumerate(ranking, start=1)
        ]
        return sorted(merged, key=lambda pair: (-pair[0].score, pair[0].fused.corpus)), warnings

    def _model(self, name: str | None) -> tuple[PairScorer | None, str | None]:
        if name is None:
            return None, None
        with self._lock:
            if name not in self._models:
                try:
                    self._models[name] = load_cross_encoder(name)
                except DEGRADES as error:
                    return None, f"the cross-encoder was left out: {error}"
            return self._models[name], None

    def _hit(
        self, entry: Ranked, settings: RetrievalSettings, where: Mapping[str, Any] | None, explain: bool
    ) -> SearchHit:
        fused = entry.fused
        beside = self.sides(fused.corpus).neighbours(fused.hit.chunk_id, settings.neighbours)
        return SearchHit(
            corpus=fused.corpus,
            source_id=fused.hit.source_id,
            chunk_id=fused.hit.chunk_id,
            chunk_index=place_of(fused.hit),
            score=entry.score,
            pages=pages_of(fused.hit),
            headings=headings_of(fused.hit),
            text=fused.hit.text,
            metadata=shown_metadata(fused.hit),
            ranks={side: fused.parts[side].rank if side in fused.parts else None for side in SIDES},
            duplicates=tuple(readable_place(other) for other in fused.duplicates),
            neighbours=tuple(Neighbour(near.chunk_id, place_of(near), near.text) for near in beside),
            explanation=entry.explanation(settings.fusion, settings.recency_weight, where) if explain else None,
        )


def checked_query(query: str) -> str:
    """Return a query normalised as chunks are.

    Raises:
        QueryError: nothing is left of it.
    """
    normalised = normalize_text(query)
    if not normalised:
        raise QueryError("the query is empty; give words to look for")
    return normalised
