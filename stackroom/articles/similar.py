"""Which documents of a corpus resemble one another? Works on any vector store of the product."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stackroom.stores.base import StoreHit, VectorStore
from stackroom.stores.metadata import display_metadata

_FIRST_POOL = 20
"""Hits asked for per passage at first."""
_POOL_GROWTH = 4
_MOST_PASSAGES = 200
"""Passages of a long document that are compared, evenly spread; a query each."""

DUPLICATE_SIMILARITY = 0.8
DUPLICATE_SHARE = 0.5
"""Measured on 27 papers and an OCR twin of some pages of one: of the twin's passages 64 % resemble the original by 0.8
or more although they are cut at other places (100 % if cut alike); of two different papers at most 2 % do."""
_CENTRE_SIMILARITY = 0.8
"""Least similarity of the mean vectors of two documents that are compared passage by passage; the twin has 0.96."""
_NEIGHBOURS = 20
"""Documents of nearest mean vector that each document is compared with: keeps the work linear."""
_BLOCK = 1024


@dataclass(frozen=True)
class SimilarPassage:
    """A passage of another document, and the own passage it resembles."""

    own_index: int
    """Row of the vectors that were given."""
    chunk_id: str
    text: str
    score: float
    """Cosine similarity."""
    metadata: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return plain values; metadata as people see it."""
        return {
            "own_index": self.own_index,
            "chunk_id": self.chunk_id,
            "text": self.text,
            "score": self.score,
            "metadata": display_metadata(self.metadata),
        }


@dataclass(frozen=True)
class SimilarSource:
    """Another document, ranked by its best passage."""

    source_id: str
    score: float
    """Similarity of the best pair of passages."""
    passages: tuple[SimilarPassage, ...]
    """The best passages, each once, best first."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "source_id": self.source_id,
            "score": self.score,
            "passages": [passage.to_json() for passage in self.passages],
        }


@dataclass(frozen=True)
class NearDuplicate:
    """Two documents that say mostly the same."""

    first: str
    second: str
    share: float
    """Share of the shorter document's passages that the other one has too."""
    similarity: float
    """Mean similarity of those passages."""


def similar_sources(
    store: VectorStore, vectors_of_source: np.ndarray, source_id: str | None, k: int, passages: int = 3
) -> list[SimilarSource]:
    """Return the documents of a collection most similar to one document, best first, never the document itself.

    A document is as similar as its best passage. The ranking is exact: passages are asked for until no document that
    has not been seen can be among the best ``k``.

    Args:
        store: the collection.
        vectors_of_source: (n, dimension) vectors of the document's passages, by the collection's own model.
        source_id: the document, if it is in the collection.
        k: most documents.
        passages: most passages shown of each.

    Raises:
        StoreError: the store cannot be read.
    """
    if k < 1 or not len(vectors_of_source):
        return []
    rows = np.unique(np.linspace(0, len(vectors_of_source) - 1, _MOST_PASSAGES).round().astype(int))
    where = None if source_id is None else {"source_id": {"$ne": source_id}}
    found: dict[str, dict[str, SimilarPassage]] = {}
    pending = {int(row): math.inf for row in rows if np.any(vectors_of_source[row])}
    pool = max(_FIRST_POOL, k)
    while pending:
        for row in pending:
            hits = store.query(vectors_of_source[row], pool, where)
            for hit in hits:
                _keep(found.setdefault(hit.source_id, {}), row, hit)
            # What has not been seen for this passage is at most as similar as the last hit.
            pending[row] = hits[-1].score if len(hits) == pool else -math.inf
        best = sorted((_best(kept) for kept in found.values()), reverse=True)
        certain = best[k - 1] if len(best) >= k else -math.inf
        pending = {row: unseen for row, unseen in pending.items() if unseen > certain}
        pool *= _POOL_GROWTH
    ranked = sorted(found.items(), key=lambda item: (-_best(item[1]), item[0]))[:k]
    return [_similar(source, list(kept.values()), passages) for source, kept in ranked]


