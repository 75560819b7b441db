"""Working ahead: preparing the next items in threads while the caller finishes the current one."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def prepared(
    items: Sequence[Item], prepare: Callable[[Item], Result], *, workers: int, window: int
) -> Iterator[tuple[Item, Result]]:
    """Yield items with their prepared results, as they become ready.

    Args:
        items: what to prepare.
        prepare: runs in a thread; an exception is raised when its item is yielded.
        workers: threads at once.
        window: most items under way or waiting to be taken, so that a slow caller bounds the memory.
    """
    waiting = deque(items)
    under_way: dict[Future[Result], Item] = {}
    pool = ThreadPoolExecutor(workers, thread_name_prefix="prepare")
    try:
        while waiting or under_way:
            while waiting and len(under_way) < window:
                item = waiting.popleft()
                under_way[pool.submit(prepare, item)] = item
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield under_way.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
