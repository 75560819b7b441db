"""The ledger: what was last seen of every source, and what became of it. One SQLite file for all corpora.

It answers three questions without opening a single source or artefact: which files may have changed since they were
last looked at, which are done and for which *revision* (content plus settings plus curated metadata), and what to tell
the user about each. Safe for several processes and threads; every method is one transaction.
"""

import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stackroom.errors import SourceError
from stackroom.sources import Scan, SourceFile, content_hash
from stackroom.stores.sqlite_file import connect, translated

State = Literal["pending", "searchable", "partial", "quarantined"]

RACY_SECONDS = 2.0
"""A file whose time stamp is this close to the moment it was hashed may change again within the same stamp, so its
hash is not trusted next time (the same rule as git's "racy" index entries)."""

_WAIT_SECONDS = 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sources (
  corpus TEXT NOT NULL, source_id TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  content_hash TEXT NOT NULL, hashed_at REAL NOT NULL, present INTEGER NOT NULL DEFAULT 1,
  state TEXT NOT NULL DEFAULT 'pending', revision TEXT, reason TEXT, message TEXT, remedy TEXT,
  chunks INTEGER, pages INTEGER, missing_pages TEXT, updated_at REAL,
  PRIMARY KEY (corpus, source_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sources_by_hash ON sources (corpus, content_hash);
CREATE TABLE IF NOT EXISTS young (
  corpus TEXT NOT NULL, source_id TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  PRIMARY KEY (corpus, source_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS versions (
  corpus TEXT PRIMARY KEY, version INTEGER NOT NULL, indexed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class SourceState:
    """One line of the ledger."""

    corpus: str
    source_id: str
    state: State
    reason: str | None
    message: str | None
    remedy: str | None
    chunks: int | None
    pages: int | None
    missing_pages: tuple[int, ...]
    content_hash: str
    revision: str | None
    """Revision that was completed (or failed); None while nothing was tried, or a try was not completed."""
    present: bool
    updated_at: float | None
    """Seconds since the epoch."""


@dataclass(frozen=True)
class Verdict:
    """What became of a source in a run; written by :meth:`Ledger.record`."""

    state: State
    revision: str | None
    reason: str | None = None
    message: str | None = None
    remedy: str | None = None
    chunks: int | None = None
    pages: int | None = None
    missing_pages: tuple[int, ...] = ()


class Ledger:
    """The ledger file; opening it creates it."""

    def __init__(self, path: Path) -> None:
        """Open or create the ledger at ``path``.

        Raises:
            StoreError: it cannot be read, here or in any method: damaged, read-only, or the disk is full.
        """
        self.path = path
        self._local = threading.local()
        with self._transaction():
            pass

    def observe(self, corpus: str, scan: Scan, leave: Collection[str] = ()) -> dict[str, str]:
        """Note what a scan saw, hashing only files that could have changed.

        Args:
            corpus: corpus name.
            scan: a complete scan of the corpus's folder.
            leave: sources of the scan to leave out, as if this look had not happened.

        Returns:
            Content hash by source id, of the files that could be read. Files that are gone are marked absent, not
            forgotten: :meth:`forget` does that once the stores have forgotten them.
        """
        known = self._stats(corpus)
        hashes: dict[str, str] = {}
        fresh: list[tuple[object, ...]] = []
        for file in scan.files:
            if file.source_id in leave:
                continue
            digest = _trusted_hash(known.get(file.source_id), file)
            if digest is None:
                now = time.time()
                try:
                    digest = content_hash(file.path)
                except (OSError, SourceError):
                    continue  # vanished or became unreadable between scan and hash: the next scan reports it
                fresh.append((corpus, file.source_id, file.size, file.mtime_ns, file.inode, digest, now))
            hashes[file.source_id] = digest
        gone = [source for source in known if source not in hashes and source not in leave]
        back = [source for source, row in known.items() if source in hashes and not row["present"]]
        with self._transaction() as db:
            db.executemany(
                "INSERT INTO sources (corpus, source_id, size, mtime_ns, inode, content_hash, hashed_at) "
                "VALUES (?,?,?,?,?,?,?) ON CONFLICT (corpus, source_id) DO UPDATE SET size=excluded.size, "
                "mtime_ns=excluded.mtime_ns, inode=excluded.inode, content_hash=excluded.content_hash, "
                "hashed_at=excluded.hashed_at, present=1",
                fresh,
            )
            db.executemany("UPDATE sources SET present=1 WHERE corpus=? AND source_id=?", ((corpus, s) for s in back))
            db.executemany("UPDATE sources SET present=0 WHERE corpus=? AND source_id=?", ((corpus, s) for s in gone))
            if fresh or back or any(known[source]["present"] for source in gone):
                _bump(db, corpus)
        return hashes

    def swap_young(self, corpus: str, young: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
        """Note the (size, mtime in ns) of files modified a moment ago; return those noted at the previous look."""
        with self._transaction() as db:
            rows = db.execute("SELECT source_id, size, mtime_ns FROM young WHERE corpus=?", (corpus,)).fetchall()
            before = {row["source_id"]: (row["size"], row["mtime_ns"]) for row in rows}
            if before != young:
                db.execute("DELETE FROM young WHERE corpus=?", (corpus,))
                db.executemany(
                    "INSERT INTO young VALUES (?,?,?,?)", ((corpus, source, *stat) for source, stat in young.items())
                )
        return before

    def begin(self, corpus: str, source_id: str) -> None:
        """Note that a source is about to be processed, until :meth:`record` says what became of it.

        Its revision is forgotten: should the run break off, the source is processed again, even if it has become again
        what it was before. It stays as searchable as it was.
        """
        with self._transaction() as db:
            db.execute("UPDATE sources SET revision=NULL WHERE corpus=? AND source_id=?", (corpus, source_id))

    def record(self, corpus: str, source_id: str, verdict: Verdict) -> None:
        """Write what became of a source. A source the ledger has never observed is ignored."""
        with self._transaction() as db:
            db.execute(
                "UPDATE sources SET state=?, revision=?, reason=?, message=?, remedy=?, chunks=?, pages=?, "
                "missing_pages=?, updated_at=? WHERE corpus=? AND source_id=?",
                (
                    verdict.state,
                    verdict.revision,
                    verdict.reason,
                    verdict.message,
                    verdict.remedy,
                    verdict.chunks,
                    verdict.pages,
                    ",".join(map(str, verdict.missing_pages)),
                    time.time(),
                    corpus,
                    source_id,
                ),
            )
            _bump(db, corpus)

    def forget(self, corpus: str, sources: Iterable[str]) -> None:
        """Remove sources from the ledger."""
        with self._transaction() as db:
            db.executemany("DELETE FROM sources WHERE corpus=? AND source_id=?", ((corpus, s) for s in sources))
            _bump(db, corpus)

    def forget_corpus(self, corpus: str) -> int:
        """Remove everything about a corpus and return how many sources were known."""
        with self._transaction() as db:
            known = db.execute("DELETE FROM sources WHERE corpus=?", (corpus,)).rowcount
            for table in ("young", "versions"):
                db.execute(f"DELETE FROM {table} WHERE corpus=?", (corpus,))  # noqa: S608 - one of two names
        return known

    def sources(self, corpus: str | None = None) -> list[SourceState]:
        """Return the lines of one corpus, or of all, sorted by corpus and source id."""
        where, arguments = ("WHERE corpus=?", (corpus,)) if corpus is not None else ("", ())
        with self._transaction() as db:
            rows = db.execute(f"SELECT * FROM sources {where} ORDER BY corpus, source_id", arguments).fetchall()  # noqa: S608 - no user text
        return [_state_of(row) for row in rows]

    def source_ids(self, corpus: str) -> list[str]:
        """Return the ids of all sources of a corpus, sorted; a fifth of the time :meth:`sources` takes."""
        with self._transaction() as db:
            rows = db.execute("SELECT source_id FROM sources WHERE corpus=? ORDER BY source_id", (corpus,)).fetchall()
        return [row["source_id"] for row in rows]

    def source(self, corpus: str, source_id: str) -> SourceState | None:
        """Return the line of one source, if there is one."""
        with self._transaction() as db:
            row = db.execute("SELECT * FROM sources WHERE corpus=? AND source_id=?", (corpus, source_id)).fetchone()
        return None if row is None else _state_of(row)

    def duplicates(self, corpus: str, source_id: str, digest: str) -> list[str]:
        """Return the other present sources of the corpus with the same content."""
        with self._transaction() as db:
            rows = db.execute(
                "SELECT source_id FROM sources WHERE corpus=? AND content_hash=? AND source_id<>? AND present=1 "
                "ORDER BY source_id",
                (corpus, digest, source_id),
            ).fetchall()
        return [row["source_id"] for row in rows]

    def version(self, corpus: str) -> int:
        """Return a number that grows whenever anything about the corpus changes; the sensor's cursor."""
        with self._transaction() as db:
            row = db.execute("SELECT version FROM versions WHERE corpus=?", (corpus,)).fetchone()
        return 0 if row is None else int(row["version"])

    def mark_indexed(self, corpus: str, version: int) -> None:
        """Note that the keyword index covers everything up to ``version``."""
        with self._transaction() as db:
            db.execute("UPDATE versions SET indexed=? WHERE corpus=?", (version, corpus))

    def needs_index(self, corpus: str) -> bool:
        """Return whether anything about the corpus changed since its keyword index was built."""
        with self._transaction() as db:
            row = db.execute("SELECT version > indexed AS behind FROM versions WHERE corpus=?", (corpus,)).fetchone()
        return bool(row and row["behind"])

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _stats(self, corpus: str) -> dict[str, sqlite3.Row]:
        with self._transaction() as db:
            rows = db.execute(
                "SELECT source_id, size, mtime_ns, inode, content_hash, hashed_at, present FROM sources WHERE corpus=?",
                (corpus,),
            ).fetchall()
        return {row["source_id"]: row for row in rows}

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translated(self.path):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = connect(self.path, _SCHEMA, _WAIT_SECONDS, isolation_level="DEFERRED")
                connection.row_factory = sqlite3.Row
                self._local.connection = connection
            with connection:
                yield connection


def _trusted_hash(row: Mapping[str, object] | sqlite3.Row | None, file: SourceFile) -> str | None:
    """Return the recorded hash if nothing suggests that the file has changed since."""
    if row is None or (row["size"], row["mtime_ns"], row["inode"]) != (file.size, file.mtime_ns, file.inode):
        return None
    if abs(float(str(row["hashed_at"])) - file.mtime_ns / 1e9) < RACY_SECONDS:
        return None
    return str(row["content_hash"])


def _bump(db: sqlite3.Connection, corpus: str) -> None:
    db.execute(
        "INSERT INTO versions (corpus, version) VALUES (?, 1) ON CONFLICT (corpus) DO UPDATE SET version=version+1",
        (corpus,),
    )


def _state_of(row: sqlite3.Row) -> SourceState:
    return SourceState(
        corpus=row["corpus"],
        source_id=row["source_id"],
        state=row["state"],
        reason=row["reason"],
        message=row["message"],
        remedy=row["remedy"],
        chunks=row["chunks"],
        pages=row["pages"],
        missing_pages=tuple(int(page) for page in (row["missing_pages"] or "").split(",") if page),
        content_hash=row["content_hash"],
        revision=row["revision"],
        present=bool(row["present"]),
        updated_at=row["updated_at"],
    )
