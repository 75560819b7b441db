"""Vectors already computed, by (text hash, model): a SQLite file that several processes may use at once.

A rename, a duplicate or a restored file costs no embedding. The cache may be deleted at any time.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from stackroom.errors import EmbeddingError, EmbeddingUnavailableError
from stackroom.shared_sqlite import set_up_shared

_LOOKUP = 500
"""Hashes per statement; SQLite's oldest limit is 999 variables."""
_WAIT_SECONDS = 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS vectors (
    model INTEGER NOT NULL, text_hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text_hash));
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

_NOT_KEPT = """
model NOT IN (SELECT id FROM models WHERE key IN (SELECT key FROM kept_models))
AND NOT (model IN (SELECT id FROM models WHERE key IN (SELECT key FROM used_models))
         AND text_hash IN (SELECT hash FROM used_texts))
"""


class VectorCache:
    """The file of cached vectors. Safe across threads and processes; opened at the first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._models: dict[str, int] = {}

    def get(self, model: str, text_hashes: Sequence[str], dimension: int) -> dict[str, np.ndarray]:
        """Return the vectors that are there, by text hash; a row of another length counts as absent.

        Args:
            model: what the vectors depend on.
            text_hashes: hexadecimal SHA-256 of each text.
            dimension: length of the model's vectors.

        Raises:
            EmbeddingError: the file cannot be read.
        """
        found: dict[str, np.ndarray] = {}
        with self._transaction() as connection:
            number = self._model_number(connection, model)
            for start in range(0, len(text_hashes), _LOOKUP):
                part = [bytes.fromhex(digest) for digest in text_hashes[start : start + _LOOKUP]]
                marks = ",".join("?" * len(part))
                rows = connection.execute(
                    f"SELECT text_hash, vector FROM vectors WHERE model = ? AND text_hash IN ({marks})",  # noqa: S608
                    [number, *part],
                )
                for digest, blob in rows:
                    if len(blob) == 4 * dimension:
                        found[digest.hex()] = np.frombuffer(blob, dtype="<f4")
        return found

    def put(self, model: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Store vectors by text hash; what is there already is replaced.

        Raises:
            EmbeddingError: the file cannot be written.
        """
        with self._transaction() as connection:
            number = self._model_number(connection, model)
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (model, text_hash, vector) VALUES (?, ?, ?)",
                [
                    (number, bytes.fromhex(digest), np.ascontiguousarray(vector, dtype="<f4").tobytes())
                    for digest, vector in vectors.items()
                ],
            )

    def count(self) -> int:
        """Return the number of vectors.

        Raises:
            EmbeddingError: the file cannot be read.
        """
        with self._transaction() as connection:
            return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])

    def count_except(self, keep_all: Collection[str], keep_some: Collection[str], texts: Collection[bytes]) -> int:
        """Return how many vectors :meth:`delete_except` would delete."""
        with self._transaction() as connection:
            self._mark(connection, keep_all, keep_some, texts)
            return int(connection.execute(f"SELECT count(*) FROM vectors WHERE {_NOT_KEPT}").fetchone()[0])  # noqa: S608

    def delete_except(self, keep_all: Collection[str], keep_some: Collection[str], texts: Collection[bytes]) -> int:
        """Delete vectors, give the space back, and return how many there were.

        Args:
            keep_all: models of which every vector stays.
            keep_some: models of which the vectors of ``texts`` stay.
            texts: SHA-256 of each text, as bytes.

        Raises:
            EmbeddingError: the file cannot be written.
        """
        with self._transaction() as connection:
            self._mark(connection, keep_all, keep_some, texts)
            deleted = connection.execute(f"DELETE FROM vectors WHERE {_NOT_KEPT}").rowcount  # noqa: S608
        with self._transaction() as connection:
            connection.commit()  # space is only given back outside a transaction
            connection.execute("VACUUM")
        return deleted

    @staticmethod
    def _mark(
        connection: sqlite3.Connection, keep_all: Collection[str], keep_some: Collection[str], texts: Collection[bytes]
    ) -> None:
        """Fill the temporary tables that say what is kept."""
        for table, column, values in (
            ("kept_models", "key TEXT", keep_all),
            ("used_models", "key TEXT", keep_some),
            ("used_texts", "hash BLOB", texts),
        ):
            connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} ({column} PRIMARY KEY) WITHOUT ROWID")
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - one of three names
            connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?)", [(value,) for value in values])  # noqa: S608

    def fact(self, key: str) -> str | None:
        """Return a small remembered fact (the hash of a weights file, the dimension of a remote model)."""
        with self._transaction() as connection:
            row = connection.execute("SELECT value FROM facts WHERE key = ?", [key]).fetchone()
        return None if row is None else str(row[0])

    def remember(self, key: str, value: str) -> None:
        """Remember a small fact."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO facts (key, value) VALUES (?, ?)", [key, value])

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                self._models.clear()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._connection = self._connection or self._open()
                with connection:
                    yield connection
            except sqlite3.Error as error:
                raise EmbeddingUnavailableError(  # not the fault of the texts
                    f"the embedding cache {self.path} cannot be used ({error}); free disk space if that is the reason, "
                    "else delete the file: its vectors are computed again"
                ) from error

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EmbeddingError(f"the folder of the embedding cache {self.path} cannot be made: {error}") from error
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, check_same_thread=False)
        try:
            set_up_shared(connection, _SCHEMA, _WAIT_SECONDS)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _model_number(self, connection: sqlite3.Connection, model: str) -> int:
        if model not in self._models:
            row = connection.execute("SELECT id FROM models WHERE key = ?", [model]).fetchone()
            if row is None:
                connection.execute("INSERT OR IGNORE INTO models (key) VALUES (?)", [model])
                connection.commit()
                row = connection.execute("SELECT id FROM models WHERE key = ?", [model]).fetchone()
            self._models[model] = int(row[0])
        return self._models[model]
