"""One HTTP client for all DOI services: rate limit per service, waiting as told, back-off, and bounds on everything.

It talks only to the hosts of the services it was given. A redirect is followed only to one of them.
"""

import email.utils
import importlib.metadata
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from stackroom.biblio.lookup import Found, NotFound, Unavailable
from stackroom.biblio.services import Service

MAX_ANSWER_BYTES = 5_000_000
"""Largest answer read; the longest record of a work (thousands of authors and references) has about 2 MB."""
MAX_REDIRECTS = 3
LONGEST_WAIT_SECONDS = 5.0
"""A service that asks for more patience is left alone for so long, and the next one is asked meanwhile."""
REST_SECONDS = 60.0
"""Rest of a service after it failed repeatedly."""

_log = logging.getLogger(__name__)

ServiceAnswer = Found | NotFound | Unavailable


@dataclass
class _Pace:
    """When a service may be asked again."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    next_request: float = 0.0
    rests_until: float = 0.0
    failures: int = 0


class DoiClient:
    """Asks single services. Safe to use from several threads."""

    def __init__(
        self,
        services: Sequence[Service],
        *,
        mailto: str | None = None,
        timeout_seconds: float = 10.0,
        attempts: int = 2,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open the client.

        Args:
            services: whom it may ask.
            mailto: address by which the services can reach whoever asks.
            timeout_seconds: longest time an answer may take, from request to last byte.
            attempts: tries per service for failures that may pass.
            clock: monotonic seconds.
            sleep: waits.
        """
        self._services = tuple(services)
        self._hosts = {urlsplit(service.base_url).netloc for service in services}
        self._paces = {service.name: _Pace() for service in services}
        self._mailto = mailto
        self._timeout = timeout_seconds
        self._attempts = attempts
        self._clock, self._sleep = clock, sleep
        contact = f" (mailto:{mailto})" if mailto else ""
        agent = f"stackroom/{importlib.metadata.version('stackroom')}{contact}"
        headers = {"User-Agent": agent, "Accept": "application/json"}
        self._http = httpx.Client(timeout=timeout_seconds, headers=headers, follow_redirects=False, trust_env=True)

    @property
    def services(self) -> tuple[Service, ...]:
        """Whom it may ask, in order."""
        return self._services

    def close(self) -> None:
        """Close connections."""
        self._http.close()

    def ask(self, service: Service, doi: str) -> ServiceAnswer:
        """Ask one service about a DOI.

        Returns:
            ``Found`` or ``NotFound`` as the service says, else ``Unavailable`` with the reason in words.
        """
        pace = self._paces[service.name]
        answer: ServiceAnswer = Unavailable("not asked")
        for attempt in range(self._attempts):
            if not self._wait_for_turn(service, pace):
                return Unavailable(f"{service.name} asked for patience")
            answer, again = self._try(service, doi, pace)
            if not again:
                break
            if attempt + 1 < self._attempts:
                self._sleep(min(0.5 * 2**attempt, LONGEST_WAIT_SECONDS))
        self._note(service, pace, failed=isinstance(answer, Unavailable))
        return answer

    def _wait_for_turn(self, service: Service, pace: _Pace) -> bool:
        """Wait until the service may be asked; False when that is too far off."""
        with pace.lock:
            now = self._clock()
            ready = max(pace.next_request, pace.rests_until)
            if ready - now > LONGEST_WAIT_SECONDS:
                return False
            pace.next_request = max(now, ready) + service.min_interval_seconds
        if ready > now:
            self._sleep(ready - now)
        return True

    def _note(self, service: Service, pace: _Pace, *, failed: bool) -> None:
        with pace.lock:
            pace.failures = pace.failures + 1 if failed else 0
            if pace.failures >= 3:
                pace.failures = 0
                pace.rests_until = max(pace.rests_until, self._clock() + REST_SECONDS)
                _log.warning("%s failed three times; it is left alone for %d s", service.name, REST_SECONDS)

    def _try(self, service: Service, doi: str, pace: _Pace) -> tuple[ServiceAnswer, bool]:
        """Make one request; the second value says whether trying again may help."""
        params = dict(service.params)
        if self._mailto and service.polite_param:
            params[service.polite_param] = self._mailto
        try:
            status, headers, body = self._get(service.url(doi), params)
        except httpx.TimeoutException:
            return Unavailable(f"{service.name} took longer than {self._timeout:g} s"), False
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Unavailable(f"{service.name} cannot be reached ({type(error).__name__})"), True
        if status in (404, 410):
            return NotFound((service.name,)), False
        if status == 429 or status == 503:
            wait = retry_after_seconds(headers.get("retry-after"))
            with pace.lock:
                pace.rests_until = self._clock() + (1.0 if wait is None else wait)
            return Unavailable(f"{service.name} is busy (HTTP {status})"), True
        if status != 200:
            return Unavailable(f"{service.name} answered HTTP {status}"), status >= 500
        return _parsed(service, body), False

    def _get(self, url: str, params: dict[str, str]) -> tuple[int, httpx.Headers, bytes]:
        """Fetch an address, redirects among the services' hosts followed, within the time and size allowed."""
        deadline = self._clock() + self._timeout
        target = httpx.URL(url, params=params) if params else httpx.URL(url)
        for _ in range(MAX_REDIRECTS + 1):
            with self._http.stream("GET", target) as response:
                location = response.headers.get("location")
                if response.is_redirect and location:
                    target = self._allowed(str(target), location)
                    continue
                return response.status_code, response.headers, self._body(response, deadline)
        raise httpx.TooManyRedirects("too many redirects")

    def _allowed(self, source: str, location: str) -> httpx.URL:
        target = urljoin(source, location)
        if urlsplit(target).netloc not in self._hosts or urlsplit(target).scheme != urlsplit(source).scheme:
            raise httpx.UnsupportedProtocol(f"redirect to {urlsplit(target).netloc}, which is not on the list")
        return httpx.URL(target)

    def _body(self, response: httpx.Response, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise httpx.DecodingError("the answer is too large")
            if self._clock() > deadline:
                raise httpx.ReadTimeout("the answer takes too long")
            parts.append(part)
        return b"".join(parts)


def _parsed(service: Service, body: bytes) -> ServiceAnswer:
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return Unavailable(f"{service.name} sent no valid JSON")
    record = service.parse(answer) if isinstance(answer, dict) else None
    if record is None:
        return Unavailable(f"{service.name} sent a record without a title")
    return Found(record, service.name)


def retry_after_seconds(value: str | None) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, as a number or a date; None if it is neither."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())
