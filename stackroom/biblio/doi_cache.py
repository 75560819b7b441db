"""Answers of DOI services, kept in SQLite with an expiry: records for long, "no such DOI" for a few days."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from stackroom.biblio.lookup import Found, NotFound, Record
from stackroom.shared_sqlite import set_up_shared

_WAIT_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    doi TEXT PRIMARY KEY,
    service TEXT NOT NULL,
    record TEXT,
    stored_at REAL NOT NULL
)
"""
_DAY = 86_400.0


class DoiCache:
    """Safe to use from several threads and processes. What a service failed to answer is never kept."""

    def __init__(
        self, path: Path, *, found_days: float, missing_days: float, now: Callable[[], float] = time.time
    ) -> None:
        """Open the cache; a damaged file is moved aside and begun afresh.

        Args:
            path: SQLite file; its folder is created.
            found_days: days for which a record is served.
            missing_days: days for which a DOI counts as not registered.
            now: seconds since the epoch.
        """
        self._found_seconds, self._missing_seconds = found_days * _DAY, missing_days * _DAY
        self._now = now
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = _open(path)
        except sqlite3.DatabaseError:
            path.replace(path.with_name(f"{path.name}.damaged"))
            self._db = _open(path)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def get(self, key: str) -> Found | NotFound | None:
        """Return the answer kept for a DOI (in lower case), or None when there is none or it is too old."""
        with self._lock:
            row = self._db.execute("SELECT service, record, stored_at FROM answers WHERE doi = ?", (key,)).fetchone()
        if row is None:
            return None
        service, record, stored_at = row
        age = self._now() - stored_at
        if record is None:
            return NotFound((service,)) if age < self._missing_seconds else None
        if age >= self._found_seconds:
            return None
        fields = json.loads(record)
        return Found(Record(**{**fields, "authors": tuple(fields["authors"])}), service)

    def put(self, key: str, answer: Found | NotFound) -> None:
        """Keep the answer for a DOI (in lower case)."""
        if isinstance(answer, Found):
            service, record = answer.service, json.dumps(asdict(answer.record), ensure_ascii=False)
        else:
            service, record = ",".join(answer.services), None
        with self._lock, self._db:
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", (key, service, record, self._now()))


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)
    set_up_shared(db, _SCHEMA, _WAIT_SECONDS)
    return db
