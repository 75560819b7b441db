"""Keeping requests within what a service allows. A limiter is entered before every attempt and left after it.

Share one limiter between clients of the same provider to keep them inside one budget. Use each from one event loop.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class AsyncRateLimiter(ABC):
    """An async context manager: entering waits for a slot, leaving gives it back."""

    @abstractmethod
    async def acquire(self) -> None:
        """Wait for a slot and take it; a cancelled wait takes none."""

    @abstractmethod
    def release(self) -> None:
        """Give the slot back."""

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Nothing is awaited here: a cancellation cannot come between leaving and giving the slot back.
        self.release()


class NullRateLimiter(AsyncRateLimiter):
    """No limit."""

    async def acquire(self) -> None:
        """Return at once."""

    def release(self) -> None:
        """Do nothing."""


class SemaphoreRateLimiter(AsyncRateLimiter):
    """At most ``max_concurrency`` requests at the same time. Not re-entrant."""

    def __init__(self, max_concurrency: int = 4) -> None:
        if max_concurrency < 1:
            raise ValueError(f"max_concurrency must be at least 1, not {max_concurrency}")
        self._semaphore = asyncio.Semaphore(max_concurrency)
        self._held = 0

    @property
    def held(self) -> int:
        """Slots in use."""
        return self._held

    async def acquire(self) -> None:
        """Wait for a free slot."""
        await self._semaphore.acquire()
        self._held += 1

    def release(self) -> None:
        """Give the slot back."""
        self._held -= 1
        self._semaphore.release()


class WindowRateLimiter(AsyncRateLimiter):
    """At most ``max_rate`` requests in any ``time_period`` seconds, as the *server* counts them.

    A request counts from entering until one period after it was left. Only then is it certain that the server's own
    count of it has expired: when exactly a request reached the server cannot be seen from here.
    """

    def __init__(self, max_rate: float, time_period: float = 1.0) -> None:
        """Set the limit.

        Args:
            max_rate: requests per period; below 1 the period is stretched, fractions above 1 are dropped.
            time_period: seconds.

        Raises:
            ValueError: a number is not above 0.
        """
        if not max_rate > 0 or not time_period > 0:
            raise ValueError(f"max_rate and time_period must be above 0, not {max_rate} and {time_period}")
        self._window_seconds = time_period if max_rate >= 1 else time_period / max_rate
        self._left: deque[float] = deque()
        self._free = max(1, int(max_rate))
        self._turn = asyncio.Lock()
        self._released = asyncio.Event()

    async def acquire(self) -> None:
        """Wait until one more request keeps the limit; first come, first served."""
        async with self._turn:
            while True:
                self._expire()
                if self._free > 0:
                    self._free -= 1
                    return
                self._released.clear()
                if self._left:
                    await asyncio.sleep(max(0.0, self._left[0] - time.monotonic()))
                else:
                    await self._released.wait()

    def release(self) -> None:
        """Start the period after which the slot is free again."""
        self._left.append(time.monotonic() + self._window_seconds)
        self._released.set()

    def _expire(self) -> None:
        now = time.monotonic()
        while self._left and self._left[0] <= now:
            self._left.popleft()
            self._free += 1


class HostRateLimiter:
    """Chooses a limiter by the host of an address; a host covers its sub-domains, the longest match wins."""

    def __init__(self, limiters: Mapping[str, AsyncRateLimiter], default: AsyncRateLimiter | None = None) -> None:
        """Set the limiters.

        Args:
            limiters: host to limiter; case, surrounding dots and blanks do not matter.
            default: for all other hosts; None means no limit.

        Raises:
            ValueError: a host is blank, or named twice.
        """
        self._limiters: dict[str, AsyncRateLimiter] = {}
        self._default = default or NullRateLimiter()
        for host, limiter in limiters.items():
            name = host.strip().strip(".").lower()
            if not name:
                raise ValueError(f"blank host {host!r} in the rate limits")
            if name in self._limiters:
                raise ValueError(f"duplicate host {name!r} in the rate limits")
            self._limiters[name] = limiter

    def for_url(self, url: str) -> AsyncRateLimiter:
        """Return the limiter of an address (scheme, user and port do not matter; without scheme there is no host)."""
        try:
            host = (urlsplit(url).hostname or "").rstrip(".").lower()
        except ValueError:  # an address with broken brackets has no host
            host = ""
        labels = host.split(".") if host else []
        for start in range(len(labels)):
            limiter = self._limiters.get(".".join(labels[start:]))
            if limiter is not None:
                return limiter
        return self._default


RateLimiting = AsyncRateLimiter | HostRateLimiter


def limiter_for(limiter: RateLimiting | None, url: str) -> AsyncRateLimiter:
    """Return the limiter to enter for an address."""
    if limiter is None:
        return NullRateLimiter()
    return limiter.for_url(url) if isinstance(limiter, HostRateLimiter) else limiter


def build_rate_limiter(
    max_concurrency: int = 4, max_rate: float | None = None, time_period: float = 1.0
) -> AsyncRateLimiter:
    """Return a limiter of ``max_rate`` requests per ``time_period`` seconds, or, without a rate, of concurrency."""
    if max_rate is not None:
        return WindowRateLimiter(max_rate, time_period)
    return SemaphoreRateLimiter(max_concurrency)
