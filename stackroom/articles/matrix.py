"""Ranking stored vectors by similarity: one rule for every article store.

Score descending, then record id, then chunk index. Vectors that are not finite never match.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

_MARGIN = 1e-4
"""More than the matrix product of unit float32 vectors can be off; rows this near the cut are scored again exactly."""
_EXACT_ROWS = 4096


@dataclass(frozen=True)
class Ranked:
    """Position of a row and its score."""

    row: int
    score: float


class VectorMatrix:
    """The unit vectors of one dimension, in the order of (record id, chunk index)."""

    def __init__(self, record_ids: Sequence[str], matrix: np.ndarray) -> None:
        """Take the vectors.

        Args:
            record_ids: record of each row, ascending.
            matrix: (n, dimension) float32 unit vectors, rows of a record in the order of their chunk index.
        """
        self._spans = _spans(record_ids)
        self._matrix = matrix
        # Rows that hold NaN or infinity are found once, not at every query.
        self._unusable = ~np.isfinite(matrix).all(axis=1)
        self._any_unusable = bool(self._unusable.any())

    def ranked(self, unit: np.ndarray, top_k: int, min_score: float, exclude_record_id: str | None) -> Iterator[Ranked]:
        """Yield rows, best first, as long as the caller wants more; about ``top_k`` are prepared at a time.

        Args:
            unit: (dimension,) float32, length 1.
            top_k: how many are wanted.
            min_score: least score; nothing passes NaN.
            exclude_record_id: record whose rows are left out.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            scores = self._matrix @ unit
        if self._any_unusable:
            scores[self._unusable] = -np.inf
        start, stop = self._spans.get(exclude_record_id, (0, 0)) if exclude_record_id is not None else (0, 0)
        scores[start:stop] = -np.inf
        available = int(np.count_nonzero(scores > -np.inf))
        given = 0
        wanted = top_k
        while given < available:
            # A caller that had to skip damaged rows asks for more than top_k; each round prepares four times as many.
            rows = self._best(scores, unit, min(wanted, available))
            for ranked in rows[given:]:
                if not ranked.score >= min_score:
                    return
                yield ranked
            given, wanted = len(rows), wanted * 4

    def _best(self, scores: np.ndarray, unit: np.ndarray, count: int) -> list[Ranked]:
        """Return the ``count`` best rows and all that tie with the last."""
        kth = np.partition(scores, len(scores) - count)[len(scores) - count]
        near = np.flatnonzero(scores >= max(kth - _MARGIN, np.finfo(np.float32).min))
        # The matrix product sums in an order that depends on the row's position, so equal vectors may differ in the
        # last bit and ties would fall at random; summed one by one in double precision they are equal.
        exact = np.concatenate(
            [
                np.sum(self._matrix[near[start : start + _EXACT_ROWS]].astype(np.float64) * unit, axis=1)
                for start in range(0, len(near), _EXACT_ROWS)
            ]
        ).astype(np.float32)
        order = np.argsort(-exact, kind="stable")
        last = exact[order[count - 1]]
        return [Ranked(int(near[i]), float(exact[i])) for i in order if exact[i] >= last]


def _spans(record_ids: Sequence[str]) -> dict[str | None, tuple[int, int]]:
    """Return first row and end of every record."""
    spans: dict[str | None, tuple[int, int]] = {}
    for row, record in enumerate(record_ids):
        spans[record] = (spans[record][0] if record in spans else row, row + 1)
    return spans
