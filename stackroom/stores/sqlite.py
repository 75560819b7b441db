"""``sqlite:/file.db``: one file, no server, exact answers; reads and writes from several processes.

Vectors are compared one by one in memory (:class:`~stackroom.stores.scan_index.ScanIndex`); the matrix is loaded once
and then follows the changes of this and other processes. SQLite's write-ahead log lets readers go on while one process
writes; a second writer waits.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreNotFoundError
from stackroom.stores.base import VectorStore
from stackroom.stores.collection import CollectionSpec, Found, Identity, missing
from stackroom.stores.filter_language import Canonical
from stackroom.stores.scan_index import ScanIndex
from stackroom.stores.sqlite_columns import FilterColumns
from stackroom.stores.sqlite_file import connect, transaction
from stackroom.stores.sqlite_rows import TABLES, RowTable, Version, make_collection


def open_collection(location: str, spec: CollectionSpec, create: bool, wait_seconds: float) -> "SqliteStore":
    """Open a collection in a file; see :func:`stackroom.stores.base.open_store`."""
    path = Path(location).expanduser()
    if not create and not path.is_file():
        raise StoreNotFoundError(f"{path} does not exist; `stackroom ingest` makes it")
    connection = connect(path, TABLES, wait_seconds)
    try:
        with transaction(connection, path, write=False):
            stored = _collection_row(connection, spec.name)
        if stored is None:  # only then is there anything to write, and to wait for
            stored = _make(connection, spec, create, path)
        identity = Identity.read(spec.name, stored)
        return SqliteStore(identity.admit(spec), path, connection, identity, int((stored or {})["collection"]))
    except BaseException:
        connection.close()
        raise


def _make(connection: sqlite3.Connection, spec: CollectionSpec, create: bool, path: Path) -> Mapping[str, Any] | None:
    if not create:
        raise missing(spec.name, str(path))
    with transaction(connection, path, write=True):
        if _collection_row(connection, spec.name) is None:
            make_collection(connection, spec.name, Identity.new(spec))
        return _collection_row(connection, spec.name)


def _collection_row(connection: sqlite3.Connection, name: str) -> Mapping[str, Any] | None:
    cursor = connection.execute("SELECT * FROM collections WHERE name = ?", (name,))
    row = cursor.fetchone()
    return None if row is None else dict(zip([column[0] for column in cursor.description], row, strict=True))


class SqliteStore(VectorStore):
    """A collection in a SQLite file."""

    backend = "sqlite"

    def __init__(
        self, spec: CollectionSpec, path: Path, connection: sqlite3.Connection, identity: Identity, collection: int
    ) -> None:
        super().__init__(spec)
        self._path = path
        self._connection = connection
        self._identity = identity
        self._collection = collection
        self._table = RowTable(connection, collection)
        self._index = ScanIndex(spec.dimension)
        self._columns = FilterColumns(self._table)
        self._seen = Version(0, 0)
        """Version that the matrix has followed."""

    @property
    def instance(self) -> str:
        """Identity of this very collection."""
        return self._identity.instance

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with transaction(self._connection, self._path, write=True):
            self._version()
            yield

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        with transaction(self._connection, self._path, write=False):
            self._version()
            yield

    def _version(self) -> Version:
        now = self._table.version()
        if now is None:
            raise StoreNotFoundError(f"collection {self.spec.name} was dropped from {self._path}")
        return now

    def _follow(self) -> None:
        """Bring the matrix up to what the transaction sees."""
        now = self._version()
        if now == self._seen:
            return
        if now.deleted_in != self._seen.deleted_in:
            self._index.drop(np.setdiff1d(self._index.rows, self._table.numbers_since(0)))
        self._index.put(*self._table.vectors_since(self._seen.version))
        self._seen = now

    def _write(self, rows: Sequence[StoredRow]) -> None:
        self._table.write(rows)

    def _rewrite(self, rows: Sequence[StoredRow]) -> None:
        self._table.rewrite(rows)

    def _delete(self, ids: Sequence[str]) -> None:
        self._table.delete(ids)

    def _search(self, unit: np.ndarray, n: int, canonical: Canonical | None) -> Found:
        self._follow()
        among = None if canonical is None else self._columns.matching(canonical)
        nearest = self._index.nearest(unit, n, among)
        return Found(self._table.read([int(number) for number in nearest]), complete=True)

    def _scan(self, canonical: Canonical | None, batch_size: int) -> Iterator[list[StoredRow]]:
        numbers = self._table.numbers_since(0) if canonical is None else self._columns.matching(canonical)
        for start in range(0, len(numbers), batch_size):
            yield self._table.read([int(number) for number in numbers[start : start + batch_size]])

    def _count(self, source_id: str | None) -> int:
        return self._table.count(source_id)

    def _ids(self, source_id: str) -> set[str]:
        return self._table.ids(source_id)

    def _source_ids(self) -> set[str]:
        return self._table.source_ids()

    def _drop(self) -> None:
        self._table.clear()
        self._connection.execute("DELETE FROM collections WHERE collection = ?", (self._collection,))

    def _details(self) -> Mapping[str, Any]:
        return {"file": str(self._path), "file_mb": round(self._path.stat().st_size / 2**20, 1)}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
