"""One writer or many readers of a folder, across processes.

A lock file is locked with ``flock``: the kernel releases it when its holder dies, so no lock is ever left behind. Its
content says who is writing.
"""

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from stackroom.atomic import lock_holder
from stackroom.errors import StoreError, StoreLockedError

_PAUSE_SECONDS = 0.02
"""Between two attempts; replacing the rows of one source takes tens of milliseconds."""
_READERS_WAIT_SECONDS = 5.0
"""A writer waits at least this long for readers, which never take long; failing fast is meant for other writers."""


class FolderLock:
    """The lock of one folder in this process. Its owner lets one thread at a time use it."""

    def __init__(self, path: Path, what: str) -> None:
        """Open the lock file.

        Args:
            path: lock file; made if it can be.
            what: what is being locked, for messages.
        """
        self._path = path
        self._what = what
        self._shared = 0
        self._exclusive = 0
        self._descriptor = _open(path)

    def close(self) -> None:
        """Close the lock file, which releases whatever is held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextlib.contextmanager
    def reading(self, wait_seconds: float) -> Iterator[None]:
        """Keep writers out; may be nested, also inside :meth:`writing`.

        Raises:
            StoreLockedError: somebody else is writing for longer than ``wait_seconds``.
        """
        if not self._shared and not self._exclusive:
            self._acquire(fcntl.LOCK_SH, wait_seconds)
        self._shared += 1
        try:
            yield
        finally:
            self._shared -= 1
            self._settle()

    @contextlib.contextmanager
    def writing(self, wait_seconds: float) -> Iterator[None]:
        """Keep everybody else out; may be nested.

        Raises:
            StoreLockedError: somebody else is writing (the message names them) or reading for too long.
            StoreError: the folder is read-only.
        """
        if not self._exclusive:
            self._acquire(fcntl.LOCK_EX, wait_seconds)
            self._note_holder()
        self._exclusive += 1
        try:
            yield
        finally:
            self._exclusive -= 1
            if not self._exclusive and self._descriptor is not None:
                os.ftruncate(self._descriptor, 0)
            self._settle()

    def _acquire(self, mode: int, wait_seconds: float) -> None:
        if self._descriptor is None:
            if mode == fcntl.LOCK_EX:
                raise StoreError(f"{self._what} cannot be written: {self._path} cannot be made; is it read-only?")
            return
        started = time.monotonic()
        while True:
            try:
                fcntl.flock(self._descriptor, mode | fcntl.LOCK_NB)
            except BlockingIOError:
                waited = time.monotonic() - started
                if waited >= wait_seconds and (self._is_being_written() or waited >= _READERS_WAIT_SECONDS):
                    raise StoreLockedError(self._refusal()) from None
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _settle(self) -> None:
        """Hold no more than what is needed now."""
        if self._descriptor is not None and not self._exclusive:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH if self._shared else fcntl.LOCK_UN)

    def _note_holder(self) -> None:
        if self._descriptor is not None:
            owner = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, json.dumps(owner).encode(), 0)

    def _is_being_written(self) -> bool:
        return self._path.stat().st_size > 0

    def _refusal(self) -> str:
        if self._is_being_written():
            return f"{self._what} is being written by {lock_holder(self._path)}; wait for it or stop it"
        return f"{self._what} is being read by another process without a pause; try again later"


def _open(path: Path) -> int | None:
    """Open the lock file for writing, else for reading; None where neither is possible (a read-only folder)."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        try:
            return os.open(path, flags | os.O_CLOEXEC, 0o644)
        except OSError:
            continue
    return None
