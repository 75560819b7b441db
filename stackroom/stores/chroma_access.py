"""How Chroma is reached: a folder shared by several processes, or a server.

Chroma's embedded client keeps the vector index in memory and writes it back as it sees it. Measured with chromadb
1.5.9: a client that was open while another process wrote does not find the new rows, and its next write takes them out
of the index for good. So every access holds a lock, every writing access leaves a mark, and a client that finds a mark
it does not know is opened anew (20 ms) before it is used.
"""

import contextlib
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, cast
from urllib.parse import urlsplit

import chromadb
import chromadb.errors
import httpx
from chromadb.config import Settings

from stackroom.errors import StoreError, StoreNotFoundError, StoreUnavailableError
from stackroom.stores.locking import FolderLock

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.client import Client

_LOCK_FILE = ".stackroom.lock"
_MARK_FILE = ".stackroom.mark"


class ChromaAccess(Protocol):
    """A way to reach Chroma."""

    where: str
    """Folder or address, for messages."""

    @property
    def client(self) -> "Client":
        """The client; to be used inside :meth:`reading` or :meth:`writing`."""
        ...

    @property
    def generation(self) -> int:
        """Changes when the client was opened anew, and collections must be fetched again."""
        ...

    @property
    def mark(self) -> str | None:
        """Changes when anybody wrote; None where that cannot be seen."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder; None for a server."""
        ...

    def reading(self) -> contextlib.AbstractContextManager[None]:
        """See what other processes wrote, and keep them from writing."""
        ...

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Keep other processes from reading and writing."""
        ...

    def close(self) -> None:
        """Give the access back."""
        ...


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn errors of Chroma and of the connection into those of the library."""
    try:
        yield
    except chromadb.errors.NotFoundError as error:
        raise StoreNotFoundError(f"Chroma at {where}: {error}") from error
    except chromadb.errors.ChromaError as error:
        raise StoreError(f"Chroma at {where} failed: {error}") from error
    except httpx.HTTPStatusError as error:
        raise StoreError(f"Chroma at {where} refused: {error}") from error
    except httpx.HTTPError as error:
        raise StoreUnavailableError(f"Chroma at {where} does not answer ({error}); start it and try again") from error


def _closable(client: "ClientAPI") -> "Client":
    return cast("Client", client)  # only this class has close()


class ChromaServer:
    """A Chroma server; it takes care of several clients itself."""

    generation = 0
    mark = None
    folder = None

    def __init__(self, url: str) -> None:
        """Connect.

        Raises:
            StoreError: the address is not one.
            StoreUnavailableError: nothing answers there.
        """
        self.where = url
        parts = urlsplit(url)
        if not parts.hostname:
            raise StoreError(f"{url!r} is not the address of a Chroma server; it looks like http://host:8000")
        try:
            with translated(url):
                self.client: Client = _closable(
                    chromadb.HttpClient(
                        host=parts.hostname,
                        port=parts.port or 8000,
                        ssl=parts.scheme == "https",
                        settings=Settings(anonymized_telemetry=False),
                    )
                )
        except ValueError as error:  # that is how the client says that it found nobody
            raise StoreUnavailableError(f"Chroma at {url} does not answer; start it and try again") from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Translate errors."""
        with translated(self.where):
            yield

    writing = reading

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


class ChromaFolder:
    """A folder of Chroma's embedded client, shared by all stores in it that this process has open."""

    _open: ClassVar[dict[Path, "ChromaFolder"]] = {}
    _open_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, folder: Path, wait_seconds: float) -> None:
        self.where = str(folder)
        self.generation = 0
        self.folder = folder
        self._wait_seconds = wait_seconds
        self._users = 0
        self._thread_lock = threading.RLock()
        self._folder_lock = FolderLock(folder / _LOCK_FILE, f"the Chroma folder {folder}")
        self._client: Client | None = None
        self.mark: str | None = None

    @classmethod
    def enter(cls, folder: Path, create: bool, wait_seconds: float) -> "ChromaFolder":
        """Return the access to a folder; every call is matched by one of :meth:`close`.

        Raises:
            StoreNotFoundError: it is no folder of Chroma, and ``create`` is off.
            StoreError: it cannot be made.
        """
        folder = folder.expanduser().resolve()
        if folder.is_file():
            raise StoreNotFoundError(f"{folder} is a file, not a folder of Chroma")
        if not create and not (folder / "chroma.sqlite3").is_file():
            raise StoreNotFoundError(f"{folder} is no folder of Chroma (it has no chroma.sqlite3)")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the Chroma folder {folder} cannot be made: {error}") from error
        with cls._open_lock:
            access = cls._open.setdefault(folder, cls(folder, wait_seconds))
            access._users += 1
            access._wait_seconds = wait_seconds
        return access

    @property
    def is_made(self) -> bool:
        """Chroma's own files are there."""
        return (self.folder / "chroma.sqlite3").is_file()

    @property
    def client(self) -> "Client":
        """The client."""
        if self._client is None:
            raise StoreError(f"the Chroma folder {self.folder} is used outside of an access")
        return self._client

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Keep writers out and open the client anew if somebody else wrote."""
        with self._thread_lock, self._folder_lock.reading(self._wait_seconds), translated(self.where):
            self._refresh()
            yield

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Keep everybody out, open the client anew if somebody else wrote, and leave a mark for the others.

        The mark is left before anything is written: nobody can look at it before the lock is released, and it stands
        even if this process dies on the way.
        """
        with self._thread_lock, self._folder_lock.writing(self._wait_seconds), translated(self.where):
            self._refresh()
            self.mark = uuid.uuid4().hex
            (self.folder / _MARK_FILE).write_text(self.mark, encoding="ascii")
            yield

    def _refresh(self) -> None:
        mark = self._read_mark()
        if self._client is not None and mark == self.mark:
            return
        self._disconnect()
        self._client = _closable(chromadb.PersistentClient(self.folder, settings=Settings(anonymized_telemetry=False)))
        self.mark = mark
        self.generation += 1

    def _read_mark(self) -> str:
        try:
            return (self.folder / _MARK_FILE).read_text(encoding="ascii")
        except FileNotFoundError:
            return ""

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def close(self) -> None:
        """Give the access back; the last one closes the client."""
        with self._open_lock, self._thread_lock:
            self._users -= 1
            if self._users == 0:
                del self._open[self.folder]
                self._disconnect()
                self._folder_lock.close()
