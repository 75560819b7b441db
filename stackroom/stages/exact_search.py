"""Does a vector store find what comparing every vector finds? Sampled queries, checked against the artefacts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stackroom.outcome import Failed
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.rows import rows_with_vectors

QUERIES = 20
DEPTH = 10
_SAME_SCORE = 1e-3
"""Rows whose similarity differs by less may change places; backends compute in float32 and some store half of that."""


@dataclass(frozen=True)
class Agreement:
    """How well a store answers sampled queries."""

    queries: int
    recall: float
    """Share of the exact best rows, or of rows just as similar, that the store gives; 1 where there is no query."""


def compare_with_exact(bench: Bench, sources: Sequence[str], queries: int = QUERIES, depth: int = DEPTH) -> Agreement:
    """Ask a store for the rows nearest to some of its own vectors, and compare with the vectors of the artefacts.

    The queries lie between two vectors of different places in the corpus, so that the answer is not just a row itself.

    Args:
        bench: bench of the corpus whose store is asked.
        sources: sources that are stored.
        queries: most queries.
        depth: rows asked for.

    Raises:
        StoreError: the store cannot be read.
    """
    wanted = _sample(bench, sources, queries)
    if not len(wanted):
        return Agreement(0, 1.0)
    best = np.full((len(wanted), depth), -np.inf, dtype=np.float32)
    total = 0
    for source in sources:  # one source at a time: all vectors of a large corpus need not fit into memory
        vectors = _vectors(bench, source)
        total += len(vectors)
        if len(vectors):
            best = -np.sort(-np.hstack([best, wanted @ vectors.T]), axis=1)[:, :depth]
    depth = min(depth, total)
    shares = []
    for query, scores in zip(wanted, best, strict=True):
        hits = bench.store.query(query, depth)
        shares.append(sum(hit.score >= scores[depth - 1] - _SAME_SCORE for hit in hits) / depth)
    return Agreement(len(wanted), float(np.mean(shares)))


def _sample(bench: Bench, sources: Sequence[str], queries: int) -> np.ndarray:
    """Return up to ``queries`` directions halfway between vectors of sources spread over the corpus."""
    places: Sequence[int] = np.unique(np.linspace(0, len(sources) - 1, queries).astype(int)).tolist() if sources else []
    gathered = (_vectors(bench, sources[place]) for place in places)
    picked = [vectors[len(vectors) // 2] for vectors in gathered if len(vectors)]
    if not picked:
        return np.empty((0, 0), dtype=np.float32)
    own = np.array(picked, dtype=np.float32)
    return _unit(own + np.roll(own, 1, axis=0))


def _vectors(bench: Bench, source: str) -> np.ndarray:
    """Return the (n, dimension) unit vectors of a source; none if its artefacts are not whole."""
    gathered = rows_with_vectors(FileWork(bench, source))
    if isinstance(gathered, Failed) or not gathered[0]:
        return np.empty((0, bench.collection.dimension), dtype=np.float32)
    return _unit(np.array([row.vector for row in gathered[0]], dtype=np.float32))


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths: np.ndarray = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.maximum(lengths, 1e-12)
    return unit.astype(np.float32)
