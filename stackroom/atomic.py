"""Writing files so that a crash leaves either the old or the new content, and a lock that names its holder."""

import contextlib
import fcntl
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from stackroom.errors import StoreLockedError


@contextlib.contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` for writing; on success it is synced and renamed onto ``path``.

    Args:
        path: the target; its folder is created.
        mode: ``"wb"`` (the only mode; text is encoded by the caller).

    Raises:
        OSError: the folder cannot be written (disk full, read-only); the old content stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, mode) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace the content of ``path`` atomically."""
    with atomic_write(path) as handle:
        handle.write(data)


def write_text(path: Path, text: str) -> None:
    """Replace the content of ``path`` atomically, as UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable; a folder handle can be synced on Linux and macOS."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse to sync a folder; the rename itself has happened
        return
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def writer_lock(path: Path, what: str, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold an exclusive lock file while writing to something that bears one writer at a time.

    The lock is an ``flock``: the kernel releases it when its holder dies, so there are no stale locks. The file's
    content says who holds it and since when.

    Args:
        path: lock file, created if absent and never deleted.
        what: what is being locked, for the message.
        wait_seconds: how long to wait for the holder before giving up.

    Raises:
        StoreLockedError: somebody else holds the lock; the message names host, process and age.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(descriptor, path, what, time.monotonic() + wait_seconds)
        owner = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(owner).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, what: str, give_up: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up:
                raise StoreLockedError(
                    f"{what} is being written by {lock_holder(path)}; wait for it or stop it"
                ) from None
            time.sleep(0.1)
        else:
            return


def lock_holder(path: Path) -> str:
    """Return who holds the lock at ``path``, in words."""
    try:
        owner = json.loads(path.read_text())
    except (OSError, ValueError):
        return "an unknown process"
    age = max(0.0, time.time() - owner["since"])
    return f"process {owner['pid']} on {owner['host']} (for {age:.0f} s)"
