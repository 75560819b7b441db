"""The rows of collections in a SQLite database: texts, metadata, vectors, and a table of metadata values for filters.

Every metadata value is one entry of ``metadata_values``, ordered by field, kind and value, so that a clause of a
filter is one range of that table; clauses are combined as sets of row numbers. This answers filters exactly, for it
compares as the evaluator does: by kind, numbers as numbers, texts by code point.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stackroom.artefacts import MetadataValue, StoredRow
from stackroom.stores.filter_language import (
    LIST_OPERATORS,
    ORDER_OPERATORS,
    is_portable,
    kind_of,
    value_matches,
)

TABLES = """
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
CREATE TABLE IF NOT EXISTS metadata_values (
    collection INTEGER NOT NULL, field TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (collection, field, kind, value, number)
) WITHOUT ROWID;
"""

_SYMBOLS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_IN_A_STATEMENT = 500
"""Values bound in one statement; SQLite's own limit was 999 for a long time."""

Rows = np.ndarray
"""Row numbers, (n,) int64, ascending, without repetition."""


class RowTable:
    """The rows of one collection. Transactions are the owner's business."""

    def __init__(self, connection: sqlite3.Connection, collection: int) -> None:
        self._connection = connection
        self._collection = collection

    def write(self, rows: Sequence[StoredRow], version: int) -> None:
        """Insert or replace rows with their vectors, noting the version in which they changed."""
        self._forget_values([row.chunk_id for row in rows])
        self._connection.executemany(
            "INSERT INTO rows (collection, chunk_id, source_id, changed_in, metadata, text) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (collection, chunk_id) DO UPDATE SET source_id = excluded.source_id, "
            "changed_in = excluded.changed_in, metadata = excluded.metadata, text = excluded.text",
            [(self._collection, r.chunk_id, r.source_id, version, json.dumps(dict(r.metadata)), r.text) for r in rows],
        )
        numbers = self.numbers([row.chunk_id for row in rows])
        self._connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            [(numbers[row.chunk_id], np.asarray(row.vector, dtype=np.float32).tobytes()) for row in rows],
        )
        self._note_values(rows, numbers)

    def rewrite(self, rows: Sequence[StoredRow]) -> None:
        """Replace text and metadata of stored rows; their vectors, and the version in which these changed, stay."""
        ids = [row.chunk_id for row in rows]
        self._forget_values(ids)
        self._connection.executemany(
            "UPDATE rows SET metadata = ?, text = ? WHERE collection = ? AND chunk_id = ?",
            [(json.dumps(dict(row.metadata)), row.text, self._collection, row.chunk_id) for row in rows],
        )
        self._note_values(rows, self.numbers(ids))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete rows; ids that are not there are ignored."""
        self._forget_values(chunk_ids)
        numbers = [(number,) for number in self.numbers(chunk_ids).values()]
        self._connection.executemany("DELETE FROM vectors WHERE number = ?", numbers)
        self._connection.executemany("DELETE FROM rows WHERE number = ?", numbers)

    def clear(self) -> None:
        """Delete all rows."""
        self._connection.execute(
            "DELETE FROM vectors WHERE number IN (SELECT number FROM rows WHERE collection = ?)", (self._collection,)
        )
        for table in ("metadata_values", "rows"):
            self._connection.execute(f"DELETE FROM {table} WHERE collection = ?", (self._collection,))  # noqa: S608

    def numbers(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Return the row numbers of chunk ids that are there."""
        query = "SELECT chunk_id, number FROM rows WHERE collection = ? AND chunk_id IN ({})"
        return dict(self._in_parts(query, chunk_ids))

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
        return self._set("SELECT number FROM rows WHERE collection = ? ORDER BY number", (self._collection,))

    def changed_since(self, version: int) -> tuple[Rows, np.ndarray]:
        """Return the numbers and vectors of rows written after a version: (n,) int64 and (n, dimension) float32."""
        found = self._connection.execute(
            "SELECT number, vector FROM rows JOIN vectors USING (number) WHERE collection = ? AND changed_in > ?",
            (self._collection, version),
        ).fetchall()
        vectors = np.frombuffer(b"".join(vector for _, vector in found), dtype=np.float32)
        numbers = np.array([number for number, _ in found], dtype=np.int64)
        return numbers, vectors.reshape(len(found), len(vectors) // max(1, len(found)))

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

    def matching(self, canonical: Mapping[str, Any]) -> Rows:
        """Return the numbers of the rows that match a filter; exact."""
        ((key, condition),) = canonical.items()
        if key in ("$and", "$or"):
            combine: Callable[[Rows, Rows], Rows] = np.intersect1d if key == "$and" else np.union1d
            found = self.matching(condition[0])
            for member in condition[1:]:
                found = combine(found, self.matching(member))
            return found
        ((operator, operand),) = condition.items()
        return self._clause(key, operator, operand)

    def _clause(self, field: str, operator: str, operand: Any) -> Rows:
        operands = operand if operator in LIST_OPERATORS else [operand]
        if not all(is_portable(value) for value in [field, *operands]):
            return self._evaluated(field, operator, operand)
        if operator == "$contains":
            return self._containing(field, operand)
        if operator in ORDER_OPERATORS:
            if kind_of(operand) == "flag":
                return np.zeros(0, dtype=np.int64)
            return self._where(field, f"kind = ? AND value {_SYMBOLS[operator]} ?", (kind_of(operand), operand))
        equal = np.unique(np.concatenate([self._equal(field, operands, kind) for kind in ("text", "number", "flag")]))
        if operator in ("$eq", "$in"):
            return equal
        return np.setdiff1d(self._where(field, "kind <> 'list'", ()), equal, assume_unique=True)

    def _equal(self, field: str, operands: Sequence[Any], kind: str) -> Rows:
        wanted = [value for value in operands if kind_of(value) == kind]
        parts = [
            self._where(field, f"kind = ? AND value IN ({_marks(part)})", (kind, *part)) for part in _parts(wanted)
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def _containing(self, field: str, operand: Any) -> Rows:
        if not isinstance(operand, str):
            return np.zeros(0, dtype=np.int64)
        element = self._where(field, "kind = 'list' AND value = ?", (operand,))
        return np.union1d(element, self._where(field, "kind = 'text' AND instr(value, ?) > 0", (operand,)))

    def _evaluated(self, field: str, operator: str, operand: Any) -> Rows:
        """Let the evaluator judge every row's value; for operands that SQLite cannot be given exactly."""
        rows = self._connection.execute("SELECT number, metadata FROM rows WHERE collection = ?", (self._collection,))
        found = [
            number for number, metadata in rows if value_matches(json.loads(metadata).get(field), operator, operand)
        ]
        return np.unique(np.array(found, dtype=np.int64))

    def _where(self, field: str, condition: str, values: Sequence[Any]) -> Rows:
        query = f"SELECT number FROM metadata_values WHERE collection = ? AND field = ? AND {condition}"  # noqa: S608
        return np.unique(self._set(query, (self._collection, field, *values)))

    def _set(self, query: str, values: Sequence[Any]) -> Rows:
        return np.array([number for (number,) in self._connection.execute(query, values).fetchall()], dtype=np.int64)

    def _note_values(self, rows: Sequence[StoredRow], numbers: Mapping[str, int]) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO metadata_values VALUES (?, ?, ?, ?, ?)",
            [(self._collection, *entry, numbers[row.chunk_id]) for row in rows for entry in _entries(row.metadata)],
        )

    def _forget_values(self, chunk_ids: Sequence[str]) -> None:
        query = "SELECT number, metadata FROM rows WHERE collection = ? AND chunk_id IN ({})"
        self._connection.executemany(
            "DELETE FROM metadata_values WHERE collection = ? AND field = ? AND kind = ? AND value = ? AND number = ?",
            [
                (self._collection, *entry, number)
                for number, metadata in self._in_parts(query, chunk_ids)
                for entry in _entries(json.loads(metadata))
            ],
        )

    def _in_parts(self, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        for part in _parts(values):
            statement = query.format(_marks(part))
            yield from self._connection.execute(statement, (self._collection, *part)).fetchall()


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _IN_A_STATEMENT):
        yield values[start : start + _IN_A_STATEMENT]


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


def _entries(metadata: Mapping[str, MetadataValue]) -> Iterator[tuple[str, str, Any]]:
    """Yield (field, kind, value) for every value of a row's metadata; one for each element of a list."""
    for field, value in metadata.items():
        if isinstance(value, list):
            for element in value:
                yield field, "list", element
        else:
            yield field, kind_of(value), value
