"""The inverted index: for every term the rows that hold it and what it adds to their score.

Scores are worked out when the index is built (as in Lù 2024, "BM25S"), so that a query only adds up slices of two
arrays. The inverse document frequency is Lucene's, ``ln(1 + (N - n + 0.5) / (n + 0.5))``: it is above zero for every
term, so that no row with a term of the query is lost, however small the corpus.
"""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackroom.stores.bm25.analyser import STOP_MARK
from stackroom.stores.bm25.arrays import create_array, open_array, save_array, sync_array, sync_file
from stackroom.stores.bm25.corpus import SourceCorpus

_TERMS, _TERM_ENDS = "terms.bin", "term_ends.npy"
_STARTS, _ROWS, _WEIGHTS, _COUNTS, _LENGTHS = "starts.npy", "rows.npy", "weights.npy", "counts.npy", "lengths.npy"
_SPILL = "spill.tmp"
_SPILL_TYPE = np.dtype([("term", "<i4"), ("row", "<i4"), ("count", "<f4")])
_BLOCK = 2_000_000
"""Occurrences placed at a time: 24 MB of spill and about 100 MB of working arrays."""


class PostingsWriter:
    """Collects occurrences in a spill file, then places them term by term; memory: a block and the vocabulary."""

    def __init__(self, folder: Path, heading_weight: float) -> None:
        self._folder = folder
        self._heading_weight = heading_weight
        self._numbers: dict[str, int] = {}
        self._lengths = array("f")
        self._spill = (folder / _SPILL).open("wb")

    def add(self, corpus: SourceCorpus) -> None:
        """Append the chunks of a source."""
        numbers = self._numbers
        known = np.array([numbers.setdefault(term, len(numbers)) for term in corpus.vocabulary], dtype=np.int32)
        stop = np.array([term.startswith(STOP_MARK) for term in corpus.vocabulary], dtype=bool)
        sizes = np.diff(corpus.row_ends, prepend=0)
        local = np.repeat(np.arange(len(sizes)), sizes)
        counts = (corpus.counts + self._heading_weight * corpus.heading_counts).astype(np.float32)
        entries = np.empty(counts.size, dtype=_SPILL_TYPE)
        entries["term"] = known[corpus.term_ids]
        entries["row"] = local + len(self._lengths)
        entries["count"] = counts
        entries[counts > 0].tofile(self._spill)
        counted = np.where(stop[corpus.term_ids], 0, counts)
        self._lengths.extend(np.bincount(local, weights=counted, minlength=len(sizes)).astype(np.float32).tolist())

    def carry(self, former: "RowTerms", first: int, last: int) -> None:
        """Append rows ``first`` to ``last`` (without) of an index made with the same weight of headings."""
        numbers, inside = self._numbers, former.inside(first, last)
        distinct, places = np.unique(former.terms[inside], return_inverse=True)
        known = np.array([numbers.setdefault(term, len(numbers)) for term in former.texts(distinct)], dtype=np.int32)
        entries = np.empty(places.size, dtype=_SPILL_TYPE)
        entries["term"] = known[places]
        entries["row"] = former.rows[inside] + (len(self._lengths) - first)
        entries["count"] = former.counts[inside]
        entries.tofile(self._spill)
        self._lengths.frombytes(former.lengths[first:last].tobytes())

    def close(self, k1: float, b: float) -> tuple[int, int]:
        """Write the index and return the numbers of terms and occurrences.

        Args:
            k1: how soon repeats of a term stop counting.
            b: how much long rows are held back, 0 to 1.
        """
        self._spill.close()
        path = self._folder / _SPILL
        occurrences = path.stat().st_size // _SPILL_TYPE.itemsize
        spill = np.memmap(path, dtype=_SPILL_TYPE, mode="r") if occurrences else np.empty(0, dtype=_SPILL_TYPE)
        amounts = np.zeros(len(self._numbers), dtype=np.int64)
        for first in range(0, occurrences, _BLOCK):
            amounts += np.bincount(spill["term"][first : first + _BLOCK], minlength=amounts.size)
        # Without weight a term may stand in headings only, and then it is in no row.
        order = sorted(term for term, number in self._numbers.items() if amounts[number])
        self._write_vocabulary(order)
        numbers = np.array([self._numbers[term] for term in order], dtype=np.int64)
        rank = np.zeros(amounts.size, dtype=np.int64)
        rank[numbers] = np.arange(numbers.size)
        starts = np.concatenate(([0], np.cumsum(amounts[numbers])))
        save_array(self._folder / _STARTS, starts)
        self._place(spill, rank, starts, k1, b)
        del spill
        path.unlink()
        return len(order), int(occurrences)

    def _write_vocabulary(self, order: list[str]) -> None:
        encoded = [term.encode("utf-8", "surrogatepass") for term in order]
        (self._folder / _TERMS).write_bytes(b"".join(encoded))
        sync_file(self._folder / _TERMS)
        save_array(self._folder / _TERM_ENDS, np.cumsum([len(term) for term in encoded], dtype=np.int64))

    def _place(self, spill: np.ndarray, rank: np.ndarray, starts: np.ndarray, k1: float, b: float) -> None:
        """Put every occurrence where its term's slice has room; rows stay in ascending order within a term."""
        lengths = np.asarray(self._lengths, dtype=np.float32)
        save_array(self._folder / _LENGTHS, lengths)
        size = int(starts[-1])
        rows = create_array(self._folder / _ROWS, "<i4", size)
        weights = create_array(self._folder / _WEIGHTS, "<f4", size)
        counts = create_array(self._folder / _COUNTS, "<f4", size)
        frequencies = np.diff(starts)
        idf = np.log1p((lengths.size - frequencies + 0.5) / (frequencies + 0.5))
        mean = float(lengths.mean()) if lengths.size and lengths.any() else 1.0
        held_back = k1 * (1 - b + b * lengths / mean)
        cursor = starts[:-1].copy()
        for first in range(0, size, _BLOCK):
            block = spill[first : first + _BLOCK]
            terms = rank[block["term"]]
            by_term = np.argsort(terms, kind="stable")
            terms = terms[by_term]
            row, count = block["row"][by_term], block["count"][by_term]
            found, firsts, amounts = np.unique(terms, return_index=True, return_counts=True)
            places = cursor[terms] + (np.arange(terms.size) - np.repeat(firsts, amounts))
            rows[places], counts[places] = row, count
            weights[places] = idf[terms] * count * (k1 + 1) / (count + held_back[row])
            cursor[found] += amounts
        for column in (rows, weights, counts):
            sync_array(column)


