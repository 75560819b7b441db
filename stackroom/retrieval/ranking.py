"""Fusing ranked lists of documents: reciprocal rank fusion, convex combination, and recency.

These are plain functions over (document, score) pairs; nothing here opens a store or a model.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from stackroom.retrieval.document import DocumentLike

RRF_K = 60
"""Rank offset of reciprocal rank fusion (Cormack et al. 2009): rank r gives 1 / (60 + r)."""
SOURCE_SCORES_KEY = "_source_scores"
"""Metadata key of a fused document's raw scores by label; never shown."""
RECENCY_WEIGHT_RELEVANCE = 0.9
RECENCY_WEIGHT_TIME = 0.1
RECENCY_MISSING_YEAR_SCORE = 0.5
"""A document without a year stands between the newest and the oldest."""

_Doc = TypeVar("_Doc", bound=DocumentLike)


def rrf_points(count: int, weight: float = 1.0) -> list[float]:
    """Return what each rank of a list of ``count`` adds under reciprocal rank fusion."""
    return [weight / (RRF_K + rank) for rank in range(1, count + 1)]


def min_max(scores: Sequence[float], low: float | None = None, high: float | None = None) -> list[float]:
    """Return scores moved to 0 (lowest) to 1 (highest); 1 for all when they do not differ.

    Args:
        scores: raw scores.
        low: score that becomes 0; by default the lowest.
        high: score that becomes 1; by default the highest.
    """
    if not scores:
        return []
    low = min(scores) if low is None else low
    high = max(scores) if high is None else high
    return [1.0 if high <= low else (score - low) / (high - low) for score in scores]


def rrf_merge(
    result_sets: Sequence[tuple[str, Sequence[tuple[_Doc, float]]]],
    num_refs_max: int | None = None,
    weights: Mapping[str, float] | None = None,
) -> list[tuple[_Doc, float]]:
    """Fuse ranked lists by reciprocal rank.

    A document is known by its ``file_name`` and its text. The documents given are not changed: the first occurrence is
    copied, and its raw scores by label are kept under :data:`SOURCE_SCORES_KEY`.

    Args:
        result_sets: (label, ranked list of (document, score)) pairs.
        num_refs_max: most documents to return; None for all.
        weights: label to weight; labels that are not listed have weight 1.

    Returns:
        Documents with fused scores, best first; equal scores in the order in which they were first seen.
    """
    points = [rrf_points(len(found), (weights or {}).get(label, 1.0)) for label, found in result_sets]
    return _merge(result_sets, points, num_refs_max, repeats_count=True)


def convex_merge(
    result_sets: Sequence[tuple[str, Sequence[tuple[_Doc, float]]]],
    weights: Mapping[str, float],
    num_refs_max: int | None = None,
) -> list[tuple[_Doc, float]]:
    """Fuse ranked lists by the weighted sum of their min-max normalised scores (Bruch et al. 2023).

    Identity, order and copies are those of :func:`rrf_merge`. A document that a list does not hold gets 0 from it, and
    one it holds twice counts once. Weights are scaled so that those of the lists with results add up to 1: a list that
    failed or is empty does not lower the scores of the others.

    Args:
        result_sets: (label, ranked list of (document, score)) pairs.
        weights: label to weight; labels that are not listed have weight 1.
        num_refs_max: most documents to return; None for all.
    """
    used = [weights.get(label, 1.0) if found else 0.0 for label, found in result_sets]
    total = sum(used) or 1.0
    points = [
        [weight / total * value for value in min_max([score for _, score in found])]
        for weight, (_, found) in zip(used, result_sets, strict=True)
    ]
    return _merge(result_sets, points, num_refs_max, repeats_count=False)


def rerank_by_recency(
    merged: Sequence[tuple[_Doc, float]],
    relevance_weight: float = RECENCY_WEIGHT_RELEVANCE,
    time_weight: float = RECENCY_WEIGHT_TIME,
) -> list[tuple[_Doc, float]]:
    """Blend relevance with how recent a document is, best first, equal scores in the given order.

    Args:
        merged: (document, relevance) pairs.
        relevance_weight: weight of the relevance, min-max normalised over the list.
        time_weight: weight of the year, min-max normalised over the list.
    """
    relevance = min_max([score for _, score in merged])
    recency = recency_scores([document.metadata for document, _ in merged])
    blended = [
        (document, relevance_weight * relevant + time_weight * recent)
        for (document, _), relevant, recent in zip(merged, relevance, recency, strict=True)
    ]
    return sorted(blended, key=lambda pair: -pair[1])


def recency_scores(metadata: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return 1 for the newest year to 0 for the oldest; 0.5 where ``year`` is missing or not a whole number.

    When all years are the same they score 1.
    """
    years = [_year(entry.get("year")) for entry in metadata]
    known = [year for year in years if year is not None]
    oldest, newest = min(known, default=0), max(known, default=0)
    return [RECENCY_MISSING_YEAR_SCORE if year is None else min_max([year], oldest, newest)[0] for year in years]


def _year(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _merge(
    result_sets: Sequence[tuple[str, Sequence[tuple[_Doc, float]]]],
    points: Sequence[Sequence[float]],
    num_refs_max: int | None,
    repeats_count: bool,
) -> list[tuple[_Doc, float]]:
    fused: dict[tuple[str, str], tuple[_Doc, float]] = {}
    for (label, found), gains in zip(result_sets, points, strict=True):
        seen: set[tuple[str, str]] = set()
        for (document, raw), gain in zip(found, gains, strict=True):
            key = document_key(document)
            copied, total = fused.get(key) or (_copy(document), 0.0)
            copied.metadata[SOURCE_SCORES_KEY][label] = float(raw)
            fused[key] = (copied, total + (gain if repeats_count or key not in seen else 0.0))
            seen.add(key)
    ranked = sorted(fused.values(), key=lambda pair: -pair[1])
    return ranked if num_refs_max is None else ranked[:num_refs_max]


def document_key(document: DocumentLike) -> tuple[str, str]:
    """Return what two occurrences of one document share: file name and text."""
    name = document.metadata.get("file_name")
    return (name if isinstance(name, str) else "", document.page_content)


def _copy(document: _Doc) -> _Doc:
    copied = copy.deepcopy(document)
    copied.metadata[SOURCE_SCORES_KEY] = {}
    return copied
