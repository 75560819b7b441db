"""One worker process as its parent sees it: start, ask, watch, end.

While a worker works, the parent looks every :data:`CHECK_SECONDS` at its memory and at the clock, and kills it when it
is over a limit: a process that hangs in native code heeds nothing else. How many workers there are, and what a death
costs the file in hand, is decided in ``pool.py``.
"""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

import stackroom
from stackroom.conversion.channel import BrokenChannelError, Decoder, Message, encode
from stackroom.errors import ConfigError, ConversionError
from stackroom.outcome import ReasonCode

CHECK_SECONDS = 0.2
"""Time between two looks at a busy worker. An allocation of 1 GB/s overshoots the limit by 200 MB at most."""
START_SECONDS = 180.0
"""Time a worker has to start. On an idle machine it takes 2 s, on one that swaps much longer."""
SEND_SECONDS = 30.0
"""Time a worker has to take a request off its socket; one that is stopped never does."""
STDERR_BYTES = 16_384
"""How much of what a worker says last is kept as evidence."""


@dataclass(frozen=True)
class WorkerSpec:
    """How to start a worker and what it may use."""

    module: str
    """Module whose ``open_worker(options)`` runs in the process."""
    options: Mapping[str, Any]
    """Plain values handed to ``open_worker``."""
    memory_mb: int
    """Resident memory at which the worker is ended."""
    threads: int = 1
    deadline_seconds: float = 120.0
    deadline_seconds_per_page: float = 20.0


@dataclass(frozen=True)
class Death:
    """A worker ended, or was ended, while a file was in hand."""

    reason: ReasonCode
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class _Clock:
    """Deadline of the file in hand; pages add to it as the worker finds them."""

    spec: WorkerSpec
    started: float = field(default_factory=time.monotonic)
    pages: int = 0
    """Pages of the file, as far as known."""
    progress: Message = field(default_factory=dict)
    step_ends: float = 0.0

    def __post_init__(self) -> None:
        self.step(0)

    def step(self, pages: int) -> None:
        """Start the time of the next step, which works on so many pages.

        Without it a file of 5,000 pages that hangs on its first would be noticed after a day.
        """
        self.step_ends = time.monotonic() + self._allowance(pages)

    def _allowance(self, pages: int) -> float:
        return self.spec.deadline_seconds + pages * self.spec.deadline_seconds_per_page

    @property
    def ends(self) -> float:
        """Moment (monotonic) after which the worker is killed."""
        return min(self.started + self._allowance(self.pages), self.step_ends)

    def hear(self, message: Message) -> None:
        """Take note of what the worker says about how far it is."""
        self.progress = {key: value for key, value in message.items() if key != "kind"}
        self.pages = max(self.pages, int(message.get("pages", 0)))
        self.step(int(message.get("step_pages", 0)))


