"""Writing files so that a crash leaves either the old or the new content, and a lock that names its holder."""

import contextlib
import fcntl
import json
import os
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from stackroom.errors import StoreLockedError


@contextlib.contextmanager
def atomic_write(path: Path, mode: str = "wb", *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` for writing; on success it is synced and renamed onto ``path``.

    A file that is replaced keeps its permissions; a new one gets those that the user's mask gives any new file.

    Args:
        path: the target; its folder is created. Where it is a link, the file it leads to is replaced.
        mode: ``"wb"`` (the only mode; text is encoded by the caller).
        private: a new file is for its owner only, because it may hold passwords.

    Raises:
        OSError: the folder cannot be written (disk full, read-only); the old content stays.
    """
    path = path.resolve() if path.is_symlink() else path
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, mode) as handle:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(handle.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_bytes(path: Path, data: bytes, *, private: bool = False) -> None:
    """Replace the content of ``path`` atomically; see :func:`atomic_write`."""
    with atomic_write(path, private=private) as handle:
        handle.write(data)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Replace the content of ``path`` atomically, as UTF-8; see :func:`atomic_write`."""
    write_bytes(path, text.encode("utf-8"), private=private)


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
