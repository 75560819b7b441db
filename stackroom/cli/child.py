"""Runs the process that ingests, hands on its events, and ends it cleanly when the user interrupts.

Ingestion runs in a process of its own because it needs Dagster, which the library never imports. The child gets a
session of its own, so that one Ctrl-C reaches it exactly once (from here) and not also from the terminal.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Self

from stackroom.cli.events import DoneEvent, ErrorEvent, Event, parse_event

GRACE_SECONDS = 30.0
"""Time the child has to note in Dagster that its run was cancelled; then it is killed."""

LAST_LINES = 15
"""Lines of the child's log that are shown when it dies without a word."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Command:
    """A process to run."""

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    log: Path
    """File for what the process prints besides its events."""


class Child:
    """A running process that prints events; a context manager that never leaves it behind."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._tail: deque[str] = deque(maxlen=LAST_LINES)
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        """Start the process."""
        self._command.log.parent.mkdir(parents=True, exist_ok=True)
        self._log = self._command.log.open("a", encoding="utf-8")
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            list(self._command.arguments),
            cwd=self._command.folder,
            env=dict(self._command.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
        self._reader = threading.Thread(target=self._copy_log, args=(self._process.stderr,), daemon=True)
        self._reader.start()
        for number in (signal.SIGTERM, signal.SIGHUP):
            self._previous[number] = signal.signal(number, _as_interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process if it still runs: ask, wait, then kill."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(GRACE_SECONDS)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C means: now
                os.killpg(self._process.pid, signal.SIGKILL)  # its workers too; it leads their session
                self._process.wait()
        self._reader.join(timeout=5)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(OSError):
            self._log.close()
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def events(self) -> Iterator[Event]:
        """Yield the events of the process until it ends.

        A process that ends without :class:`DoneEvent` or :class:`ErrorEvent` gives an :class:`ErrorEvent` with its
        exit code and the end of its log.
        """
        concluded = False
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe above
        for line in self._process.stdout:
            event = parse_event(line)
            if event is None:
                self._note(line)
                continue
            concluded = concluded or isinstance(event, (DoneEvent, ErrorEvent))
            yield event
        code = self._process.wait()
        if not concluded:
            self._reader.join(timeout=5)
            yield ErrorEvent(
                f"the ingesting process ended unexpectedly ({_exit_in_words(code)}); the end of its log:\n"
                + "".join(f"  {line}" for line in self._tail)
                + f"the whole log is in {self._command.log}"
            )

    def _copy_log(self, pipe: IO[str]) -> None:
        for line in pipe:
            self._note(line)

    def _note(self, line: str) -> None:
        line = line if line.endswith("\n") else f"{line}\n"
        self._tail.append(line)
        with contextlib.suppress(OSError):  # the disk is full: the process must be heard to its end all the same
            self._log.write(line)
            self._log.flush()


def _exit_in_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _as_interrupt(_number: int, _frame: FrameType | None) -> None:
    """Treat a request to end (a closed terminal, a service manager) like Ctrl-C."""
    raise KeyboardInterrupt


def _die_with_parent() -> None:
    """Ask the kernel to interrupt the child if this process is killed, so that no ingestion goes on unseen."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
