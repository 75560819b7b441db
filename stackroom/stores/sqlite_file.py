"""SQLite files shared by threads and processes: opening, transactions, and errors in the library's words."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from stackroom.errors import StoreError, StoreLockedError
from stackroom.shared_sqlite import PRIMARY_CODE, is_busy, set_up_shared

_UNWRITABLE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


def connect(
    path: Path, tables: str, wait_seconds: float, isolation_level: Literal["DEFERRED"] | None = None
) -> sqlite3.Connection:
    """Open a SQLite file with a write-ahead log, making folder, file and tables if need be.

    A file on a full or read-only disk is opened for reading only.

    Args:
        path: the file.
        tables: statements that may be run again and again (``CREATE TABLE IF NOT EXISTS …``).
        wait_seconds: how long a writer waits for another one.
        isolation_level: as :func:`sqlite3.connect` has it; None leaves transactions to :func:`transaction`.

    Raises:
        StoreError: the folder cannot be made, or the file is no SQLite database.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path, timeout=wait_seconds, isolation_level=isolation_level, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be opened: {error}") from error
    try:
        with translated(path):
            try:
                set_up_shared(connection, tables, wait_seconds)
            except sqlite3.OperationalError as error:
                frozen = _frozen(path, error, isolation_level)
                if frozen is None:
                    raise
                connection.close()
                connection = frozen
    except BaseException:
        connection.close()
        raise
    return connection


def _frozen(
    path: Path, error: sqlite3.OperationalError, isolation_level: Literal["DEFERRED"] | None
) -> sqlite3.Connection | None:
    """Open a file that cannot be opened for writing, as one that nobody can change; None where that would not be true.

    A write-ahead log is shared memory even for readers, so SQLite wants to write a little to read such a file.
    """
    log = path.with_name(f"{path.name}-wal")
    if getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE not in _UNWRITABLE or not path.is_file():
        return None
    if path.stat().st_size == 0 or (log.is_file() and log.stat().st_size):  # the log holds what the file does not
        return None
    uri = f"{path.resolve().as_uri()}?immutable=1"
    return sqlite3.connect(uri, uri=True, isolation_level=isolation_level, check_same_thread=False)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, path: Path, write: bool) -> Iterator[None]:
    """Run a block in one transaction; a transaction inside another one is part of it.

    Raises:
        StoreLockedError: another process writes for longer than the connection waits.
        StoreError: the file is damaged, read-only, or the disk is full.
    """
    with translated(path):
        if connection.in_transaction:
            yield
            return
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into those of the library."""
    try:
        yield
    except sqlite3.Error as error:
        if is_busy(error):
            raise StoreLockedError(f"{path} is being written by another process; wait for it or stop it") from error
        raise StoreError(f"{path} cannot be used: {error}") from error
