"""Running blocking work in one thread of its own, one job after another."""

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


class WorkerThread:
    """A queue of blocking jobs and the one thread that does them; started at the first job.

    Jobs never overlap, whatever happens to those who wait for them: that is what makes a connection used only from
    here safe under any number of cancellations.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._executor: concurrent.futures.ThreadPoolExecutor | None = None

    async def run(self, job: Callable[[], _Result]) -> _Result:
        """Do a job and return its result.

        A caller that is cancelled while the job waits in the queue takes it back: it never runs. Once it runs it runs
        to its end, and only then the cancellation goes on, however often the caller is cancelled meanwhile.
        """
        if self._executor is None:
            self._executor = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix=self._name)
        submitted = self._executor.submit(job)
        waiter = asyncio.wrap_future(submitted)
        try:
            await asyncio.wait([waiter])  # unlike awaiting the future itself, this leaves it alone when cancelled
        except asyncio.CancelledError:
            if not submitted.cancel():
                await _until_done(waiter)
            raise
        return waiter.result()

    async def stop(self, last_job: Callable[[], object]) -> None:
        """Do a last job after all that are queued, and end the thread; the next job starts another."""
        executor, self._executor = self._executor, None
        if executor is None:
            return
        waiter = asyncio.wrap_future(executor.submit(last_job))
        executor.shutdown(wait=False)
        try:
            await asyncio.wait([waiter])
        except asyncio.CancelledError:
            await _until_done(waiter)
            raise
        waiter.result()


async def _until_done(waiter: "asyncio.Future[_Result]") -> None:
    """Wait for a job whose result nobody wants any more, through further cancellations."""
    while not waiter.done():
        try:
            await asyncio.wait([waiter])
        except asyncio.CancelledError:
            continue
    if not waiter.cancelled():
        waiter.exception()  # mark as seen: the error of an abandoned job is not reported as "never retrieved"
