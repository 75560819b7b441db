"""Ranking rows the same way for every backend: exact cosine from the stored vectors, then chunk id.

Backends compute similarities in their own arithmetic, which differs in the seventh digit; recomputing a few dozen rows
costs microseconds and makes scores and order the same everywhere.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.stores.filter_language import Canonical, matches

SCORE_DIGITS = 6
"""Decimal places of a similarity; vectors are float32, what comes after is noise."""
_NOISE = 2e-6
"""A backend's own similarity may be off by this much."""


class Ranked(NamedTuple):
    """A row and its similarity."""

    score: float
    row: StoredRow


def similarities(rows: Sequence[StoredRow], unit: np.ndarray) -> list[float]:
    """Return the cosine of every row's vector with the query, rounded to :data:`SCORE_DIGITS`.

    Args:
        rows: rows with vectors of length 1.
        unit: (dimension,) float32, of length 1.
    """
    vectors = np.array([row.vector for row in rows], dtype=np.float64)
    # Row-wise sums give equal results for equal rows, which a matrix product does not promise.
    cosines = (vectors * unit.astype(np.float64)).sum(axis=1) / np.sqrt((vectors * vectors).sum(axis=1))
    return [float(value) for value in np.round(np.clip(cosines, -1.0, 1.0), SCORE_DIGITS)]


def rank(rows: Sequence[StoredRow], unit: np.ndarray, canonical: Canonical | None) -> tuple[list[Ranked], float]:
    """Return the rows that match, best first, and the lowest similarity among all given rows (1 if there are none)."""
    if not rows:
        return [], 1.0
    scores = similarities(rows, unit)
    ranked = [
        Ranked(score, row)
        for score, row in zip(scores, rows, strict=True)
        if canonical is None or matches(row.metadata, canonical)
    ]
    ranked.sort(key=lambda hit: (-hit.score, hit.row.chunk_id))
    return ranked, min(scores)


def settled(ranked: Sequence[Ranked], k: int, lowest: float) -> bool:
    """Say whether the best ``k`` are certain, given that rows left out are not more similar than ``lowest``."""
    return len(ranked) >= k and ranked[k - 1].score > lowest + _NOISE


def best(batches: Iterable[Sequence[StoredRow]], unit: np.ndarray, k: int, canonical: Canonical | None) -> list[Ranked]:
    """Return the best ``k`` rows that match out of all batches, holding no more than one batch and k rows."""
    kept: list[Ranked] = []
    for rows in batches:
        ranked, _ = rank(rows, unit, canonical)
        kept = sorted([*kept, *ranked], key=lambda hit: (-hit.score, hit.row.chunk_id))[:k]
    return kept
