"""A copy of metadata and vectors beside a Chroma folder, in two files, that answers filters.

Chroma looks up a filter row by row in its own database, and its vector index is slow, and not exact, when few rows are
allowed: with 100,000 rows a filter that lets through one row in ten took 60 to 150 ms, where a query without a filter
took 3 (measured with chromadb 1.5.9). The copy finds the rows that match, and compares few of them directly.

Chroma stays the truth. Before Chroma is written, the copy is marked as out of step; it is in step again only when the
same change was written to it as well. A copy that is out of step, or counts other rows than Chroma, is not asked, and
is made anew from Chroma by the next writer.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreError
from stackroom.stores.collection import Identity
from stackroom.stores.filter_language import Canonical
from stackroom.stores.sqlite_columns import FilterColumns
from stackroom.stores.sqlite_file import connect, transaction, translated
from stackroom.stores.sqlite_rows import TABLES, Rows, RowTable, make_collection
from stackroom.stores.vector_file import VectorFile

FILE = "stackroom-rows.sqlite"

_BLOCK = 10_000
"""Vectors compared at a time; keeps memory below 20 MB at 384 dimensions."""
_NOISE = 2e-6


class ChromaMirror:
    """The copy of one collection. Used under the lock of its folder."""

    def __init__(self, folder: Path, name: str, identity: Identity, wait_seconds: float) -> None:
        """Open the file; use :meth:`open` instead."""
        self._path = folder / FILE
        self._name = name
        self._identity = identity
        self._connection = connect(self._path, TABLES, wait_seconds)
        self._table: RowTable | None = None
        self._columns = FilterColumns(RowTable(self._connection, 0))
        self.is_changing = False
        """A change was begun in this session and will be valid at its end."""
        self._vectors = VectorFile(folder / f"stackroom-vectors-{identity.instance}.f32", identity.dimension)

    @classmethod
    def open(cls, folder: Path, name: str, identity: Identity, wait_seconds: float) -> "ChromaMirror | None":
        """Return the copy of a collection; None where there can be none, as in a read-only folder."""
        try:
            return cls(folder, name, identity, wait_seconds)
        except StoreError:
            return None

    def close(self) -> None:
        """Close the files."""
        self._vectors.close()
        self._connection.close()

    @property
    def table(self) -> RowTable:
        """The rows; only there while the copy is in step."""
        if self._table is None:
            raise StoreError(f"{self._path} has no copy of collection {self._name}")
        return self._table

    def is_in_step(self, total: int) -> bool:
        """Say whether the copy may be asked, given the number of rows that Chroma counts."""
        self._vectors.look_again()
        with translated(self._path):
            found = self._connection.execute(
                "SELECT collection FROM collections WHERE name = ? AND instance = ? AND in_step",
                (self._name, self._identity.instance),
            ).fetchone()
            if not found:
                return False
            self._use(int(found[0]))
            return self.table.count(None) == total and self.table.last_number() < self._vectors.rows()

    def _use(self, collection: int) -> None:
        if self._table is None or self._table.collection != collection:
            self._table = RowTable(self._connection, collection)
            self._columns = FilterColumns(self._table)

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Enclose everything a writer does; what it changed becomes valid at the end."""
        try:
            yield
        except BaseException:
            if self.is_changing:
                self._connection.execute("ROLLBACK")
            raise
        else:
            if self.is_changing:
                with translated(self._path):
                    self._note(in_step=True)
                    self._connection.execute("COMMIT")
        finally:
            self.is_changing = False

    def begin(self, total: int, rows: Iterable[Sequence[StoredRow]]) -> None:
        """Mark the copy as out of step, before Chroma is changed; once in a session.

        Args:
            total: number of rows that Chroma counts.
            rows: all rows of Chroma, read only if the copy has to be made anew.
        """
        if self.is_changing:
            return
        if not self.is_in_step(total):
            self._make_anew(rows)
        with transaction(self._connection, self._path, write=True):
            self._note(in_step=False)
        self._connection.execute("BEGIN IMMEDIATE")
        self.is_changing = True

    def _make_anew(self, rows: Iterable[Sequence[StoredRow]]) -> None:
        with transaction(self._connection, self._path, write=True):
            self._forget()
            self._vectors.clear()
            self._use(make_collection(self._connection, self._name, self._identity))
            for batch in rows:
                self.write(batch)

    def write(self, rows: Sequence[StoredRow]) -> None:
        """Copy rows that were written to Chroma; their texts are left out."""
        bare = [StoredRow(row.chunk_id, row.source_id, "", row.metadata, row.vector) for row in rows]
        with translated(self._path):
            numbers = self.table.write(bare, vectors=False)
        order = np.array([numbers[row.chunk_id] for row in rows], dtype=np.int64)
        try:
            self._vectors.write(order, np.array([row.vector for row in rows]))
        except OSError as error:
            raise StoreError(f"the copy beside {self._path} cannot be written: {error}") from error

    def rewrite(self, rows: Sequence[StoredRow]) -> None:
        """Copy the metadata of rows whose metadata alone changed in Chroma."""
        with translated(self._path):
            self.table.rewrite([StoredRow(row.chunk_id, row.source_id, "", row.metadata) for row in rows])

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete rows that were deleted from Chroma."""
        with translated(self._path):
            self.table.delete(chunk_ids)

    def drop(self) -> None:
        """Delete the copy."""
        with transaction(self._connection, self._path, write=True):
            self._forget()
        self._vectors.clear()

    def _forget(self) -> None:
        for (collection,) in self._connection.execute(
            "SELECT collection FROM collections WHERE name = ?", (self._name,)
        ).fetchall():
            RowTable(self._connection, collection).clear()
            self._connection.execute("DELETE FROM collections WHERE collection = ?", (collection,))

    def _note(self, in_step: bool) -> None:
        self._connection.execute("UPDATE collections SET in_step = ? WHERE name = ?", (in_step, self._name))

    def matching(self, canonical: Canonical) -> Rows:
        """Return the row numbers of the rows that match."""
        with translated(self._path):
            return self._columns.matching(canonical)

    def which_are(self, chunk_ids: Sequence[str], numbers: Rows) -> list[str]:
        """Return those of the given rows whose row numbers are among the given ones, in their order."""
        with translated(self._path):
            number_of = self.table.numbers_of(chunk_ids)
        wanted = np.isin(np.array([number_of.get(chunk_id, -1) for chunk_id in chunk_ids]), numbers)
        return [chunk_id for chunk_id, is_wanted in zip(chunk_ids, wanted, strict=True) if is_wanted]

    def nearest(self, unit: np.ndarray, k: int, numbers: Rows | None) -> list[str]:
        """Return the chunk ids of the best ``k`` of the given rows (None: all) and of all that may tie."""
        with translated(self._path):
            table = self.table
            numbers = table.numbers_since(0) if numbers is None else numbers
            kept, scores = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
            for start in range(0, len(numbers), _BLOCK):
                block = numbers[start : start + _BLOCK]
                scores = np.concatenate([scores, self._vectors.read(block) @ unit])
                kept = np.concatenate([kept, block])
                if len(kept) > k:
                    good = scores >= np.partition(scores, len(scores) - k)[len(scores) - k] - _NOISE
                    kept, scores = kept[good], scores[good]
            return table.chunk_ids([int(number) for number in kept])
