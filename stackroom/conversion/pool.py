"""Several worker processes at once, and what a death costs: blame, one retry alone, then quarantine.

A worker works on one file at a time, so whatever ends it is the doing of the file in hand. That file is tried once
more, alone in a fresh worker; the other workers never notice.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from stackroom.config import LimitSettings
from stackroom.conversion.channel import Message
from stackroom.conversion.process import Death, WorkerProcess, WorkerSpec
from stackroom.errors import ConversionError
from stackroom.outcome import Failed, ReasonCode

RECYCLE_FRACTION = 0.6
"""Share of the memory limit above which a worker is replaced before its next file: docling does not give all memory
back, and the next file should not die of what an earlier one left."""


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worker_count(limits: LimitSettings, cores: int) -> int:
    """Return how many workers run at once: what is asked for, or one per core, but never above the memory budget."""
    return max(1, min(limits.workers or cores, limits.memory_budget_mb // limits.worker_memory_mb))


def worker_spec(module: str, options: dict[str, Any], limits: LimitSettings) -> WorkerSpec:
    """Return how the workers of a pool with these limits are started. The cores are shared out among them."""
    cores = available_cores()
    return WorkerSpec(
        module=module,
        options=options,
        memory_mb=limits.worker_memory_mb,
        threads=max(1, cores // worker_count(limits, cores)),
        deadline_seconds=limits.deadline_seconds,
        deadline_seconds_per_page=limits.deadline_seconds_per_page,
    )


class WorkerPool:
    """Runs requests in worker processes. :meth:`run` may be called from several threads; it blocks its caller."""

    def __init__(self, spec: WorkerSpec, workers: int, files_per_worker: int) -> None:
        """Start the first worker, so that limits no worker can meet are an error now and not a loop later.

        Raises:
            ConfigError: see :meth:`WorkerProcess.start`.
            ConversionError: see :meth:`WorkerProcess.start`.
        """
        self.workers = workers
        self._spec = spec
        self._files_per_worker = files_per_worker
        self._free = threading.Condition()
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._reserved = 0
        """Workers that exist or are being started."""
        self._closed = False
        # Linux kills a worker when the *thread* that started it ends (PR_SET_PDEATHSIG); this one lives as long as
        # the pool, the caller's thread may not.
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stackroom-worker-starter")
        try:
            self._release(self._acquire(fresh=True))
        except BaseException:
            self.close()
            raise

    def run(self, request: Message, cautiously: Message | None = None, *, prepared: bool = False) -> Message | Failed:
        """Have a worker do what is asked and return its answer; a request that kills its worker twice is a failure.

        Args:
            request: JSON-serialisable.
            cautiously: another way to ask for the same, for the second try when the first died of the file itself.
            prepared: by a worker that has loaded what only some requests need; see :meth:`WorkerProcess.prepare`.

        Raises:
            ConfigError: see :meth:`WorkerProcess.start`.
            ConversionError: a worker cannot be started or prepared, or the pool is closed.
        """
        first = self._attempt(request, fresh=False, prepared=prepared)
        if not isinstance(first, Death):
            return _unpack(first)
        if cautiously is None or _had_outside_cause(first):
            if not _worth_repeating(first):
                return _failed(first, attempts=1)
            cautiously = request
        second = self._attempt(cautiously, fresh=True, prepared=prepared)
        return _failed(second, attempts=2) if isinstance(second, Death) else _unpack(second)

    def run_fresh(self, request: Message, *, prepared: bool = False) -> Message | Failed:
        """As :meth:`run`, but in a worker that has seen no other file, and without a second try."""
        answer = self._attempt(request, fresh=True, prepared=prepared)
        return _failed(answer, attempts=1) if isinstance(answer, Death) else _unpack(answer)

    def close(self) -> None:
        """Kill all workers; requests in hand end as failures."""
        with self._free:
            self._closed = True
            doomed, self._idle = list(self._idle), []
            busy = self._all.difference(doomed)
            self._free.notify_all()
        for worker in doomed:
            self._discard(worker)
        for worker in busy:  # whoever holds it notices the death and discards it
            worker.terminate()
        self._starter.shutdown(wait=True)

    def __enter__(self) -> Self:
        """Return the pool itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pool."""
        self.close()

    def _attempt(self, request: Message, *, fresh: bool, prepared: bool) -> Message | Death:
        worker = self._acquire(fresh)
        try:
            if prepared:
                worker.prepare()
            answer = worker.ask(request)
        except BaseException:
            self._discard(worker)
            raise
        if isinstance(answer, Death):
            self._discard(worker)
        elif answer["kind"] == "out_of_memory":
            self._discard(worker)
            evidence = {"traceback": answer["traceback"], "files_before": worker.files - 1}
            return Death(ReasonCode.OUT_OF_MEMORY, "the worker process was refused memory", evidence)
        else:
            self._release(worker)
        return answer

    def _acquire(self, fresh: bool) -> WorkerProcess:
        """Wait for a worker; start one if there may be another, or if it must be one that has seen no file."""
        with self._free:
            while True:
                if self._closed:
                    raise ConversionError("the converter is closed")
                suitable = [worker for worker in self._idle if worker.alive and not (fresh and worker.files)]
                if suitable:
                    self._idle.remove(suitable[-1])
                    return suitable[-1]
                if self._reserved < self.workers:
                    break
                if self._idle:  # dead, or used where a fresh one is needed: make room
                    self._drop(self._idle.pop())
                    break
                self._free.wait()
            self._reserved += 1
        return self._start()

    def _start(self) -> WorkerProcess:
        worker: WorkerProcess | None = None
        try:
            worker = self._starter.submit(WorkerProcess, self._spec).result()
            with self._free:
                self._all.add(worker)
            worker.start()
        except OSError as error:  # no memory for another process, no file descriptors, …
            self._discard(worker)
            raise ConversionError(f"a worker process cannot be started: {error}") from error
        except BaseException:
            self._discard(worker)
            raise
        return worker

    def _release(self, worker: WorkerProcess) -> None:
        """Put a worker back, or end it when it has done its share of files or holds too much memory."""
        spent = worker.files >= self._files_per_worker or (
            worker.files > 0 and worker.resident_mb > RECYCLE_FRACTION * self._spec.memory_mb
        )
        with self._free:
            if not (spent or self._closed):
                self._idle.append(worker)
                self._free.notify()
                return
        self._discard(worker)

    def _discard(self, worker: WorkerProcess | None) -> None:
        with self._free:
            if worker is None:
                self._reserved -= 1
            else:
                self._drop(worker)
            self._free.notify()

    def _drop(self, worker: WorkerProcess) -> None:
        """End a worker and forget it; the caller holds the lock."""
        if worker in self._all:
            self._all.remove(worker)
            self._reserved -= 1
        worker.kill()


def _had_outside_cause(death: Death) -> bool:
    """Somebody else killed the worker: native code ends otherwise, and so do we (with another reason)."""
    return death.reason is ReasonCode.CRASHED and death.evidence.get("signal") in ("SIGKILL", "SIGTERM")


def _worth_repeating(death: Death) -> bool:
    """A crash may not come again; time and memory ran out for good if the file had a worker of its own."""
    return death.reason is ReasonCode.CRASHED or bool(death.evidence.get("files_before"))


def _failed(death: Death, attempts: int) -> Failed:
    return Failed(death.reason, death.message, {**death.evidence, "attempts": attempts})


def _unpack(answer: Message) -> Message | Failed:
    if answer["kind"] == "answer":
        content: Message = answer["answer"]
        return content
    evidence = {key: answer[key] for key in ("type", "message", "traceback")}
    return Failed(ReasonCode.INTERNAL_ERROR, f"{answer['type']}: {answer['message']}"[:500], evidence)