def near_duplicates(
    store: VectorStore, min_similarity: float = DUPLICATE_SIMILARITY, min_share: float = DUPLICATE_SHARE
) -> list[NearDuplicate]:
    """Return the pairs of documents of a collection that say mostly the same, the surest first.

    The vectors are scanned twice: once for the mean of every document, once for the passages of those whose means are
    close. A short excerpt of a long document on several subjects is not found: their means differ.

    Args:
        store: the collection.
        min_similarity: from which similarity two passages count as the same.
        min_share: share of the shorter document's passages that must have their like in the other.

    Raises:
        StoreError: the store cannot be read.
    """
    pairs = _close_pairs(_centres(store))
    wanted = {source for pair in pairs for source in pair}
    vectors: dict[str, list[np.ndarray]] = {source: [] for source in wanted}
    for source, vector in _vectors(store):
        if source in wanted:
            vectors[source].append(vector)
    matrices = {source: np.array(rows, dtype=np.float32) for source, rows in vectors.items() if rows}
    duplicates = []
    for first, second in pairs:
        if first not in matrices or second not in matrices:  # deleted between the two scans
            continue
        shorter, longer = sorted((matrices[first], matrices[second]), key=len)
        likeness = (shorter @ longer.T).max(axis=1)
        same = likeness[likeness >= min_similarity]
        share = len(same) / len(likeness)
        if len(same) and share >= min_share:
            duplicates.append(NearDuplicate(first, second, share, float(same.mean())))
    return sorted(duplicates, key=lambda pair: (-pair.share, -pair.similarity, pair.first, pair.second))


def _keep(kept: dict[str, SimilarPassage], row: int, hit: StoreHit) -> None:
    """Keep the best own passage for every passage of the other document."""
    known = kept.get(hit.chunk_id)
    if known is None or (hit.score, -row) > (known.score, -known.own_index):
        kept[hit.chunk_id] = SimilarPassage(row, hit.chunk_id, hit.text, hit.score, hit.metadata)


def _best(kept: Mapping[str, SimilarPassage]) -> float:
    return max(passage.score for passage in kept.values())


def _similar(source_id: str, found: list[SimilarPassage], passages: int) -> SimilarSource:
    ranked = sorted(found, key=lambda passage: (-passage.score, passage.own_index, passage.chunk_id))
    return SimilarSource(source_id, ranked[0].score, tuple(ranked[:passages]))


def _vectors(store: VectorStore) -> Iterator[tuple[str, np.ndarray]]:
    """Yield source and unit vector of every row."""
    for row in store.scan():
        length = 0.0 if row.vector is None else float(np.linalg.norm(row.vector))
        if row.vector is not None and length > 0:
            yield row.source_id, row.vector / length


def _centres(store: VectorStore) -> dict[str, np.ndarray]:
    """Return the mean direction of every document."""
    sums: dict[str, np.ndarray] = {}
    for source, vector in _vectors(store):
        sums[source] = sums[source] + vector if source in sums else vector
    return {source: total / max(float(np.linalg.norm(total)), 1e-12) for source, total in sums.items()}


def _close_pairs(centres: Mapping[str, np.ndarray]) -> list[tuple[str, str]]:
    """Return pairs of documents whose means are close, (smaller id, larger id), sorted."""
    sources = sorted(centres)
    if len(sources) < 2:
        return []
    matrix = np.array([centres[source] for source in sources], dtype=np.float32)
    pairs: set[tuple[str, str]] = set()
    for start in range(0, len(sources), _BLOCK):
        likeness = matrix[start : start + _BLOCK] @ matrix.T
        for offset, row in enumerate(likeness):
            own = start + offset
            row[own] = -1.0
            near = np.flatnonzero(row >= _CENTRE_SIMILARITY)
            if len(near) > _NEIGHBOURS:
                near = near[np.argsort(-row[near], kind="stable")[:_NEIGHBOURS]]
            pairs.update((sources[min(own, int(other))], sources[max(own, int(other))]) for other in near)
    return sorted(pairs)
