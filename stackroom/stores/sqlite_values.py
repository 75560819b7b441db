"""Metadata values in a SQLite table, ordered so that a clause of a filter is one range of it; exact.

Every value of a row is one entry (field, kind, value, row number); a list gives one entry for each element. Clauses are
answered as sets of row numbers and combined as such. SQLite compares as the evaluator does: the kind is a column,
numbers compare as numbers, texts by their bytes, which in UTF-8 is the order of code points.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stackroom.artefacts import MetadataValue
from stackroom.stores.filter_language import LIST_OPERATORS, ORDER_OPERATORS, is_portable, kind_of, value_matches

TABLE = """
CREATE TABLE IF NOT EXISTS metadata_values (
    collection INTEGER NOT NULL, field TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (collection, field, kind, value, number)
) WITHOUT ROWID
"""

Rows = np.ndarray
"""Row numbers, (n,) int64, ascending, without repetition."""

_SYMBOLS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_IN_A_STATEMENT = 500
"""Values bound in one statement; SQLite's own limit was 999 for a long time."""
_KINDS = ("text", "number", "flag")


class ValueTable:
    """The metadata values of one collection. Transactions are the owner's business."""

    def __init__(self, connection: sqlite3.Connection, collection: int) -> None:
        self._connection = connection
        self._collection = collection

    def add(self, metadata_of: Mapping[int, Mapping[str, MetadataValue]]) -> None:
        """Enter the values of rows, given by row number."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO metadata_values VALUES (?, ?, ?, ?, ?)", self._entries(metadata_of)
        )

    def remove(self, metadata_of: Mapping[int, Mapping[str, MetadataValue]]) -> None:
        """Take out the values of rows, which must be those that were entered."""
        self._connection.executemany(
            "DELETE FROM metadata_values WHERE collection = ? AND field = ? AND kind = ? AND value = ? AND number = ?",
            self._entries(metadata_of),
        )

    def clear(self) -> None:
        """Take out everything."""
        self._connection.execute("DELETE FROM metadata_values WHERE collection = ?", (self._collection,))

    def matching(self, canonical: Mapping[str, Any]) -> Rows:
        """Return the numbers of the rows that match a filter."""
        ((key, condition),) = canonical.items()
        if key in ("$and", "$or"):
            combine: Callable[[Rows, Rows], Rows] = np.intersect1d if key == "$and" else np.union1d
            found = self.matching(condition[0])
            for member in condition[1:]:
                found = combine(found, self.matching(member))
            return found
        ((operator, operand),) = condition.items()
        return self._clause(key, operator, operand)

    def at_most(self, canonical: Mapping[str, Any], limit: int) -> int:
        """Return a number of rows that no fewer than match a filter, counting no further than ``limit``."""
        ((key, condition),) = canonical.items()
        if key == "$and":
            return min(self.at_most(member, limit) for member in condition)
        if key == "$or":
            return min(limit, sum(self.at_most(member, limit) for member in condition))
        ((operator, operand),) = condition.items()
        if operator in ("$ne", "$nin") or not is_portable(key):
            return limit
        return self._clause_at_most(key, operator, operand, limit)

    def _clause_at_most(self, field: str, operator: str, operand: Any, limit: int) -> int:
        total = 0
        for clause, values in self._conditions(field, operator, operand) or [("1", ())]:
            query = (
                f"SELECT count(*) FROM (SELECT 1 FROM metadata_values WHERE collection = ? AND field = ? AND {clause} "  # noqa: S608
                "LIMIT ?)"
            )
            found = self._connection.execute(query, (self._collection, field, *values, limit)).fetchone()
            total += int(found[0])
        return min(limit, total)

    def _clause(self, field: str, operator: str, operand: Any) -> Rows:
        conditions = self._conditions(field, operator, operand)
        if conditions is None:
            return self._evaluated(field, operator, operand)
        found = self._union(field, conditions)
        if operator in ("$ne", "$nin"):
            return np.setdiff1d(self._union(field, [("kind <> 'list'", ())]), found, assume_unique=True)
        return found

    def _conditions(self, field: str, operator: str, operand: Any) -> list[tuple[str, tuple[Any, ...]]] | None:
        """Return SQL conditions whose union is the rows that match; for ``$ne`` and ``$nin``, those that are equal.

        None where SQLite cannot be given the operand exactly.
        """
        operands = operand if operator in LIST_OPERATORS else [operand]
        if not all(is_portable(value) for value in [field, *operands]):
            return None
        if operator == "$contains":
            if not isinstance(operand, str):
                return [("0", ())]
            return [("kind = 'list' AND value = ?", (operand,)), ("kind = 'text' AND instr(value, ?) > 0", (operand,))]
        if operator in ORDER_OPERATORS:
            if isinstance(operand, bool):
                return [("0", ())]
            return [(f"kind = ? AND value {_SYMBOLS[operator]} ?", (kind_of(operand), operand))]
        return [
            (f"kind = ? AND value IN ({marks(part)})", (kind, *part))
            for kind in _KINDS
            for part in parts([value for value in operands if kind_of(value) == kind])
        ]

    def _union(self, field: str, conditions: Sequence[tuple[str, tuple[Any, ...]]]) -> Rows:
        found: list[int] = []
        for clause, values in conditions:
            query = f"SELECT number FROM metadata_values WHERE collection = ? AND field = ? AND {clause}"  # noqa: S608
            rows = self._connection.execute(query, (self._collection, field, *values)).fetchall()
            found += [number for (number,) in rows]
        return np.unique(np.array(found, dtype=np.int64))

    def _evaluated(self, field: str, operator: str, operand: Any) -> Rows:
        """Let the evaluator judge every row's value."""
        rows = self._connection.execute("SELECT number, metadata FROM rows WHERE collection = ?", (self._collection,))
        found = [
            number for number, metadata in rows if value_matches(json.loads(metadata).get(field), operator, operand)
        ]
        return np.unique(np.array(found, dtype=np.int64))

    def _entries(
        self, metadata_of: Mapping[int, Mapping[str, MetadataValue]]
    ) -> Iterator[tuple[int, str, str, Any, int]]:
        for number, metadata in metadata_of.items():
            for field, value in metadata.items():
                for element in value if isinstance(value, list) else [value]:
                    yield self._collection, field, kind_of(value), element, number


def parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Cut values into as many as one statement takes."""
    for start in range(0, len(values), _IN_A_STATEMENT):
        yield values[start : start + _IN_A_STATEMENT]


def marks(values: Sequence[Any]) -> str:
    """Return one placeholder for each value."""
    return ",".join("?" * len(values))
