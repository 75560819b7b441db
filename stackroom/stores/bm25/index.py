"""The keyword index of a corpus, opened memory-mapped and searched.

Filters are applied before ranking, never after cutting.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError, QueryError
from stackroom.stores.base import StoreHit
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.columns import Columns
from stackroom.stores.bm25.okapi import OkapiScores
from stackroom.stores.bm25.postings import Postings
from stackroom.stores.bm25.rows import Rows
from stackroom.stores.bm25.versions import current_version, read_meta
from stackroom.stores.filters import matches, validate_metadata_filter, with_shadow_fields


class _Scores(Protocol):
    def scores(self, terms: Mapping[str, float]) -> np.ndarray: ...


class KeywordIndex:
    """An opened index. Safe to share between threads; a version opened once stays readable when a newer one is made."""

    def __init__(self, version: Path) -> None:
        """Open a version of an index; use :func:`open_index`."""
        self.version = version
        self.meta = read_meta(version)
        self._analyser = open_analyser(Bm25Settings(language=self.meta["language"]))
        if self._analyser.identity != self.meta["analyser"]:
            raise ArtefactError(
                f"the keyword index {version} was made with the analyser {self.meta['analyser']!r}, and this is "
                f"{self._analyser.identity!r}; materialize `bm25_corpus` and `bm25_index` of the corpus again"
            )
        try:
            self._postings = Postings(version)
            self._rows = Rows(version)
            self._columns = Columns(version, len(self._rows), matches)
        except (OSError, EOFError, ValueError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ArtefactError(
                f"the keyword index {version} is damaged ({error}); delete it and build it again"
            ) from error
        self._scores: _Scores = self._postings
        if self.meta["engine"] == "rank_bm25":
            self._scores = OkapiScores(self._postings, self.meta["k1"], self.meta["b"])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def fields(self) -> dict[str, str]:
        """Return the metadata fields of the rows with their kinds; see :meth:`Columns.kinds`."""
        return self._columns.kinds()

    def search(self, query: str, k: int, where: Mapping[str, Any] | None = None) -> list[StoreHit]:
        """Return the ``k`` best rows that hold a term of the query, best first; equal scores in the order of the rows.

        Args:
            query: words to look for.
            k: most hits wanted, at least 1.
            where: metadata filter; rows it does not match take no part in the ranking.

        Raises:
            QueryError: ``k`` is not a whole number above zero.
            FilterError: ``where`` is not a sentence of the filter language.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise QueryError(f"k is {k!r}; it must be a whole number of at least 1")
        scores = self._row_scores(query, where)
        return [self._rows.hit(row, float(scores[row])) for row in _best(scores, k)]

    def scores_of(self, query: str, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the scores of some chunks (0 without any term of the query); unknown chunks are left out."""
        scores = self._row_scores(query, None)
        found = ((chunk, self._rows.find(chunk)) for chunk in chunk_ids)
        return {chunk: float(scores[row]) for chunk, row in found if row is not None}

    def get(self, chunk_id: str) -> StoreHit | None:
        """Return a row by its chunk id, with score 0."""
        row = self._rows.find(chunk_id)
        return None if row is None else self._rows.hit(row, 0.0)

    def neighbours(self, chunk_id: str, each_side: int) -> list[StoreHit]:
        """Return the chunks just before and after a chunk in its source, in reading order, without the chunk itself."""
        row = self._rows.find(chunk_id)
        if row is None:
            return []
        source = self._rows.source_of(row)
        near = range(max(0, row - each_side), min(len(self._rows), row + each_side + 1))
        return [self._rows.hit(other, 0.0) for other in near if other != row and self._rows.source_of(other) == source]

    def close(self) -> None:
        """Nothing to do: the files are mapped, and unmapped with the object."""

    def _row_scores(self, query: str, where: Mapping[str, Any] | None) -> np.ndarray:
        mask = None if not where else self._columns.mask(with_shadow_fields(validate_metadata_filter(dict(where))))
        scores = self._scores.scores(Counter(self._analyser.query_tokens(query)))
        return scores if mask is None else np.where(mask, scores, 0)


def open_index(folder: Path) -> KeywordIndex:
    """Open the version of an index that is in use.

    Raises:
        ArtefactError: there is no index, it is damaged, or it was made with another analyser.
    """
    for _ in range(3):  # a version may be replaced twice between reading the pointer and opening its files
        version = current_version(folder)
        if version is None:
            raise ArtefactError(f"there is no keyword index in {folder}; materialize `bm25_index` of the corpus")
        try:
            return KeywordIndex(version)
        except FileNotFoundError as error:
            missing = error
    raise ArtefactError(f"the keyword index {version} is incomplete ({missing.filename}); delete it and build it again")


def _best(scores: np.ndarray, k: int) -> list[int]:
    """Return the places of the ``k`` highest scores above zero, highest first, equal ones in ascending place."""
    found = np.flatnonzero(scores > 0)
    if found.size > k:
        bar = np.partition(scores[found], found.size - k)[found.size - k]
        above, at = found[scores[found] > bar], found[scores[found] == bar]
        found = np.concatenate((above, at[: k - above.size]))
    order = np.lexsort((found, -scores[found]))
    return [int(row) for row in found[order]]
