"""How long to wait before asking a service again. Pure arithmetic; nobody sleeps here."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def parse_retry_after(value: object, now: datetime | None = None) -> float | None:
    """Return the seconds a ``Retry-After`` header asks for; None when it says nothing usable.

    Args:
        value: the header: a number of seconds, or an HTTP date (without zone: UTC). Anything but text says nothing.
        now: the present, with zone (default: the clock).
    """
    if not isinstance(value, str):
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(value.strip())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def retry_after_from_headers(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds a response asks to wait: ``retry-after-ms`` if usable, else ``Retry-After``, else None.

    Args:
        headers: the response's headers; names in any case.
        now: the present, with zone (default: the clock).
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    milliseconds = lowered.get("retry-after-ms")
    wait = _number(milliseconds) if isinstance(milliseconds, str) else None
    if wait is not None:
        return wait / 1000
    return parse_retry_after(lowered.get("retry-after"), now)


def retry_delay(attempt: int, backoff_factor: float, retry_after: float | None, max_retry_after: float) -> float:
    """Return the seconds to wait after a failed attempt.

    Args:
        attempt: number of the attempt, from 0.
        backoff_factor: the wait without a word from the server is ``backoff_factor ** attempt``.
        retry_after: seconds the server asks for.
        max_retry_after: most seconds the server is granted; the backoff itself is not capped.
    """
    backoff = float(backoff_factor**attempt)
    return backoff if retry_after is None else max(backoff, min(retry_after, max_retry_after))


def _number(text: str) -> float | None:
    """Return a finite number that is not negative, else None (a negative or infinite wait makes no sense)."""
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
