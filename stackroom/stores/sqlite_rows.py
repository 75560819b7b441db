"""The rows of collections in a SQLite database: texts, metadata and vectors, and the versions in which they changed.

Used by the SQLite store, and by Chroma folders for a copy that answers filters. Every writing call makes a new version
of its collection; what is held in memory follows by asking for what changed since the version it knows.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.stores.collection import Identity

TABLES = """
CREATE TABLE IF NOT EXISTS collections (
    collection INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, corpus TEXT NOT NULL, model TEXT NOT NULL,
    dimension INTEGER NOT NULL, instance TEXT NOT NULL, schema INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 0, deleted_in INTEGER NOT NULL DEFAULT 0,
    in_step INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY, collection INTEGER NOT NULL, chunk_id TEXT NOT NULL, source_id TEXT NOT NULL,
    changed_in INTEGER NOT NULL, vector_in INTEGER NOT NULL, metadata TEXT NOT NULL, text TEXT NOT NULL,
    UNIQUE (collection, chunk_id)
);
CREATE INDEX IF NOT EXISTS rows_by_source ON rows (collection, source_id);
CREATE INDEX IF NOT EXISTS rows_by_change ON rows (collection, changed_in, vector_in);
CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS cells (
    collection INTEGER NOT NULL, field TEXT NOT NULL, number INTEGER NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (collection, field, number)
) WITHOUT ROWID;
"""

Rows = np.ndarray
"""Row numbers, (n,) int64, without repetition."""

_IN_A_STATEMENT = 500
"""Values bound in one statement; SQLite's own limit was 999 for a long time."""


class Version(NamedTuple):
    """How often a collection was changed."""

    version: int
    deleted_in: int
    """The last version in which rows were deleted."""


def make_collection(connection: sqlite3.Connection, name: str, identity: Identity) -> int:
    """Enter a collection and return its number, which no collection ever had before."""
    made = connection.execute(
        "INSERT INTO collections (name, corpus, model, dimension, instance, schema) "
        "VALUES (:name, :corpus, :model, :dimension, :instance, :schema)",
        {"name": name, **vars(identity)},
    )
    return int(made.lastrowid or 0)


