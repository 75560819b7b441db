"""``memory:``: collections that live in this process and vanish with it; for tests and trials.

All stores of one location in a process share their collections. Everything is exact and nothing is translated: the
evaluator itself decides which rows match.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreNotFoundError
from stackroom.stores.base import VectorStore
from stackroom.stores.collection import CollectionSpec, Found, Identity, missing
from stackroom.stores.filter_language import Canonical, matches
from stackroom.stores.scan_index import ScanIndex


@dataclass
class _Collection:
    identity: Identity
    index: ScanIndex
    rows: dict[int, StoredRow] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """Row number by chunk id."""
    next_number: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)


_collections: dict[tuple[str, str], _Collection] = {}
_collections_lock = threading.Lock()


def open_collection(location: str, spec: CollectionSpec, create: bool, wait_seconds: float) -> "MemoryStore":  # noqa: ARG001
    """Open a collection of this process; see :func:`stackroom.stores.base.open_store`."""
    with _collections_lock:
        collection = _collections.get((location, spec.name))
        if collection is None:
            if not create:
                raise missing(spec.name, f"memory:{location}")
            collection = _Collection(Identity.new(spec), ScanIndex(spec.dimension))
            _collections[location, spec.name] = collection
    return MemoryStore(collection.identity.admit(spec), (location, spec.name), collection)


class MemoryStore(VectorStore):
    """A collection in the memory of this process."""

    backend = "memory"

    def __init__(self, spec: CollectionSpec, key: tuple[str, str], collection: _Collection) -> None:
        super().__init__(spec)
        self._key = key
        self._collection = collection
        self._lock = collection.lock  # shared by all stores of the collection

    @property
    def instance(self) -> str:
        """Identity of this very collection."""
        return self._collection.identity.instance

    def _write(self, rows: Sequence[StoredRow]) -> None:
        collection = self._alive()
        numbers = []
        for row in rows:
            number = collection.numbers.get(row.chunk_id)
            if number is None:
                number, collection.next_number = collection.next_number, collection.next_number + 1
                collection.numbers[row.chunk_id] = number
            collection.rows[number] = row
            numbers.append(number)
        collection.index.put(np.array(numbers, dtype=np.int64), np.array([row.vector for row in rows]))

    def _rewrite(self, rows: Sequence[StoredRow]) -> None:
        collection = self._alive()
        for row in rows:
            number = collection.numbers[row.chunk_id]
            collection.rows[number] = replace(row, vector=collection.rows[number].vector)

    def _delete(self, ids: Sequence[str]) -> None:
        collection = self._alive()
        numbers = [collection.numbers.pop(chunk_id) for chunk_id in ids]
        for number in numbers:
            del collection.rows[number]
        collection.index.drop(np.array(numbers, dtype=np.int64))

    def _search(self, unit: np.ndarray, n: int, canonical: Canonical | None) -> Found:
        collection = self._alive()
        among = None
        if canonical is not None:
            matching = [number for number, row in collection.rows.items() if matches(row.metadata, canonical)]
            among = np.array(matching, dtype=np.int64)
        nearest = collection.index.nearest(unit, n, among)
        return Found([collection.rows[int(number)] for number in nearest], complete=True)

    def _scan(self, canonical: Canonical | None, batch_size: int) -> Iterator[list[StoredRow]]:  # noqa: ARG002
        rows = list(self._alive().rows.values())
        for start in range(0, len(rows), batch_size):
            yield rows[start : start + batch_size]

    def _count(self, source_id: str | None) -> int:
        return len(self._alive().rows) if source_id is None else len(self._ids(source_id))

    def _ids(self, source_id: str) -> set[str]:
        return {row.chunk_id for row in self._alive().rows.values() if row.source_id == source_id}

    def _source_ids(self) -> set[str]:
        return {row.source_id for row in self._alive().rows.values()}

    def _drop(self) -> None:
        with _collections_lock:
            if _collections.get(self._key) is self._collection:
                del _collections[self._key]

    def _alive(self) -> _Collection:
        if _collections.get(self._key) is not self._collection:
            raise StoreNotFoundError(f"collection {self.spec.name} was dropped")
        return self._collection

    def close(self) -> None:
        """Do nothing: the collection lives as long as the process."""
