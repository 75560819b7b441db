"""How Qdrant is reached: a folder that one process has open, or a server."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import httpx
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from stackroom.errors import StoreError, StoreLockedError, StoreNotFoundError, StoreUnavailableError
from stackroom.stores.locking import FolderLock

_LOCK_FILE = ".stackroom.lock"
_TIMEOUT_SECONDS = 60
_SERVER_ERRORS = 500


class QdrantAccess:
    """A client, shared by all stores of one location that this process has open."""

    _open: ClassVar[dict[str, "QdrantAccess"]] = {}
    _open_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, location: str, wait_seconds: float) -> None:
        """Open the client; use :meth:`enter` instead."""
        self.where = location
        self.is_local = not location.startswith(("http://", "https://"))
        self._users = 0
        self._thread_lock = threading.RLock()
        self._held = contextlib.ExitStack()
        with self._held:  # whatever was opened is closed if the rest fails
            if self.is_local:
                self._lock_folder(Path(location), wait_seconds)
                self.client = _open_folder(location)
            else:
                self.client = QdrantClient(url=location, timeout=_TIMEOUT_SECONDS, check_compatibility=False)
            self._held.callback(self.client.close)
            self._held = self._held.pop_all()

    def _lock_folder(self, folder: Path, wait_seconds: float) -> None:
        lock = FolderLock(folder / _LOCK_FILE, f"the Qdrant folder {folder}")
        self._held.callback(lock.close)
        self._held.enter_context(lock.writing(wait_seconds))

    @classmethod
    def enter(cls, location: str, create: bool, wait_seconds: float) -> "QdrantAccess":
        """Return the access to a folder or server; every call is matched by one of :meth:`close`.

        Raises:
            StoreNotFoundError: the folder does not exist, and ``create`` is off.
            StoreLockedError: another process has the folder open; the message names it.
            StoreError: the folder cannot be made.
        """
        if not location.startswith(("http://", "https://")):
            folder = Path(location).expanduser().resolve()
            if not create and not (folder / "meta.json").is_file():
                raise StoreNotFoundError(f"{folder} is no folder of Qdrant (it has no meta.json)")
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"the Qdrant folder {folder} cannot be made: {error}") from error
            location = str(folder)
        with cls._open_lock:
            if location not in cls._open:
                with translated(location):
                    cls._open[location] = cls(location, wait_seconds)
            access = cls._open[location]
            access._users += 1
        return access

    @contextlib.contextmanager
    def used(self) -> Iterator[QdrantClient]:
        """Use the client, one thread at a time, with its errors turned into those of the library."""
        with self._thread_lock, translated(self.where):
            yield self.client

    def hasten(self, collection: str) -> None:
        """Let the SQLite file of a collection in a folder be synced at checkpoints instead of after every row.

        The local client commits rows one by one, and every commit waits for the disk (30 ms measured on a slow one, so
        three minutes for 6,000 rows). With a write-ahead log a crash of the process still loses nothing, and one of the
        machine at most the last moments, never consistency. The connection is private to the client; where it is not
        found, writing is slow and nothing else.
        """
        local = getattr(getattr(self.client, "_client", None), "collections", {}).get(collection)
        connection = getattr(getattr(local, "storage", None), "storage", None)
        if self.is_local and isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Give the access back; the last one closes the client."""
        with self._open_lock, self._thread_lock:
            self._users -= 1
            if self._users == 0:
                del self._open[self.where]
                self._held.close()


def _open_folder(folder: str) -> QdrantClient:
    try:
        return QdrantClient(path=folder)
    except RuntimeError as error:  # a program other than Stackroom has it open, which does not use our lock
        raise StoreLockedError(f"the Qdrant folder {folder} is open in another program; close it there") from error


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn errors of Qdrant and of the connection into those of the library."""
    try:
        yield
    except UnexpectedResponse as error:
        kind = StoreUnavailableError if (error.status_code or 0) >= _SERVER_ERRORS else StoreError
        raise kind(f"Qdrant at {where} refused: {error}") from error
    except (ResponseHandlingException, httpx.HTTPError) as error:
        raise StoreUnavailableError(f"Qdrant at {where} does not answer ({error}); start it and try again") from error
