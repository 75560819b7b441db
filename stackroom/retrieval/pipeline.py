"""From ranked lists to one answer: fuse, fold duplicates, re-rank, blend in the year, cap each source.

The same steps serve the command line (:mod:`stackroom.retrieval.search`) and retrievers that read the stores JSON
(:mod:`stackroom.retrieval.retriever`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stackroom.artefacts import embedded_text
from stackroom.config import RetrievalSettings
from stackroom.retrieval.fusion import SIDES, Fused, RankedList, cap_per_source, fold_duplicates, fuse, order_key
from stackroom.retrieval.hits import headings_of
from stackroom.retrieval.ranking import min_max, recency_scores
from stackroom.retrieval.rerank import PairScorer, pair_scores

RERANKED = 50
"""Fused hits given to a cross-encoder: one takes 5-20 ms a pair on a CPU, and what is lower rarely matters."""


@dataclass(frozen=True)
class Ranked:
    """A chunk in its final place, with every number that led there."""

    fused: Fused
    score: float
    cross_encoder: float | None = None
    recency: float | None = None

    def explanation(self, method: str, recency_weight: float, where: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return how the score came about, as plain values."""
        sides: dict[str, Any] = {}
        for side in SIDES:
            part = self.fused.parts.get(side)
            sides[side] = None if part is None else dict(vars(part))
        return {
            "method": method,
            **sides,
            "fused": self.fused.score,
            "cross_encoder": self.cross_encoder,
            "recency": None
            if self.recency is None
            else {"score": self.recency, "weight": recency_weight, "points": self.recency * recency_weight},
            "filter": None if where is None else dict(where),
            "score": self.score,
        }


def rank(
    lists: Sequence[RankedList], settings: RetrievalSettings, query: str, most: int, model: PairScorer | None = None
) -> list[Ranked]:
    """Return the best chunks of some ranked lists.

    Args:
        lists: one per store.
        settings: method, weights and limits.
        query: what was asked, for the cross-encoder.
        most: number of chunks wanted.
        model: cross-encoder that re-scores the best fused chunks; None leaves their order.

    Raises:
        ValueError: the cross-encoder does not answer as it should.
    """
    fused = fold_duplicates(fuse(lists, settings.fusion, settings.dense_weight, even_spread=settings.even_spread))
    ranked = [Ranked(entry, entry.score) for entry in fused]
    if model is not None and ranked:
        ranked = _rerank(ranked[: max(most, RERANKED)], query, model)
    if settings.recency_weight > 0:
        ranked = _blend_recency(ranked, settings.recency_weight)
    kept = {id(entry) for entry in cap_per_source([entry.fused for entry in ranked], settings.max_per_source)}
    return [entry for entry in ranked if id(entry.fused) in kept][:most]


def _rerank(ranked: Sequence[Ranked], query: str, model: PairScorer) -> list[Ranked]:
    texts = [embedded_text(headings_of(entry.fused.hit), entry.fused.hit.text) for entry in ranked]
    scores = pair_scores(query, texts, model)
    scored = [replace(entry, score=score, cross_encoder=score) for entry, score in zip(ranked, scores, strict=True)]
    return sorted(scored, key=_order)


def _blend_recency(ranked: Sequence[Ranked], weight: float) -> list[Ranked]:
    relevance = min_max([entry.score for entry in ranked])
    recency = recency_scores([entry.fused.hit.metadata for entry in ranked])
    blended = [
        replace(entry, score=(1 - weight) * relevant + weight * recent, recency=recent)
        for entry, relevant, recent in zip(ranked, relevance, recency, strict=True)
    ]
    return sorted(blended, key=_order)


def _order(entry: Ranked) -> tuple[float, tuple[float, str, str, int, str]]:
    return (-entry.score, order_key(entry.fused))
