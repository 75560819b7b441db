"""The vector store contract, and everything backends share: checks, batching, replace, ranking, model identity.

A backend file holds only what differs: how a batch of rows is written, deleted, read and searched. Its methods are the
underscored ones at the end of :class:`VectorStore`; it never sees a row that was not checked, nor a batch too large.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from types import TracebackType
from typing import Any, ClassVar, Self, final

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreError, StoreUnavailableError
from stackroom.stores.checks import batches, checked_rows, unit_vector
from stackroom.stores.collection import CollectionSpec, Found, ReplaceResult, StoreHit, StoreInfo
from stackroom.stores.filter_language import Canonical, validate_metadata_filter
from stackroom.stores.filters import with_shadow_fields
from stackroom.stores.opening import instantiate_vector_store, open_store
from stackroom.stores.ranking import Ranked, best, rank, settled

__all__ = [
    "CollectionSpec",
    "Found",
    "ReplaceResult",
    "StoreHit",
    "StoreInfo",
    "VectorStore",
    "instantiate_vector_store",
    "open_store",
]

_TIE_MARGIN = 6
"""Rows asked for beyond k, so that it can be seen whether rows tie with the k-th."""
_WIDENINGS = 3
"""Times that a backend is asked for four times as many rows, before all matching rows are compared."""


class VectorStore(ABC):
    """A collection of rows with vectors in some backend. One object may be used by several threads.

    Vectors are stored with length 1; similarity is the cosine, 1 = same. Writing methods either do everything they
    promise or raise; what they wrote before raising is completed by calling them again.
    """

    backend: ClassVar[str]
    max_batch_rows: int = 500
    max_batch_bytes: int = 16 * 2**20
    """Half of the 32 MiB that Qdrant's server takes in one request; Chroma's takes 40."""
    tolerated_misses: ClassVar[float] = 0.0
    """Share of sampled rows that :meth:`verify` lets the vector index miss: a graph index finds most, not all."""

    def __init__(self, spec: CollectionSpec) -> None:
        self.spec = spec
        self._lock = threading.RLock()

    @property
    @abstractmethod
    def instance(self) -> str:
        """Identity of this very collection: another one is made when it is dropped and created again."""

    @final
    def upsert(self, rows: Sequence[StoredRow]) -> int:
        """Write rows; a row whose chunk id is stored is replaced entirely, also keys that it no longer has.

        Returns:
            The number of rows written.

        Raises:
            StoreError: a row cannot be stored (see :mod:`stackroom.stores.checks`), or the backend failed.
        """
        checked = checked_rows(rows, self.spec.dimension)
        with self._lock, self._writing():
            self._write_all(checked)
        return len(checked)

    @final
    def replace_source(self, source_id: str, rows: Sequence[StoredRow]) -> ReplaceResult:
        """Make ``rows`` the only rows of a source: upsert them, delete ids that are no longer there.

        Raises:
            StoreError: a row cannot be stored or belongs to another source, or the backend failed.
        """
        checked = checked_rows(rows, self.spec.dimension, source_id=source_id)
        with self._lock, self._writing():
            stale = self._ids(source_id) - {row.chunk_id for row in checked}
            self._write_all(checked)
            self._delete_all(stale)
        return ReplaceResult(len(checked), len(stale))

    @final
    def update_metadata(self, source_id: str, rows: Sequence[StoredRow]) -> int:
        """Replace text and metadata of stored rows of a source and keep their vectors; the rows need none.

        Returns:
            The number of rows changed.

        Raises:
            StoreError: a row is not stored, or its metadata cannot be.
        """
        checked = checked_rows(rows, self.spec.dimension, with_vectors=False, source_id=source_id)
        with self._lock, self._writing():
            missing = {row.chunk_id for row in checked} - self._ids(source_id)
            if missing:
                raise StoreError(
                    f"{len(missing)} of {len(checked)} chunks of {source_id} are not in collection {self.spec.name} "
                    f"(for example {min(missing)}); replace the source with its vectors instead"
                )
            for batch in batches(checked, self.max_batch_rows, self.max_batch_bytes):
                self._rewrite(batch)
        return len(checked)

    @final
    def query(self, vector: np.ndarray, k: int, where: Mapping[str, Any] | None = None) -> list[StoreHit]:
        """Return the ``k`` rows most similar to ``vector`` among those matching ``where``, ties by chunk id.

        Args:
            vector: (dimension,) numbers, of any length but zero.
            k: number of rows wanted; fewer come back only if fewer match.
            where: a metadata filter; None or empty for all rows.

        Raises:
            FilterError: ``where`` is not a filter.
            StoreError: the vector cannot be compared, ``k`` is below 1, or the backend failed.
        """
        if k < 1:
            raise StoreError(f"k is {k}; at least 1 hit must be asked for")
        canonical = with_shadow_fields(validate_metadata_filter(where)) if where else None
        unit = unit_vector(vector, self.spec.dimension, "the query")
        with self._lock, self._reading():
            return self._nearest(unit, k, canonical)

    def _nearest(self, unit: np.ndarray, k: int, canonical: Canonical | None) -> list[StoreHit]:
        """Ask for more and more rows until the best k are certain; in the end compare all matching rows."""
        wanted = k + _TIE_MARGIN
        for _ in range(_WIDENINGS):
            found = self._search(unit, wanted, canonical)
            hits, lowest = rank(found.rows, unit, canonical)
            if found.complete or settled(hits, k, lowest):
                return _as_hits(hits[:k])
            if len(found.rows) < wanted:  # few rows match, or the index did not reach them all: count on neither
                if canonical is None and len(found.rows) == self._count(None):
                    return _as_hits(hits[:k])
                break
            wanted *= 4
        return _as_hits(best(self._scan(canonical, self.max_batch_rows), unit, k, canonical))

    @final
    def delete_source(self, source_id: str) -> int:
        """Delete all rows of a source and return how many there were."""
        with self._lock, self._writing():
            ids = self._ids(source_id)
            self._delete_all(ids)
        return len(ids)

    @final
    def delete_sources(self, source_ids: Iterable[str]) -> dict[str, int]:
        """Delete all rows of some sources in one go and return how many there were of each."""
        with self._lock, self._writing():
            ids = {source_id: self._ids(source_id) for source_id in source_ids}
            self._delete_all(set().union(*ids.values()))
        return {source_id: len(found) for source_id, found in ids.items()}

    @final
    def delete_rows(self, source_id: str, chunk_ids: Collection[str]) -> int:
        """Delete some rows of a source and return how many of them there were."""
        with self._lock, self._writing():
            ids = self._ids(source_id).intersection(chunk_ids)
            self._delete_all(ids)
        return len(ids)

    @final
    def count(self, source_id: str | None = None) -> int:
        """Return the number of rows, in all or of one source."""
        with self._lock, self._reading():
            return self._count(source_id)

    @final
    def ids_of_source(self, source_id: str) -> set[str]:
        """Return the chunk ids stored for a source."""
        with self._lock, self._reading():
            return self._ids(source_id)

    @final
    def source_ids(self) -> set[str]:
        """Return all source ids that have rows."""
        with self._lock, self._reading():
            return self._source_ids()

    @final
    def scan(self, batch_size: int = 500) -> Iterator[StoredRow]:
        """Yield every row with its vector, in no particular order.

        Nothing is locked between two batches: rows written or deleted meanwhile may be among them or not.
        """
        batches_of_rows = self._scan(None, batch_size)
        while True:
            with self._lock, self._reading():
                rows = next(batches_of_rows, None)
            if rows is None:
                return
            yield from rows

    @final
    def verify(self, sample: int = 20) -> list[str]:
        """Probe the collection and return what is wrong with it, in words; empty when all is well.

        Rows of a sample are looked up by their own vectors: a vector index that lost or never got them is found out.
        """
        try:
            with self._lock, self._reading():
                return self._problems(sample)
        except StoreUnavailableError:
            raise
        except StoreError as error:  # a damaged index
            return [f"the collection cannot be read: {error}"]

    def _problems(self, sample: int) -> list[str]:
        problems = []
        total = self._count(None)
        rows = list(islice(self._sample(sample), sample))
        if total and not rows:
            problems.append(f"the collection counts {total} rows but gives none")
        lost = [row for row in rows if not self._finds(row)]
        if len(lost) > len(rows) * self.tolerated_misses:
            example = f"chunk {lost[0].chunk_id} of {lost[0].source_id}"
            problems.append(f"{len(lost)} of {len(rows)} sampled rows are not found by their vectors ({example})")
        return problems

    def _finds(self, row: StoredRow) -> bool:
        vector = np.asarray(row.vector)
        hits, _ = rank(self._probe(vector, 1 + _TIE_MARGIN), vector, None)
        return bool(hits) and hits[0].score >= 1 - 1e-4

    @final
    def info(self) -> StoreInfo:
        """Return what the collection says about itself."""
        with self._lock, self._reading():
            details = {"instance": self.instance, "corpus": self.spec.corpus, **self._details()}
            return StoreInfo(
                self.backend, self.spec.name, self.spec.model, self.spec.dimension, self._count(None), details
            )

    @final
    def drop(self) -> None:
        """Delete the collection; the object cannot be used afterwards."""
        with self._lock, self._writing():
            self._drop()

    @abstractmethod
    def close(self) -> None:
        """Release files and connections."""

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()

    def _write_all(self, rows: Sequence[StoredRow]) -> None:
        for batch in batches(rows, self.max_batch_rows, self.max_batch_bytes):
            self._write(batch)

    def _delete_all(self, ids: set[str]) -> None:
        ordered = sorted(ids)
        for start in range(0, len(ordered), self.max_batch_rows):
            self._delete(ordered[start : start + self.max_batch_rows])

    # What a backend implements. All are called under the lock, inside _reading() or _writing().

    def _writing(self) -> AbstractContextManager[object]:
        """Enter a transaction, or hold what keeps other writers out."""
        return nullcontext()

    def _reading(self) -> AbstractContextManager[object]:
        """See one state of the collection, including what other processes wrote before."""
        return nullcontext()

    @abstractmethod
    def _write(self, rows: Sequence[StoredRow]) -> None:
        """Upsert one batch of checked rows with vectors."""

    @abstractmethod
    def _rewrite(self, rows: Sequence[StoredRow]) -> None:
        """Replace text and metadata of one batch of stored rows."""

    @abstractmethod
    def _delete(self, ids: Sequence[str]) -> None:
        """Delete one batch of rows (never an empty one)."""

    @abstractmethod
    def _search(self, unit: np.ndarray, n: int, canonical: Canonical | None) -> Found:
        """Return the ``n`` most similar rows among those that match; rows that do not match may be among them."""

    @abstractmethod
    def _scan(self, canonical: Canonical | None, batch_size: int) -> Iterator[list[StoredRow]]:
        """Yield all rows that match, with vectors, in batches; rows that do not match may be among them."""

    @abstractmethod
    def _count(self, source_id: str | None) -> int: ...

    @abstractmethod
    def _ids(self, source_id: str) -> set[str]: ...

    @abstractmethod
    def _source_ids(self) -> set[str]: ...

    @abstractmethod
    def _drop(self) -> None: ...

    def _probe(self, unit: np.ndarray, n: int) -> Sequence[StoredRow]:
        """Ask the backend's own vector index, for :meth:`verify`."""
        return self._search(unit, n, None).rows

    def _sample(self, n: int) -> Iterator[StoredRow]:
        """Yield up to ``n`` rows with vectors for :meth:`verify`."""
        for rows in self._scan(None, n):
            yield from rows

    def _details(self) -> Mapping[str, Any]:
        return {}


def _as_hits(ranked: Sequence[Ranked]) -> list[StoreHit]:
    return [StoreHit(row.chunk_id, row.source_id, row.text, row.metadata, score) for score, row in ranked]
