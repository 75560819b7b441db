"""The reference engine: ``rank_bm25``'s Okapi scores over the same terms, computed in memory.

It is here to be compared with, and for those who want exactly its numbers. Its inverse document frequency is zero for a
term in half of the rows, so that in a tiny corpus it loses rows the default engine finds; and opening it takes time
and memory in proportion to the corpus.
"""

from collections.abc import Mapping

import numpy as np
from rank_bm25 import BM25Okapi

from stackroom.stores.bm25.postings import Postings


class OkapiScores:
    """Scores rows with ``rank_bm25.BM25Okapi``."""

    def __init__(self, postings: Postings, k1: float, b: float) -> None:
        """Build the model from an index's own terms.

        Args:
            postings: an opened index.
            k1: how soon repeats of a term stop counting.
            b: how much long rows are held back, 0 to 1.
        """
        documents = postings.documents()
        self._rows = len(documents)
        # The library divides by the number of terms: a corpus without any has no model and no hits.
        self._model = BM25Okapi(documents, k1=k1, b=b) if any(documents) else None

    def scores(self, terms: Mapping[str, float]) -> np.ndarray:
        """Return the score of every row, (rows,); rows at or below zero count as not found, as in the reference."""
        if self._model is None:
            return np.zeros(self._rows)
        query = [term for term, amount in terms.items() for _ in range(max(1, round(amount)))]
        return np.asarray(self._model.get_scores(query))
