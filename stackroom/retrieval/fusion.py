"""One ranking out of many: every store gives its own ranked list, and fusion adds up what each says of a chunk.

Two methods. ``rrf`` looks at ranks only. ``convex`` (Bruch et al. 2023, "An analysis of fusion functions for hybrid
retrieval") adds up min-max normalised scores under a weight per side. Lists on one scale (cosines of one model, BM25
scores) are normalised together, so that in a search over several corpora the best hit of a corpus that has nothing to
say does not score as high as the best hit overall.

Normalised scores of one side may lie close together and those of the other far apart; the side that spreads more then
decides nearly everything. With ``even_spread`` each weight is divided by the spread of its side (and both are scaled to
add up to 1 again). On the training questions of SciFact this gains little where both sides are good (nDCG@10 0.736
instead of 0.731), and keeps the fused ranking above the better side where one side was made much worse than the other
by dropping query words or adding noise to vectors, which fixed weights do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from stackroom.artefacts import embedded_text
from stackroom.identity import text_hash
from stackroom.retrieval.ranking import min_max, rrf_points
from stackroom.stores.base import StoreHit

Side = Literal["dense", "bm25"]
SIDES: tuple[Side, ...] = ("dense", "bm25")

_LEAST_SPREAD = 0.1
"""Standard deviation below which scores count as all alike. Of 100 candidates it is 0.1 to 0.3 on either side."""


@dataclass(frozen=True)
class RankedList:
    """What one store answered, best first."""

    corpus: str
    side: Side
    scale: str
    """Lists of one scale have comparable scores: the model's key for dense lists, ``bm25`` for keyword lists."""
    hits: Sequence[StoreHit]

    def cut(self, most: int) -> Self:
        """Return the list with its first hits only."""
        return replace(self, hits=self.hits[:most])


@dataclass(frozen=True)
class Part:
    """What one side says of a chunk."""

    rank: int
    """Place in its store's own list, from 1."""
    score: float
    """Cosine similarity or BM25 score."""
    normalised: float | None
    """Score between 0 and 1 (``convex``); None under ``rrf``."""
    weight: float
    points: float
    """What the side adds to the fused score."""


@dataclass(frozen=True)
class Fused:
    """A chunk with its fused score and where that came from."""

    corpus: str
    hit: StoreHit
    score: float
    parts: Mapping[Side, Part]
    duplicates: tuple[StoreHit, ...] = field(default=())
    """Chunks of the same content that were folded into this one."""


def fuse(
    lists: Sequence[RankedList],
    method: str,
    dense_weight: float,
    rrf_weights: Mapping[Side, float] | None = None,
    even_spread: bool = True,
) -> list[Fused]:
    """Return every chunk of the lists once, best first.

    Equal scores are ordered by corpus, source and chunk, so that the same question always gives the same order.

    Args:
        lists: one per store; empty ones change nothing.
        method: ``convex`` or ``rrf``.
        dense_weight: weight of the dense side under ``convex``; when one side has no hits at all the other counts
            fully.
        rrf_weights: weight of each side under ``rrf``; 1 where it is not given.
        even_spread: divide the weights of ``convex`` by the spread of each side's normalised scores.
    """
    if method == "convex":
        parts = _convex_parts(lists, dense_weight, even_spread)
    else:
        parts = _rrf_parts(lists, rrf_weights or {})
    collected: dict[tuple[str, str], tuple[StoreHit, dict[Side, Part]]] = {}
    for ranked, row in zip(lists, parts, strict=True):
        for hit, part in zip(ranked.hits, row, strict=True):
            _, mine = collected.setdefault((ranked.corpus, hit.chunk_id), (hit, {}))
            known = mine.get(ranked.side)
            mine[ranked.side] = part if known is None else _join(known, part, method)
    fused = [
        Fused(corpus, hit, sum(part.points for part in mine.values()), mine)
        for (corpus, _), (hit, mine) in collected.items()
    ]
    return sorted(fused, key=order_key)


