"""What every collection of every store holds, per source; written after the rows, never before.

The manifest says what *should* be in a store. A row is only as good as the collection it speaks of: it names the
instance of the collection, so that a collection that was dropped and made again is not taken for the old one.

Before the rows of a noted source are touched, :meth:`Manifest.begin` takes the note back. A run that breaks off thus
leaves no note that could be right by chance, should the source become again what it was.
"""

import contextlib
import json
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from stackroom.stores.sqlite_file import connect, transaction, translated

_WAIT_SECONDS = 60.0
"""Several runs share the file; a write takes milliseconds."""

_TABLE = """
CREATE TABLE IF NOT EXISTS manifest (
    store TEXT NOT NULL, collection TEXT NOT NULL, source_id TEXT NOT NULL, fingerprint TEXT NOT NULL,
    chunk_ids TEXT NOT NULL, model TEXT NOT NULL, dimension INTEGER NOT NULL, instance TEXT NOT NULL,
    vectors TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (store, collection, source_id)
) WITHOUT ROWID;
"""
_COLUMNS = "store, collection, source_id, fingerprint, chunk_ids, model, dimension, instance, vectors"


@dataclass(frozen=True)
class ManifestRow:
    """What a collection holds of one source."""

    store: str
    """Store URI."""
    collection: str
    source_id: str
    fingerprint: str
    """Digest of everything the rows were made from; empty while they are being written."""
    chunk_ids: tuple[str, ...]
    model: str
    dimension: int
    instance: str = ""
    """Identity of the collection (:attr:`~stackroom.stores.base.VectorStore.instance`); empty if not noted."""
    vectors: str = ""
    """Digest of chunk ids and vectors alone; where it holds, only metadata may differ. Empty if not noted."""


@dataclass(frozen=True)
class Comparison:
    """How a collection differs from what it should hold; sources in order."""

    missing: tuple[str, ...]
    """Wanted, and not noted as stored."""
    outdated: tuple[str, ...]
    """Stored from something else than what is wanted now."""
    surplus: tuple[str, ...]
    """Stored, and not wanted any more."""

    @property
    def agrees(self) -> bool:
        """There is nothing to do."""
        return not (self.missing or self.outdated or self.surplus)


def compare(wanted: Mapping[str, str], recorded: Mapping[str, str]) -> Comparison:
    """Compare fingerprints by source id: what should be stored, and what is noted as stored."""
    return Comparison(
        missing=tuple(sorted(wanted.keys() - recorded.keys())),
        outdated=tuple(sorted(key for key in wanted.keys() & recorded.keys() if wanted[key] != recorded[key])),
        surplus=tuple(sorted(recorded.keys() - wanted.keys())),
    )


class Manifest:
    """The manifest file; may be used by several threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection = connect(path, _TABLE, _WAIT_SECONDS)
        self._add_column()

    def _add_column(self) -> None:
        """Add the column that manifests of earlier versions do not have."""
        with self._used() as connection:
            if "vectors" in _column_names(connection):
                return
            with transaction(connection, self._path, write=True):
                if "vectors" not in _column_names(connection):  # another process may have been faster
                    connection.execute("ALTER TABLE manifest ADD COLUMN vectors TEXT NOT NULL DEFAULT ''")

    def __enter__(self) -> Self:
        """Return the manifest itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def get(self, store: str, collection: str, source_id: str, instance: str | None = None) -> ManifestRow | None:
        """Return what is noted for a source.

        Args:
            store: store URI.
            collection: collection name.
            source_id: the source.
            instance: identity of the collection as it is now; a note made for another one counts as none.
        """
        for row in self._rows("AND source_id = ?", (store, collection, source_id)):
            if instance is None or row.instance == instance:
                return row
        return None

    def rows(self, store: str, collection: str) -> Iterator[ManifestRow]:
        """Yield everything noted for a collection, ordered by source id."""
        yield from self._rows("ORDER BY source_id", (store, collection))

    def sources(self, store: str, collection: str) -> dict[str, str]:
        """Return the fingerprint noted for each source of a collection."""
        query = "SELECT source_id, fingerprint FROM manifest WHERE store = ? AND collection = ? ORDER BY source_id"
        with self._used() as connection:
            return dict(connection.execute(query, (store, collection)).fetchall())

    def collections(self) -> list[tuple[str, str, int]]:
        """Return store URI, collection name and number of sources of everything that is noted."""
        query = "SELECT store, collection, count(*) FROM manifest GROUP BY store, collection ORDER BY store, collection"
        with self._used() as connection:
            return connection.execute(query).fetchall()

    def put(self, row: ManifestRow) -> None:
        """Note what a collection holds of a source, in place of what was noted before."""
        values = {**vars(row), "chunk_ids": json.dumps(row.chunk_ids)}
        with self._used() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO manifest "
                "(store, collection, source_id, fingerprint, chunk_ids, model, dimension, instance, vectors) "
                "VALUES (:store, :collection, :source_id, :fingerprint, :chunk_ids, :model, :dimension, :instance, "
                ":vectors)",
                values,
            )

    def begin(self, store: str, collection: str, source_id: str, *, keeps_vectors: bool) -> None:
        """Note, before the first row is written, that what is stored of a source is no longer what was noted.

        Args:
            store: store URI.
            collection: collection name.
            source_id: the source; one that is not noted stays so.
            keeps_vectors: only metadata are about to change.
        """
        kept = "vectors" if keeps_vectors else "''"
        query = (
            f"UPDATE manifest SET fingerprint = '', vectors = {kept} "  # noqa: S608 - one of two constants
            "WHERE store = ? AND collection = ? AND source_id = ?"
        )
        with self._used() as connection:
            connection.execute(query, (store, collection, source_id))

    def delete(self, store: str, collection: str, source_id: str) -> bool:
        """Forget a source of a collection; returns whether there was anything to forget."""
        query = "DELETE FROM manifest WHERE store = ? AND collection = ? AND source_id = ?"
        with self._used() as connection:
            return connection.execute(query, (store, collection, source_id)).rowcount > 0

    def delete_sources(self, store: str, collection: str, source_ids: Iterable[str]) -> None:
        """Forget some sources of a collection in one transaction."""
        query = "DELETE FROM manifest WHERE store = ? AND collection = ? AND source_id = ?"
        with self._used() as connection, transaction(connection, self._path, write=True):
            connection.executemany(query, [(store, collection, source_id) for source_id in source_ids])

    def delete_collection(self, store: str, collection: str) -> int:
        """Forget a collection and return how many sources were noted for it."""
        query = "DELETE FROM manifest WHERE store = ? AND collection = ?"
        with self._used() as connection:
            return connection.execute(query, (store, collection)).rowcount

    def _rows(self, clause: str, values: Collection[str]) -> list[ManifestRow]:
        query = (
            f"SELECT {_COLUMNS} FROM manifest "  # noqa: S608 - no text of users
            f"WHERE store = ? AND collection = ? {clause}"
        )
        with self._used() as connection:
            found = connection.execute(query, tuple(values)).fetchall()
        return [
            ManifestRow(store, name, source_id, digest, tuple(json.loads(ids)), model, dimension, instance, vectors)
            for store, name, source_id, digest, ids, model, dimension, instance, vectors in found
        ]

    @contextlib.contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translated(self._path):
            yield self._connection


def _column_names(connection: sqlite3.Connection) -> set[str]:
    return {name for _, name, *_ in connection.execute("PRAGMA table_info(manifest)")}
