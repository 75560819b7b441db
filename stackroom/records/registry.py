"""The registry of records: which file says what, and what every collection holds. One SQLite file for all record sets.

A record that stands in several files is stored once, from the file that is last by name (as in one file the last line
wins). The registry answers which records a file *owns* in that sense, and which files have to be looked at again when
another one changes or goes. What collections hold is noted after it was written, and read to skip unchanged records.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stackroom.records.prepare import PreparedRecord
from stackroom.stores.sqlite_file import connect, transaction

_WAIT_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
  record_set TEXT NOT NULL, file TEXT NOT NULL, record_id TEXT NOT NULL, doc_id TEXT NOT NULL, label TEXT NOT NULL,
  PRIMARY KEY (record_set, file, record_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_by_id ON records (record_set, record_id, file);
CREATE TABLE IF NOT EXISTS stored (
  store TEXT NOT NULL, collection TEXT NOT NULL, file TEXT NOT NULL, record_id TEXT NOT NULL, digest TEXT NOT NULL,
  PRIMARY KEY (store, collection, file, record_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS collections (
  record_set TEXT NOT NULL, store TEXT NOT NULL, collection TEXT NOT NULL, label TEXT NOT NULL, doc_type TEXT NOT NULL,
  model TEXT NOT NULL, PRIMARY KEY (record_set, store, collection)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class KnownCollection:
    """A collection that records of a set were written to."""

    store: str
    collection: str
    label: str
    doc_type: str
    model: str


class Registry:
    """The registry file; opening it creates it. Safe for several processes and threads."""

    def __init__(self, path: Path) -> None:
        """Open or create the registry.

        Raises:
            StoreError: the file cannot be used.
        """
        self._path = path
        self._lock = threading.Lock()
        self._connection = connect(path, _SCHEMA, _WAIT_SECONDS)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def put_file(self, record_set: str, file: str, records: Iterable[PreparedRecord]) -> None:
        """Note what a file holds, in place of what it held before."""
        rows = [(record_set, file, record.record_id, record.doc_id, record.label) for record in records]
        with self._used(write=True) as db:
            db.execute("DELETE FROM records WHERE record_set=? AND file=?", (record_set, file))
            db.executemany("INSERT INTO records VALUES (?,?,?,?,?)", rows)

    def forget_file(self, record_set: str, file: str) -> None:
        """Forget what a file holds."""
        self.put_file(record_set, file, ())

    def forget_set(self, record_set: str) -> None:
        """Forget a record set, and what is noted of collections that no other has written to."""
        own = (
            "SELECT store, collection FROM collections GROUP BY store, collection "
            "HAVING count(*)=1 AND min(record_set)=?"
        )
        with self._used(write=True) as db:
            db.execute(f"DELETE FROM stored WHERE (store, collection) IN ({own})", (record_set,))  # noqa: S608 - ours
            db.execute("DELETE FROM collections WHERE record_set=?", (record_set,))
            db.execute("DELETE FROM records WHERE record_set=?", (record_set,))

    def count(self, record_set: str, file: str) -> int:
        """Return how many records a file holds."""
        with self._used() as db:
            query = "SELECT count(*) FROM records WHERE record_set=? AND file=?"
            return int(db.execute(query, (record_set, file)).fetchone()[0])

    def owned(self, record_set: str, file: str) -> set[str]:
        """Return the ids of the records of a file that no later file holds as well."""
        query = (
            "SELECT record_id FROM records AS r WHERE record_set=? AND file=? AND NOT EXISTS (SELECT 1 FROM records AS "
            "o WHERE o.record_set=r.record_set AND o.record_id=r.record_id AND o.file>r.file)"
        )
        with self._used() as db:
            return {row[0] for row in db.execute(query, (record_set, file))}

    def neighbours(self, record_set: str, file: str) -> list[str]:
        """Return the other files that hold a record which this file holds, or which is stored from it."""
        query = (
            "WITH mine AS (SELECT record_id FROM records WHERE record_set=:set AND file=:file UNION SELECT record_id "
            "FROM stored NATURAL JOIN (SELECT store, collection FROM collections WHERE record_set=:set) "
            "WHERE file=:file) SELECT DISTINCT o.file FROM mine JOIN records AS o ON o.record_set=:set AND "
            "o.record_id=mine.record_id WHERE o.file<>:file ORDER BY o.file"
        )
        with self._used() as db:
            return [row[0] for row in db.execute(query, {"set": record_set, "file": file})]

    def shared(self, record_set: str, most: int = 50) -> list[tuple[str, list[str]]]:
        """Return record ids that stand in several files, with those files in order."""
        query = (
            "SELECT record_id, group_concat(file, char(10)) FROM (SELECT record_id, file FROM records WHERE "
            "record_set=? ORDER BY record_id, file) GROUP BY record_id HAVING count(*)>1 LIMIT ?"
        )
        with self._used() as db:
            return [(record, files.split("\n")) for record, files in db.execute(query, (record_set, most))]

    def add_collection(self, record_set: str, known: KnownCollection) -> None:
        """Note a collection before anything is written to it."""
        values = (record_set, known.store, known.collection, known.label, known.doc_type, known.model)
        with self._used(write=True) as db:
            db.execute("INSERT OR REPLACE INTO collections VALUES (?,?,?,?,?,?)", values)

    def collections(self, record_set: str, store: str | None = None) -> list[KnownCollection]:
        """Return the collections of a record set, in order of their labels; of one store, or of all."""
        query = (
            "SELECT store, collection, label, doc_type, model FROM collections WHERE record_set=? "
            "AND (? IS NULL OR store=?) ORDER BY label, collection"
        )
        with self._used() as db:
            return [KnownCollection(*row) for row in db.execute(query, (record_set, store, store))]

    def sets_of(self, store: str, collection: str) -> list[str]:
        """Return the record sets that have written to a collection."""
        with self._used() as db:
            query = "SELECT record_set FROM collections WHERE store=? AND collection=?"
            return [row[0] for row in db.execute(query, (store, collection))]

    def stored(self, store: str, collection: str, file: str) -> dict[str, str]:
        """Return what is noted as stored of a file: digest by record id."""
        query = "SELECT record_id, digest FROM stored WHERE store=? AND collection=? AND file=?"
        with self._used() as db:
            return dict(db.execute(query, (store, collection, file)).fetchall())

    def set_stored(self, store: str, collection: str, file: str, digests: Mapping[str, str]) -> None:
        """Note what is stored of a file, in place of what was noted before."""
        rows = [(store, collection, file, record_id, digest) for record_id, digest in digests.items()]
        with self._used(write=True) as db:
            db.execute("DELETE FROM stored WHERE store=? AND collection=? AND file=?", (store, collection, file))
            db.executemany("INSERT INTO stored VALUES (?,?,?,?,?)", rows)

    def counts(self, store: str, collections: Sequence[str]) -> dict[str, int]:
        """Return how many records are noted as stored in some collections."""
        query = "SELECT count(*) FROM stored WHERE store=? AND collection=?"
        with self._used() as db:
            return {name: int(db.execute(query, (store, name)).fetchone()[0]) for name in collections}

    @contextmanager
    def _used(self, write: bool = False) -> Iterator[sqlite3.Connection]:
        with self._lock, transaction(self._connection, self._path, write=write):
            yield self._connection