def order_key(fused: Fused) -> tuple[float, str, str, int, str]:
    """Return what rankings are sorted by: score, then corpus, source, place in the source, chunk id."""
    index = fused.hit.metadata.get("chunk_index")
    place = index if isinstance(index, int) else 0
    return (-fused.score, fused.corpus, fused.hit.source_id, place, fused.hit.chunk_id)


def fold_duplicates(ranked: Sequence[Fused]) -> list[Fused]:
    """Fold chunks of the same headings and text into the best of them, which lists the others."""
    kept: dict[str, Fused] = {}
    others: dict[str, list[StoreHit]] = {}
    for fused in ranked:
        headings = fused.hit.metadata.get("headings")
        key = text_hash(embedded_text(headings if isinstance(headings, list) else [], fused.hit.text))
        if key in kept:
            others.setdefault(key, []).append(fused.hit)
        else:
            kept[key] = fused
    return [
        Fused(fused.corpus, fused.hit, fused.score, fused.parts, tuple(others.get(key, ())))
        for key, fused in kept.items()
    ]


def cap_per_source(ranked: Sequence[Fused], most: int | None) -> list[Fused]:
    """Keep at most so many chunks of each source, the best ones; None keeps all."""
    if most is None:
        return list(ranked)
    taken: dict[tuple[str, str], int] = {}
    kept = []
    for fused in ranked:
        source = (fused.corpus, fused.hit.source_id)
        taken[source] = taken.get(source, 0) + 1
        if taken[source] <= most:
            kept.append(fused)
    return kept


def _rrf_parts(lists: Sequence[RankedList], weights: Mapping[Side, float]) -> list[list[Part]]:
    parts = []
    for ranked in lists:
        weight = weights.get(ranked.side, 1.0)
        points = rrf_points(len(ranked.hits), weight)
        parts.append(
            [
                Part(rank, hit.score, None, weight, value)
                for rank, (hit, value) in enumerate(zip(ranked.hits, points, strict=True), start=1)
            ]
        )
    return parts


def _convex_parts(lists: Sequence[RankedList], dense_weight: float, even_spread: bool) -> list[list[Part]]:
    scales: dict[tuple[Side, str], list[float]] = {}
    for ranked in lists:
        scales.setdefault((ranked.side, ranked.scale), []).extend(hit.score for hit in ranked.hits)
    rows = []
    values: dict[Side, list[float]] = {"dense": [], "bm25": []}
    for ranked in lists:
        scores = scales[ranked.side, ranked.scale]
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        rows.append(min_max([hit.score for hit in ranked.hits], low, high))
        values[ranked.side].extend(rows[-1])
    weights = _weights(values, dense_weight, even_spread)
    return [
        [
            Part(rank, hit.score, value, weights[ranked.side], weights[ranked.side] * value)
            for rank, (hit, value) in enumerate(zip(ranked.hits, row, strict=True), start=1)
        ]
        for ranked, row in zip(lists, rows, strict=True)
    ]


def _weights(values: Mapping[Side, Sequence[float]], dense_weight: float, even_spread: bool) -> dict[Side, float]:
    """Return the weight of each side, given all its normalised scores; two sides with hits share a weight of 1."""
    if not all(values.values()):
        return {"dense": 1.0, "bm25": 1.0}
    raw: dict[Side, float] = {"dense": dense_weight, "bm25": 1.0 - dense_weight}
    if even_spread:
        longest = max(len(side) for side in values.values())
        for side, weight in list(raw.items()):
            # What a side did not return counts as 0: one hit among eight is as telling as it looks.
            scores = np.zeros(longest)
            scores[: len(values[side])] = values[side]
            raw[side] = weight / max(_LEAST_SPREAD, float(scores.std()))
    total = sum(raw.values())
    return {side: weight / total for side, weight in raw.items()}


def _join(known: Part, part: Part, method: str) -> Part:
    """Join what two stores of one side say: ranks add up under ``rrf``, the better score counts under ``convex``."""
    if method == "convex":
        return known if known.points >= part.points else part
    rank, score = min(known.rank, part.rank), max(known.score, part.score)
    return Part(rank, score, None, known.weight, known.points + part.points)
