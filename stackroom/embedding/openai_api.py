"""Any OpenAI-compatible ``/embeddings`` service, over HTTP, with one retry layer of its own."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx
from pydantic import SecretStr

from stackroom.embedding.async_base import AsyncEmbedder, TokenUsage
from stackroom.embedding.openai_response import vectors_of_response
from stackroom.embedding.rate_limit import RateLimiting, limiter_for
from stackroom.embedding.retry import retry_after_from_headers, retry_delay
from stackroom.embedding.vectors import check_texts
from stackroom.errors import EmbeddingError, EmbeddingUnavailableError

_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
_EXCERPT = 300

_Sleep = Callable[[float], Awaitable[Any]]


class _TryAgainError(Exception):
    """An attempt failed in a way that may pass."""

    def __init__(self, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class AsyncOpenAIEmbedder(AsyncEmbedder):
    """Embeds texts through an OpenAI-compatible service. Use from one event loop; several tasks may share it.

    Batches are sent one after another. Time-outs, connection errors, HTTP 429 and 5xx are tried again; everything
    else is an error at once. The key is never part of a message.
    """

    def __init__(
        self,
        api_key: str | SecretStr,
        base_url: str,
        model: str,
        batch_size: int = 128,
        max_retries: int = 3,
        backoff_factor: float = 2.0,
        sleep: _Sleep = asyncio.sleep,
        max_retry_after: float = 60.0,
        rate_limiter: RateLimiting | None = None,
        timeout_seconds: float = 60.0,
        dimension: int | None = None,
    ) -> None:
        """Set up the client; nothing is sent.

        Args:
            api_key: the key; empty for services that need none.
            base_url: address above ``/embeddings``, for example ``https://host/v1``.
            model: model name sent to the service.
            batch_size: texts per request; below 1 counts as 1.
            max_retries: attempts per batch, the first included.
            backoff_factor: seconds waited after attempt n are ``backoff_factor ** n``, n from 0.
            sleep: what waits between attempts.
            max_retry_after: most seconds a server's own wish is followed.
            rate_limiter: entered for every attempt, left before waiting; a host limiter is asked for ``base_url``.
            timeout_seconds: time one attempt may take, from connecting to the last byte of the body.
            dimension: length the vectors must have; None takes what the first answer has.

        Raises:
            ValueError: an argument is out of range, or the key or address cannot be used.
        """
        if max_retries < 1:
            raise ValueError(f"max_retries must be at least 1, not {max_retries}")
        if max_retry_after < 0:
            raise ValueError(f"max_retry_after must not be negative, not {max_retry_after}")
        if backoff_factor < 0:
            raise ValueError(f"backoff_factor must not be negative, not {backoff_factor}")
        if not timeout_seconds > 0:
            raise ValueError(f"timeout_seconds must be above 0, not {timeout_seconds}")
        self._key = _checked_key(api_key)
        self._url = _embeddings_url(base_url)
        self._base_url = base_url
        self._model = model
        self._batch_size = max(1, batch_size)
        self._max_retries = max_retries
        self._backoff_factor = backoff_factor
        self._sleep = sleep
        self._max_retry_after = max_retry_after
        self._rate_limiter = rate_limiter
        self._timeout_seconds = timeout_seconds
        self._dimension = dimension
        self._usage = TokenUsage()
        self._client: httpx.AsyncClient | None = None
        self._client_loop: asyncio.AbstractEventLoop | None = None

    @property
    def usage(self) -> TokenUsage:
        """Requests answered and tokens counted by the service so far, those of failed calls included."""
        return self._usage

    @property
    def model_key(self) -> str:
        """The model's name at the service's host."""
        return f"{self._model}@{self._url.host}"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See :meth:`AsyncEmbedder.embed`.

        Raises:
            EmbeddingUnavailableError: every attempt met a time-out, a connection error, HTTP 429 or 5xx.
            EmbeddingError: the service refused the request, or its answer cannot be used.
            TypeError: one text was given instead of a list.
        """
        check_texts(texts)
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self._batch_size):
            vectors += await self._batch(list(texts[start : start + self._batch_size]))
        return vectors

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        for attempt in range(self._max_retries):
            try:
                async with limiter_for(self._rate_limiter, self._base_url):
                    body = await self._attempt(texts)
            except _TryAgainError as error:
                if attempt + 1 == self._max_retries:
                    raise EmbeddingUnavailableError(
                        f"{self._where()} failed {self._max_retries} times; the last time: {error}"
                    ) from error
                delay = retry_delay(attempt, self._backoff_factor, error.retry_after, self._max_retry_after)
            else:
                self._usage += TokenUsage.of_response(body.get("usage") if isinstance(body, dict) else None)
                vectors = vectors_of_response(body, len(texts), self._dimension)
                self._dimension = len(vectors[0])
                return vectors
            await self._sleep(delay)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _attempt(self, texts: list[str]) -> Any:
        """Send one request and return the parsed body.

        Raises:
            _TryAgainError: it failed in a way that may pass.
            EmbeddingError: it failed for good.
        """
        # Lone surrogates (from broken PDFs) cannot be sent as UTF-8.
        texts = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        request = {"model": self._model, "input": texts, "encoding_format": "float"}
        try:
            # The client's own limits are per read: a body that drips would never run into them.
            async with asyncio.timeout(self._timeout_seconds):
                response = await self._open_client().post(self._url, json=request)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _TryAgainError(f"no complete answer within {self._timeout_seconds:g} s") from error
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError) as error:
            raise _TryAgainError(f"connection error ({type(error).__name__}: {self._safe(str(error))})") from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise EmbeddingError(f"{self._where()} cannot be asked: {self._safe(str(error))}") from error
        if response.status_code == _TOO_MANY_REQUESTS or response.status_code >= _SERVER_ERROR:
            raise _TryAgainError(self._refusal(response), retry_after_from_headers(response.headers))
        if not response.is_success:
            raise EmbeddingError(f"{self._where()} refused: {self._refusal(response)}")
        try:
            return response.json()
        except ValueError as error:
            excerpt = self._safe(response.text[:_EXCERPT])
            raise EmbeddingError(f"{self._where()} answered something that is not JSON: {excerpt!r}") from error

    def _open_client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._client_loop is not loop:
            # Connections belong to the event loop they were opened on; a second `asyncio.run` needs new ones.
            self._client_loop = loop
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            self._client = httpx.AsyncClient(headers=headers, timeout=self._timeout_seconds)
        return self._client

    def _refusal(self, response: httpx.Response) -> str:
        """Return status and the service's own words."""
        try:
            body = response.json()
            said = body["error"]["message"] if isinstance(body["error"], dict) else body["error"]
        except (ValueError, KeyError, TypeError):
            said = response.text
        said = self._safe(" ".join(str(said).split()))[:_EXCERPT]
        return f"HTTP {response.status_code}" + (f" ({said})" if said else "")

    def _safe(self, text: str) -> str:
        """Return a text in which the key, should a service repeat it, is blotted out."""
        return text.replace(self._key, "[key]") if self._key else text

    def _where(self) -> str:
        port = f":{self._url.port}" if self._url.port else ""
        return f"the embedding service at {self._url.scheme}://{self._url.host}{port} (model {self._model!r})"


def _checked_key(api_key: str | SecretStr) -> str:
    key = (api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key).strip()
    # The HTTP library would repeat such a header, key and all, in its own message.
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        raise ValueError("the API key holds blanks, control characters or letters outside ASCII; check where it is set")
    return key


def _embeddings_url(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"base_url is not an address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("base_url must be an address such as https://host/v1")
    return url.copy_with(path=url.path.rstrip("/") + "/embeddings")
