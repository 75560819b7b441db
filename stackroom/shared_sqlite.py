"""Setting up a SQLite file that other processes may be setting up in the same moment."""

import sqlite3
import time

_RETRY_SECONDS = 0.02
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
PRIMARY_CODE = 0xFF
"""Extended result codes keep the primary one in the lowest byte."""


def set_up_shared(connection: sqlite3.Connection, tables: str, wait_seconds: float) -> None:
    """Switch the file of a connection to a write-ahead log, and make its tables.

    The switch needs the file for itself, and SQLite gives up at once, whatever the connection's time-out, if another
    process that has the file open wants the same.

    Args:
        connection: to the file.
        tables: statements that may be run again and again (``CREATE TABLE IF NOT EXISTS …``); may be empty.
        wait_seconds: how long to wait for others.

    Raises:
        sqlite3.OperationalError: others kept the file for longer, or it cannot be written.
    """
    give_up = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(tables)
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > give_up:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether an error means that others use the file."""
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE in _BUSY
