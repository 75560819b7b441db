"""Switching a SQLite file to a write-ahead log while other processes may be doing the same."""

import sqlite3
import time

_RETRY_SECONDS = 0.02
_PRIMARY_CODE = 0xFF


def use_write_ahead_log(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Switch the file of a connection to a write-ahead log.

    The switch needs the file for itself, and SQLite gives up at once, whatever the connection's time-out, if another
    process that has the file open wants the same.

    Raises:
        sqlite3.OperationalError: others kept the file for longer than ``wait_seconds``.
    """
    end = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return
