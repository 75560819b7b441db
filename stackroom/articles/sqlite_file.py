"""The file of the SQLite article memory: schema, rows, and nothing asynchronous.

Everything here blocks and belongs to one thread. Every failure is an :class:`EmbeddingStoreError`.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stackroom.articles.matrix import Ranked, VectorMatrix
from stackroom.articles.store_base import EncodedChunk, check_model, decode_metadata
from stackroom.articles.types import SearchHit, StoredRecord
from stackroom.errors import EmbeddingStoreError
from stackroom.shared_sqlite import set_up_shared

SCHEMA_VERSION = 1
_WAIT_SECONDS = 60.0
_LOADED_DIMENSIONS = 2
_log = logging.getLogger(__name__)

_CHUNKS = """
CREATE TABLE IF NOT EXISTS chunks (
    record_id TEXT NOT NULL, chunk_index INTEGER NOT NULL, text TEXT NOT NULL, dim INTEGER NOT NULL,
    vector BLOB NOT NULL, metadata TEXT NOT NULL DEFAULT '{}', PRIMARY KEY (record_id, chunk_index))
"""
_FACTS = "CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value TEXT NOT NULL)"


@dataclass(frozen=True)
class _Loaded:
    """The vectors of one dimension, and the row each belongs to."""

    matrix: VectorMatrix
    rowids: np.ndarray


class ChunkFile:
    """A connection to the file, opened at the first use; for one thread only."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._loaded: dict[int, _Loaded] = {}
        self._data_version = -1

    def add(self, chunks: Sequence[EncodedChunk]) -> None:
        """Insert or replace chunks, in one transaction."""
        with self._writing("write chunks to") as connection:
            _insert(connection, chunks)

    def replace(self, record_id: str, chunks: Sequence[EncodedChunk]) -> None:
        """Delete a record and insert chunks, in one transaction."""
        with self._writing("replace a record in") as connection:
            connection.execute("DELETE FROM chunks WHERE record_id = ?", [record_id])
            _insert(connection, chunks)

    def delete(self, record_id: str) -> None:
        """Delete a record."""
        with self._writing("delete a record from") as connection:
            connection.execute("DELETE FROM chunks WHERE record_id = ?", [record_id])

    def count(self) -> int:
        """Return the number of chunks."""
        with self._reading("count the chunks of") as connection:
            return int(connection.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def bind_model(self, model: str, record: bool) -> None:
        """Check the model the file was filled with; record it if there is none."""
        with self._reading("read") as connection:
            stored = _model(connection)
        if stored is None and record:
            with self._writing("record the model in") as connection:
                connection.execute("INSERT OR IGNORE INTO facts (key, value) VALUES ('model', ?)", [model])
                stored = _model(connection)
        check_model(stored, model, f"the article memory {self.path}")

    def query(self, unit: np.ndarray, top_k: int, min_score: float, exclude: str | None) -> list[SearchHit]:
        """Return the best hits; rows whose text or metadata is damaged are passed over and logged."""
        with self._reading("read") as connection, _lenient(connection):
            loaded = self._load(connection, len(unit))
            hits: list[SearchHit] = []
            for ranked in loaded.matrix.ranked(unit, top_k, min_score, exclude):
                hit = self._hit(connection, int(loaded.rowids[ranked.row]), ranked)
                if hit is not None:
                    hits.append(hit)
                if len(hits) == top_k:
                    break
            return hits

    def records(self, after: str | None, batch_size: int) -> list[StoredRecord]:
        """Return the next ``batch_size`` records in record id order, without their vectors.

        Args:
            after: last record id already seen.
            batch_size: records.
        """
        start = "" if after is None else after
        comparison = ">=" if after is None else ">"
        with self._reading("read passages of") as connection:
            found = connection.execute(
                f"SELECT DISTINCT record_id FROM chunks WHERE record_id {comparison} ? ORDER BY record_id LIMIT ?",  # noqa: S608
                [start, batch_size],
            ).fetchall()
            if not found:
                return []
            rows = connection.execute(
                f"SELECT record_id, text, metadata FROM chunks WHERE record_id {comparison} ? AND record_id <= ? "  # noqa: S608
                "ORDER BY record_id, chunk_index",
                [start, found[-1][0]],
            ).fetchall()
        texts: dict[str, list[str]] = {}
        metadata: dict[str, object] = {}
        for record_id, text, encoded in rows:
            texts.setdefault(record_id, []).append(text)
            metadata.setdefault(record_id, encoded)
        return [self._record(record_id, passages, metadata[record_id]) for record_id, passages in texts.items()]

    def close(self) -> None:
        """Close the connection and forget the loaded vectors."""
        connection, self._connection = self._connection, None
        self._loaded.clear()
        if connection is not None:
            with self._failing("close"):
                connection.close()

    def _record(self, record_id: str, passages: list[str], encoded: object) -> StoredRecord:
        metadata = decode_metadata(encoded)
        if metadata is None:
            raise EmbeddingStoreError(
                f"cannot read passages of {self.path}: the metadata of record {record_id!r} is not a JSON object; "
                "ingest the record again"
            )
        return StoredRecord(record_id, tuple(passages), metadata)

    def _hit(self, connection: sqlite3.Connection, rowid: int, ranked: Ranked) -> SearchHit | None:
        row = connection.execute(
            "SELECT record_id, chunk_index, text, metadata FROM chunks WHERE rowid = ?", [rowid]
        ).fetchone()
        record_id, index, text, encoded = row
        metadata = decode_metadata(encoded)
        if metadata is None or not isinstance(text, str):
            _log.warning("%s: chunk %s of record %r is damaged and passed over", self.path, index, record_id)
            return None
        return SearchHit(record_id, index, text, ranked.score, metadata)

    def _load(self, connection: sqlite3.Connection, dimension: int) -> _Loaded:
        """Return the vectors of a dimension; read again only after a write, from here or elsewhere."""
        version = int(connection.execute("PRAGMA data_version").fetchone()[0])
        if version != self._data_version:
            self._loaded.clear()
            self._data_version = version
        if dimension not in self._loaded:
            while len(self._loaded) >= _LOADED_DIMENSIONS:
                self._loaded.pop(next(iter(self._loaded)))
            self._loaded[dimension] = self._read_vectors(connection, dimension)
        return self._loaded[dimension]

    def _read_vectors(self, connection: sqlite3.Connection, dimension: int) -> _Loaded:
        records: list[str] = []
        rowids: list[int] = []
        blobs: list[bytes] = []
        rows = connection.execute(
            "SELECT record_id, chunk_index, rowid, vector FROM chunks WHERE dim = ? ORDER BY record_id, chunk_index",
            [dimension],
        )
        for record_id, index, rowid, blob in rows:
            if not isinstance(blob, bytes) or len(blob) != 4 * dimension:
                _log.warning("%s: the vector of chunk %s of record %r is damaged", self.path, index, record_id)
                continue
            records.append(record_id)
            rowids.append(rowid)
            blobs.append(blob)
        matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dimension)
        return _Loaded(VectorMatrix(records, matrix), np.array(rowids, dtype=np.int64))

    @contextlib.contextmanager
    def _failing(self, action: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise EmbeddingStoreError(f"cannot {action} the article memory {self.path}: {error}") from error

    @contextlib.contextmanager
    def _reading(self, action: str) -> Iterator[sqlite3.Connection]:
        """One read transaction: everything read within it is of one moment."""
        with self._failing(action), self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def _writing(self, action: str) -> Iterator[sqlite3.Connection]:
        """One write transaction; it takes the write lock at its start, so that it never has to be tried again."""
        with self._failing(action), self._transaction("BEGIN IMMEDIATE") as connection:
            self._loaded.clear()
            yield connection

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        connection = self._open()
        connection.execute(begin)
        try:
            yield connection
            connection.execute("COMMIT")
        finally:
            # Some failures (a full disk) have ended the transaction already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        if str(self.path) != ":memory:":
            try:
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise EmbeddingStoreError(f"cannot open the article memory {self.path}: {error}") from error
        # Autocommit: transactions are begun and ended here, not by the driver.
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Bring the file to the present schema.

        Raises:
            EmbeddingStoreError: a newer version wrote it.
        """
        self._check_version(connection)
        set_up_shared(connection, "", _WAIT_SECONDS)
        if _has_facts(connection):
            return
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have been first while this one waited for the lock.
        self._check_version(connection)
        connection.execute(_CHUNKS)
        connection.execute(_FACTS)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")

    def _check_version(self, connection: sqlite3.Connection) -> None:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise EmbeddingStoreError(
                f"cannot open the article memory {self.path}: found version {version}, supported version "
                f"{SCHEMA_VERSION}; use the newer program that wrote it"
            )


@contextlib.contextmanager
def _lenient(connection: sqlite3.Connection) -> Iterator[None]:
    """Read damaged text with replacement characters: one bad row must not fail a query over all rows."""
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        yield
    finally:
        connection.text_factory = str


def _has_facts(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'facts'").fetchone() is not None


def _model(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT value FROM facts WHERE key = 'model'").fetchone()
    return None if row is None else str(row[0])


def _insert(connection: sqlite3.Connection, chunks: Sequence[EncodedChunk]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO chunks (record_id, chunk_index, text, dim, vector, metadata) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                chunk.record_id,
                chunk.chunk_index,
                chunk.text,
                len(chunk.vector),
                chunk.vector.astype("<f4").tobytes(),
                chunk.metadata,
            )
            for chunk in chunks
        ],
    )