class WorkerProcess:
    """A started worker. Not thread-safe: whoever holds it is alone with it."""

    def __init__(self, spec: WorkerSpec) -> None:
        self.spec = spec
        self.files = 0
        """Requests answered so far."""
        self._prepared = False
        self._decoder = Decoder()
        self._stderr = bytearray()
        self._peak_bytes = 0
        self._closed = False
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-X", "faulthandler", "-m", "stackroom.conversion.child", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=worker_environment(spec.threads),
                start_new_session=True,  # Ctrl-C reaches the parent, which ends its workers in order
            )
        assert self._process.stderr is not None  # noqa: S101 - asked for above
        ours.settimeout(SEND_SECONDS)
        os.set_blocking(self._process.stderr.fileno(), False)
        self._socket = ours
        self._selector = selectors.DefaultSelector()
        self._selector.register(ours, selectors.EVENT_READ)
        self._selector.register(self._process.stderr, selectors.EVENT_READ)
        self._watched = psutil.Process(self._process.pid)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """False once the process has ended."""
        return self._process.poll() is None

    @property
    def resident_mb(self) -> float:
        """Resident memory now, in MB; 0 when the process has ended."""
        try:
            resident: int = self._watched.memory_info().rss
        except psutil.Error:
            return 0.0
        self._peak_bytes = max(self._peak_bytes, resident)
        return resident / 1e6

    def start(self) -> None:
        """Hand over the options and wait until the worker is ready.

        Raises:
            ConfigError: the worker needs more memory than it may use before it has seen any file.
            ConversionError: it did not start; the message holds what it said.
        """
        start = {"kind": "start", "module": self.spec.module, "options": dict(self.spec.options)}
        self._make_ready({**start, "memory_mb": self.spec.memory_mb, "parent": os.getpid()}, "did not start")

    def prepare(self) -> None:
        """Have the worker load what only some requests need, unless it has.

        Raises:
            ConfigError, ConversionError: as :meth:`start`; the worker has ended then.
        """
        if not self._prepared:
            self._make_ready({"kind": "prepare"}, "could not load its models")
            self._prepared = True

    def _make_ready(self, message: Message, otherwise: str) -> None:
        clock = _Clock(WorkerSpec(self.spec.module, {}, self.spec.memory_mb, deadline_seconds=START_SECONDS))
        answer = self._exchange(message, clock)
        died_of = answer.reason if isinstance(answer, Death) else None
        if died_of is ReasonCode.OUT_OF_MEMORY or self.resident_mb > self.spec.memory_mb:
            self.kill()
            raise ConfigError(
                f"limits.worker_memory_mb: {self.spec.memory_mb} is less than a worker process needs before it "
                f"reads any file ({self._peak_bytes / 1e6:.0f} MB); raise it in stackroom.yaml"
            )
        if isinstance(answer, Death):
            self.kill()
            raise ConversionError(f"a worker process {otherwise}: {answer.message}\n{self._said()}")

    def ask(self, request: Message) -> Message | Death:
        """Have a file worked on and return the answer, or how the worker ended. A dead worker cannot be asked again.

        Args:
            request: what to do; JSON-serialisable.
        """
        self._peak_bytes = 0
        answer = self._exchange({"kind": "task", "request": request}, _Clock(self.spec))
        if isinstance(answer, Death):
            self.kill()
        else:
            self.files += 1
        return answer

    def terminate(self) -> None:
        """End the process and everything it started, from any thread; its holder will notice."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End the process and everything it started, and let go of it; no harm if it has ended."""
        if self._closed:
            return
        self._closed = True
        self.terminate()
        self._process.wait()
        self._read_stderr()
        self._selector.close()
        self._socket.close()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _exchange(self, message: Message, clock: _Clock) -> Message | Death:
        try:
            self._socket.sendall(encode(message))
        except TimeoutError:
            return self._death(ReasonCode.TIMEOUT, "the worker took no request", clock)
        except OSError:  # it ended before or while it was asked
            return self._ended(clock)
        while True:
            for answer in self._listen(min(CHECK_SECONDS, max(0.0, clock.ends - time.monotonic()))):
                if answer["kind"] == "progress":
                    clock.hear(answer)
                else:
                    return answer
            if not self.alive:
                return self._ended(clock)
            if self.resident_mb > self.spec.memory_mb:
                message_text = f"the worker process used more than {self.spec.memory_mb} MB of memory"
                return self._death(ReasonCode.OUT_OF_MEMORY, message_text, clock)
            if time.monotonic() > clock.ends:
                seconds = time.monotonic() - clock.started
                return self._death(ReasonCode.TIMEOUT, f"not finished after {seconds:.0f} s", clock)

    def _listen(self, seconds: float) -> list[Message]:
        """Wait for the worker to say something; return the messages that are complete."""
        answers: list[Message] = []
        for key, _ in self._selector.select(seconds):
            if key.fileobj is not self._socket:
                self._read_stderr()
                continue
            try:
                data = self._socket.recv(1 << 20)
                answers += self._decoder.feed(data)
            except BrokenChannelError as error:
                # What the worker said cannot be trusted any more; it is treated as if it had crashed.
                self._stderr += f"\n{error}\n".encode()
                self.terminate()
                data = b""
            except OSError:
                data = b""
            if not data:
                self._selector.unregister(self._socket)
                self._wait_for_end()
        return answers

    def _wait_for_end(self) -> None:
        """Give a worker that closed its socket a moment to leave an exit code, then kill it."""
        try:
            self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.terminate()
            self._process.wait()

    def _read_stderr(self) -> None:
        stream = self._process.stderr
        if stream is None or stream.closed:
            return
        while True:
            try:
                data = os.read(stream.fileno(), 1 << 16)
            except (BlockingIOError, OSError):
                return
            if not data:
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(stream)
                return
            self._stderr = (self._stderr + data)[-STDERR_BYTES:]

    def _said(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    def _ended(self, clock: _Clock) -> Death:
        code = self._process.wait()
        if code < 0:
            name = signal.Signals(-code).name if -code in {item.value for item in signal.Signals} else str(-code)
            return self._death(ReasonCode.CRASHED, f"the worker process died of {name}", clock, signal=name)
        return self._death(ReasonCode.CRASHED, f"the worker process ended with exit code {code}", clock, exit_code=code)

    def _death(self, reason: ReasonCode, message: str, clock: _Clock, **evidence: Any) -> Death:
        self._read_stderr()
        facts: dict[str, Any] = {
            **evidence,
            "seconds": round(time.monotonic() - clock.started, 1),
            "peak_memory_mb": round(self._peak_bytes / 1e6),
            "memory_limit_mb": self.spec.memory_mb,
            "files_before": self.files,
        }
        if clock.progress:
            facts["progress"] = clock.progress
        if said := self._said():
            facts["stderr"] = said[-4000:]
        return Death(reason, message, facts)


def worker_environment(threads: int) -> dict[str, str]:
    """Return the environment of a worker: so many threads for every numeric library, and no network for model hubs."""
    package = str(Path(stackroom.__file__).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    count = str(threads)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([package, inherited] if inherited else [package]),
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": os.environ.get("HF_HUB_OFFLINE", "1"),
        "PYTHONUNBUFFERED": "1",
    }
