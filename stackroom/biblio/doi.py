"""Looking up DOIs: the cache first, then one service after the other until one settles the question."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from stackroom.biblio.doi_cache import DoiCache
from stackroom.biblio.doi_text import doi_key, is_doi, is_placeholder, normalize_doi
from stackroom.biblio.lookup import Answer, Found, NotFound, Unavailable
from stackroom.biblio.services import SERVICES
from stackroom.config import MetadataSettings

if TYPE_CHECKING:
    from stackroom.biblio.doi_client import DoiClient


class DoiResolver:
    """Answers what is known of a DOI. Safe to use from several threads; close it when done."""

    def __init__(self, client: "DoiClient | None", cache: DoiCache) -> None:
        """Combine a client and a cache.

        Args:
            client: asks the services; None means that only the cache is asked.
            cache: answers that are known already.
        """
        self._client = client
        self._cache = cache

    def __enter__(self) -> Self:
        """Return the resolver itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close connections and the cache."""
        if self._client is not None:
            self._client.close()
        self._cache.close()

    def resolve(self, doi: str) -> Answer:
        """Return what is known of a DOI.

        Returns:
            ``Found`` from the first service with a record that has a title. ``NotFound`` when every service that
            could be asked says there is no such DOI. ``Unavailable`` when a service that might know it did not answer;
            that is never cached. Without a client, what is not in the cache is ``Unavailable`` without a reason.
        """
        doi = normalize_doi(doi)
        if not is_doi(doi) or is_placeholder(doi):
            return NotFound()
        key = doi_key(doi)
        known = self._cache.get(key)
        if known is not None:
            return known
        if self._client is None:
            return Unavailable()
        answer = self._ask_all(self._client, doi)
        if not isinstance(answer, Unavailable):
            self._cache.put(key, answer)
        return answer

    @staticmethod
    def _ask_all(client: "DoiClient", doi: str) -> Answer:
        denied: list[str] = []
        failures: list[str] = []
        for service in client.services:
            answer = client.ask(service, doi)
            if isinstance(answer, Found):
                return answer
            if isinstance(answer, NotFound):
                denied.append(service.name)
            else:
                failures.append(answer.reason)
        return Unavailable("; ".join(failures)) if failures else NotFound(tuple(denied))


def open_resolver(
    settings: MetadataSettings, cache_file: Path, base_urls: Mapping[str, str] | None = None
) -> DoiResolver:
    """Open what looks DOIs up; it asks services only if ``lookup`` is on.

    Args:
        settings: of metadata.
        cache_file: SQLite file of known answers.
        base_urls: other addresses of services, by name (a mirror, or a test server); then only these are asked.
    """
    cache = DoiCache(cache_file, found_days=settings.record_days, missing_days=settings.missing_days)
    if settings.lookup != "on":
        return DoiResolver(None, cache)
    from stackroom.biblio.doi_client import DoiClient  # its HTTP library is loaded only by those who ask

    services = [SERVICES[name] for name in settings.services]
    if base_urls is not None:
        services = [replace(item, base_url=base_urls[item.name]) for item in services if item.name in base_urls]
    client = DoiClient(services, mailto=settings.mailto, timeout_seconds=settings.timeout_seconds)
    return DoiResolver(client, cache)
