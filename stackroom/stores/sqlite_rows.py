"""The rows of collections in a SQLite database: texts, metadata and vectors.

Used by the SQLite store, and by Chroma folders for a copy that answers filters.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.stores.sqlite_values import TABLE as VALUES_TABLE
from stackroom.stores.sqlite_values import Rows, ValueTable, marks, parts

TABLES = f"""
CREATE TABLE IF NOT EXISTS collections (
    collection INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, corpus TEXT NOT NULL, model TEXT NOT NULL,
    dimension INTEGER NOT NULL, instance TEXT NOT NULL, schema INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 0, deleted_in INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, chunk_id TEXT NOT NULL, source_id TEXT NOT NULL,
    changed_in INTEGER NOT NULL, metadata TEXT NOT NULL, text TEXT NOT NULL,
    UNIQUE (collection, chunk_id)
);
CREATE INDEX IF NOT EXISTS rows_by_source ON rows (collection, source_id);
CREATE INDEX IF NOT EXISTS rows_by_change ON rows (collection, changed_in);
CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, vector BLOB NOT NULL);
{VALUES_TABLE};
"""


class RowTable:
    """The rows of one collection. Transactions are the owner's business."""

    def __init__(self, connection: sqlite3.Connection, collection: int) -> None:
        self._connection = connection
        self._collection = collection
        self.values = ValueTable(connection, collection)

    def write(self, rows: Sequence[StoredRow], version: int) -> None:
        """Insert or replace rows with their vectors, noting the version in which they changed."""
        ids = [row.chunk_id for row in rows]
        self.values.remove(self._metadata(ids))
        self._connection.executemany(
            "INSERT INTO rows (collection, chunk_id, source_id, changed_in, metadata, text) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (collection, chunk_id) DO UPDATE SET source_id = excluded.source_id, "
            "changed_in = excluded.changed_in, metadata = excluded.metadata, text = excluded.text",
            [(self._collection, r.chunk_id, r.source_id, version, json.dumps(dict(r.metadata)), r.text) for r in rows],
        )
        numbers = self.numbers(ids)
        self._connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            [(numbers[row.chunk_id], np.asarray(row.vector, dtype=np.float32).tobytes()) for row in rows],
        )
        self.values.add({numbers[row.chunk_id]: row.metadata for row in rows})

    def rewrite(self, rows: Sequence[StoredRow]) -> None:
        """Replace text and metadata of stored rows; their vectors, and the version in which these changed, stay."""
        ids = [row.chunk_id for row in rows]
        self.values.remove(self._metadata(ids))
        self._connection.executemany(
            "UPDATE rows SET metadata = ?, text = ? WHERE collection = ? AND chunk_id = ?",
            [(json.dumps(dict(row.metadata)), row.text, self._collection, row.chunk_id) for row in rows],
        )
        numbers = self.numbers(ids)
        self.values.add({numbers[row.chunk_id]: row.metadata for row in rows})

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete rows; ids that are not there are ignored."""
        metadata = self._metadata(chunk_ids)
        self.values.remove(metadata)
        numbers = [(number,) for number in metadata]
        self._connection.executemany("DELETE FROM vectors WHERE number = ?", numbers)
        self._connection.executemany("DELETE FROM rows WHERE number = ?", numbers)

    def clear(self) -> None:
        """Delete all rows."""
        self.values.clear()
        self._connection.execute(
            "DELETE FROM vectors WHERE number IN (SELECT number FROM rows WHERE collection = ?)", (self._collection,)
        )
        self._connection.execute("DELETE FROM rows WHERE collection = ?", (self._collection,))

    def numbers(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Return the row numbers of chunk ids that are there."""
        query = "SELECT chunk_id, number FROM rows WHERE collection = ? AND chunk_id IN ({})"
        return dict(self._in_parts(query, chunk_ids))

    def chunk_ids(self, numbers: Sequence[int]) -> list[str]:
        """Return the chunk ids of rows, in no particular order."""
        query = "SELECT chunk_id FROM rows WHERE collection = ? AND number IN ({})"
        return [row[0] for row in self._in_parts(query, numbers)]

    def metadata(self, chunk_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the metadata of rows by chunk id."""
        query = "SELECT chunk_id, metadata FROM rows WHERE collection = ? AND chunk_id IN ({})"
        return {chunk_id: json.loads(metadata) for chunk_id, metadata in self._in_parts(query, chunk_ids)}

    def count(self, source_id: str | None) -> int:
        """Return the number of rows, in all or of one source."""
        clause, values = ("", ()) if source_id is None else (" AND source_id = ?", (source_id,))
        query = f"SELECT count(*) FROM rows WHERE collection = ?{clause}"  # noqa: S608
        return int(self._connection.execute(query, (self._collection, *values)).fetchone()[0])

    def ids(self, source_id: str) -> set[str]:
        """Return the chunk ids of a source."""
        query = "SELECT chunk_id FROM rows WHERE collection = ? AND source_id = ?"
        return {row[0] for row in self._connection.execute(query, (self._collection, source_id))}

    def source_ids(self) -> set[str]:
        """Return all source ids."""
        query = "SELECT DISTINCT source_id FROM rows WHERE collection = ?"
        return {row[0] for row in self._connection.execute(query, (self._collection,))}

    def all_numbers(self) -> Rows:
        """Return all row numbers."""
        query = "SELECT number FROM rows WHERE collection = ? ORDER BY number"
        found = self._connection.execute(query, (self._collection,)).fetchall()
        return np.array([number for (number,) in found], dtype=np.int64)

    def changed_since(self, version: int) -> tuple[Rows, np.ndarray]:
        """Return the numbers and vectors of rows written after a version: (n,) int64 and (n, dimension) float32."""
        found = self._connection.execute(
            "SELECT number, vector FROM rows JOIN vectors USING (number) WHERE collection = ? AND changed_in > ?",
            (self._collection, version),
        )
        return _matrix(found.fetchall())

    def vectors(self, numbers: Sequence[int]) -> tuple[Rows, np.ndarray]:
        """Return the vectors of rows: their numbers, (n,) int64, and (n, dimension) float32, in the same order."""
        found: list[tuple[Any, ...]] = []
        for part in parts(numbers):
            query = f"SELECT number, vector FROM vectors WHERE number IN ({marks(part)})"  # noqa: S608
            found += self._connection.execute(query, part).fetchall()
        return _matrix(found)

    def read(self, numbers: Sequence[int]) -> list[StoredRow]:
        """Return rows with their vectors, in no particular order."""
        return [
            StoredRow(chunk_id, source_id, text, json.loads(metadata), np.frombuffer(vector, dtype=np.float32))
            for chunk_id, source_id, text, metadata, vector in self._in_parts(
                "SELECT chunk_id, source_id, text, metadata, vector FROM rows JOIN vectors USING (number) "
                "WHERE collection = ? AND number IN ({})",
                numbers,
            )
        ]

    def _metadata(self, chunk_ids: Sequence[str]) -> Mapping[int, dict[str, Any]]:
        query = "SELECT number, metadata FROM rows WHERE collection = ? AND chunk_id IN ({})"
        return {number: json.loads(metadata) for number, metadata in self._in_parts(query, chunk_ids)}

    def _in_parts(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        for part in parts(values):
            statement = query.format(marks(part))
            yield from self._connection.execute(statement, (self._collection, *part)).fetchall()


def _matrix(found: Sequence[tuple[Any, ...]]) -> tuple[Rows, np.ndarray]:
    vectors = np.frombuffer(b"".join(vector for _, vector in found), dtype=np.float32)
    numbers = np.array([number for number, _ in found], dtype=np.int64)
    return numbers, vectors.reshape(len(found), len(vectors) // max(1, len(found)))