@dataclass(frozen=True)
class RowTerms:
    """The occurrences of an index, in the order of its rows: three arrays of (occurrences,)."""

    rows: np.ndarray
    terms: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray
    """(rows,) float32."""
    text: Callable[[int], str]
    """The term of a number."""

    def inside(self, first: int, last: int) -> slice:
        """Return where the occurrences of rows ``first`` to ``last`` (without) stand."""
        begin, end = np.searchsorted(self.rows, [first, last])
        return slice(int(begin), int(end))

    def texts(self, terms: np.ndarray) -> list[str]:
        """Return terms by their numbers."""
        return [self.text(int(term)) for term in terms]


class Postings:
    """An opened inverted index, memory-mapped. Safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        self._term_ends = open_array(folder / _TERM_ENDS)
        self._terms = (
            np.memmap(folder / _TERMS, dtype=np.uint8, mode="r").data if self._term_ends.size else memoryview(b"")
        )
        self._starts = open_array(folder / _STARTS)
        self._rows = open_array(folder / _ROWS)
        self._weights = open_array(folder / _WEIGHTS)
        self._counts = open_array(folder / _COUNTS)
        self.lengths = open_array(folder / _LENGTHS)

    def scores(self, terms: Mapping[str, float]) -> np.ndarray:
        """Return the BM25 score of every row: (rows,) float32, zero for rows without any of the terms.

        Args:
            terms: term to how much it counts (its occurrences in the query).
        """
        total = np.zeros(self.lengths.size, dtype=np.float32)
        for term, amount in terms.items():
            place = self._find(term)
            if place is None:
                continue
            inside = slice(int(self._starts[place]), int(self._starts[place + 1]))
            weights = self._weights[inside]
            total[self._rows[inside]] += weights if amount == 1 else weights * np.float32(amount)
        return total

    def by_row(self) -> "RowTerms":
        """Return all occurrences in the order of the rows; memory: 24 bytes each."""
        amounts = np.diff(self._starts)
        order = np.argsort(self._rows, kind="stable")
        terms = np.repeat(np.arange(amounts.size, dtype=np.int32), amounts)[order]
        return RowTerms(self._rows[order], terms, self._counts[order], self.lengths, self._term)

    def documents(self) -> list[list[str]]:
        """Return the terms of every row, each as often as it occurs, without stop words (in term order)."""
        documents: list[list[str]] = [[] for _ in range(self.lengths.size)]
        for place in range(self._term_ends.size):
            term = self._term(place)
            if term.startswith(STOP_MARK):
                continue
            inside = slice(int(self._starts[place]), int(self._starts[place + 1]))
            for row, count in zip(self._rows[inside].tolist(), self._counts[inside].tolist(), strict=True):
                documents[row].extend([term] * max(1, round(count)))
        return documents

    def info(self) -> dict[str, Any]:
        """Return numbers of rows, terms and occurrences, and the mean length of a row in terms."""
        return {
            "rows": int(self.lengths.size),
            "terms": int(self._term_ends.size),
            "occurrences": int(self._rows.size),
            "mean_length": float(self.lengths.mean()) if self.lengths.size else 0.0,
        }

    def _term(self, place: int) -> str:
        first = int(self._term_ends[place - 1]) if place else 0
        return bytes(self._terms[first : int(self._term_ends[place])]).decode("utf-8", "surrogatepass")

    def _find(self, term: str) -> int | None:
        """Binary search in the sorted vocabulary: no table of terms has to be loaded."""
        wanted = term.encode("utf-8", "surrogatepass")
        low, high = 0, self._term_ends.size
        while low < high:
            middle = (low + high) // 2
            first = int(self._term_ends[middle - 1]) if middle else 0
            found = bytes(self._terms[first : int(self._term_ends[middle])])
            if found == wanted:
                return middle
            if found < wanted:
                low = middle + 1
            else:
                high = middle
        return None