class RowTable:
    """The rows of one collection. Transactions are the owner's business."""

    def __init__(self, connection: sqlite3.Connection, collection: int) -> None:
        self.collection = collection
        self._connection = connection

    def version(self) -> Version | None:
        """Return the version of the collection; None if it is gone."""
        query = "SELECT version, deleted_in FROM collections WHERE collection = ?"
        found = self._connection.execute(query, (self.collection,)).fetchone()
        return None if found is None else Version(*found)

    def _next_version(self, deletes: bool = False) -> int:
        column = ", deleted_in = version + 1" if deletes else ""
        statement = f"UPDATE collections SET version = version + 1{column} WHERE collection = ? RETURNING version"  # noqa: S608
        return int(self._connection.execute(statement, (self.collection,)).fetchall()[0][0])

    def write(self, rows: Sequence[StoredRow], vectors: bool = True) -> dict[str, int]:
        """Insert or replace rows, with their vectors unless these are kept elsewhere; return the rows' numbers."""
        version = self._next_version()
        self._forget_cells(rows)
        self._connection.executemany(
            "INSERT INTO rows (collection, chunk_id, source_id, changed_in, vector_in, metadata, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collection, chunk_id) DO UPDATE SET source_id = "
            "excluded.source_id, changed_in = excluded.changed_in, vector_in = excluded.vector_in, "
            "metadata = excluded.metadata, text = excluded.text",
            [
                (self.collection, r.chunk_id, r.source_id, version, version, json.dumps(dict(r.metadata)), r.text)
                for r in rows
            ],
        )
        numbers = self._write_cells(rows)
        self._connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            [(numbers[row.chunk_id], np.asarray(row.vector, dtype=np.float32).tobytes()) for row in rows if vectors],
        )
        return numbers

    def rewrite(self, rows: Sequence[StoredRow]) -> None:
        """Replace text and metadata of stored rows; their vectors stay."""
        version = self._next_version()
        self._forget_cells(rows)
        self._connection.executemany(
            "UPDATE rows SET metadata = ?, text = ?, changed_in = ? WHERE collection = ? AND chunk_id = ?",
            [(json.dumps(dict(row.metadata)), row.text, version, self.collection, row.chunk_id) for row in rows],
        )
        self._write_cells(rows)

    def _write_cells(self, rows: Sequence[StoredRow]) -> dict[str, int]:
        """Enter the metadata of rows field by field, and return the rows' numbers."""
        numbers = self.numbers_of([row.chunk_id for row in rows])
        self._connection.executemany(
            "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)",
            [
                (self.collection, field, numbers[row.chunk_id], json.dumps(value))
                for row in rows
                for field, value in row.metadata.items()
            ],
        )
        return numbers

    def _forget_cells(self, rows: Sequence[StoredRow]) -> None:
        """Take out the cells of fields that stored rows have and will not have any more."""
        kept = {row.chunk_id: row.metadata.keys() for row in rows}
        query = "SELECT chunk_id, number, metadata FROM rows WHERE collection = ? AND chunk_id IN ({})"
        self._delete_cells(
            (field, number)
            for chunk_id, number, metadata in self._in_parts(query, list(kept))
            for field in json.loads(metadata).keys() - kept[chunk_id]
        )

    def _delete_cells(self, places: Iterator[tuple[str, int]]) -> None:
        self._connection.executemany(
            "DELETE FROM cells WHERE collection = ? AND field = ? AND number = ?",
            [(self.collection, field, number) for field, number in places],
        )

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete rows; ids that are not there are ignored."""
        self._next_version(deletes=True)
        query = "SELECT number, metadata FROM rows WHERE collection = ? AND chunk_id IN ({})"
        found = list(self._in_parts(query, chunk_ids))
        self._delete_cells((field, number) for number, metadata in found for field in json.loads(metadata))
        numbers = [(number,) for number, _ in found]
        self._connection.executemany("DELETE FROM vectors WHERE number = ?", numbers)
        self._connection.executemany("DELETE FROM rows WHERE number = ?", numbers)

    def clear(self) -> None:
        """Delete all rows."""
        self._next_version(deletes=True)
        self._connection.execute(
            "DELETE FROM vectors WHERE number IN (SELECT number FROM rows WHERE collection = ?)", (self.collection,)
        )
        self._connection.execute("DELETE FROM cells WHERE collection = ?", (self.collection,))
        self._connection.execute("DELETE FROM rows WHERE collection = ?", (self.collection,))

    def count(self, source_id: str | None) -> int:
        """Return the number of rows, in all or of one source."""
        clause, values = ("", ()) if source_id is None else (" AND source_id = ?", (source_id,))
        query = f"SELECT count(*) FROM rows WHERE collection = ?{clause}"  # noqa: S608
        return int(self._connection.execute(query, (self.collection, *values)).fetchone()[0])

    def last_number(self) -> int:
        """Return the highest row number; -1 if there are no rows."""
        query = "SELECT coalesce(max(number), -1) FROM rows WHERE collection = ?"
        return int(self._connection.execute(query, (self.collection,)).fetchone()[0])

    def ids(self, source_id: str) -> set[str]:
        """Return the chunk ids of a source."""
        query = "SELECT chunk_id FROM rows WHERE collection = ? AND source_id = ?"
        return {row[0] for row in self._connection.execute(query, (self.collection, source_id))}

    def source_ids(self) -> set[str]:
        """Return all source ids."""
        query = "SELECT DISTINCT source_id FROM rows WHERE collection = ?"
        return {row[0] for row in self._connection.execute(query, (self.collection,))}

    def numbers_since(self, version: int) -> Rows:
        """Return the numbers of rows changed after a version (0 for all)."""
        query = "SELECT number FROM rows WHERE collection = ? AND changed_in > ?"
        found = self._connection.execute(query, (self.collection, version)).fetchall()
        return np.array([number for (number,) in found], dtype=np.int64)

    def cells_since(self, field: str, version: int) -> list[tuple[int, str]]:
        """Return row number and value (as JSON) of a field, for rows changed after a version (0 for all)."""
        if not version:
            query = "SELECT number, value FROM cells WHERE collection = ? AND field = ?"
            return self._connection.execute(query, (self.collection, field)).fetchall()
        query = (
            "SELECT cells.number, value FROM rows JOIN cells ON cells.collection = rows.collection AND "
            "cells.number = rows.number WHERE rows.collection = ? AND field = ? AND changed_in > ?"
        )
        return self._connection.execute(query, (self.collection, field, version)).fetchall()

    def vectors_since(self, version: int) -> tuple[Rows, np.ndarray]:
        """Return vectors changed after a version (0 for all): numbers (n,) and (n, dimension) float32."""
        query = (
            "SELECT number, vector FROM rows JOIN vectors USING (number) WHERE collection = ? AND changed_in > ? AND "
            "vector_in > ?"
        )
        found = self._connection.execute(query, (self.collection, version, version)).fetchall()
        vectors = np.frombuffer(b"".join(vector for _, vector in found), dtype=np.float32)
        numbers = np.array([number for number, _ in found], dtype=np.int64)
        return numbers, vectors.reshape(len(found), len(vectors) // max(1, len(found)))

    def chunk_ids(self, numbers: Sequence[int]) -> list[str]:
        """Return the chunk ids of rows, in no particular order."""
        # Without the plus SQLite would go through all rows of the collection by its index, for want of statistics.
        query = "SELECT chunk_id FROM rows WHERE +collection = ? AND number IN ({})"
        return [row[0] for row in self._in_parts(query, numbers)]

    def numbers_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Return the row numbers of chunk ids that are there."""
        query = "SELECT chunk_id, number FROM rows WHERE collection = ? AND chunk_id IN ({})"
        return dict(self._in_parts(query, chunk_ids))

    def read(self, numbers: Sequence[int]) -> list[StoredRow]:
        """Return rows with their vectors, in no particular order."""
        return [
            StoredRow(chunk_id, source_id, text, json.loads(metadata), np.frombuffer(vector, dtype=np.float32))
            for chunk_id, source_id, text, metadata, vector in self._in_parts(
                "SELECT chunk_id, source_id, text, metadata, vector FROM rows JOIN vectors USING (number) "
                "WHERE +collection = ? AND number IN ({})",
                numbers,
            )
        ]

    def _in_parts(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        for part in _parts(values):
            statement = query.format(_marks(part))
            yield from self._connection.execute(statement, (self.collection, *part)).fetchall()


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _IN_A_STATEMENT):
        yield values[start : start + _IN_A_STATEMENT]


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))
