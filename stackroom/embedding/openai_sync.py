"""The embedding service as an embedder for corpora: the asynchronous client on an event loop of its own."""

import asyncio
import concurrent.futures
import hashlib
import os
import threading
from collections.abc import Coroutine, Sequence
from typing import TypeVar

import httpx
import numpy as np

from stackroom.config import EmbedderSettings
from stackroom.embedding.cache import VectorCache
from stackroom.embedding.identity import ModelIdentity
from stackroom.embedding.model_folder import slug
from stackroom.embedding.openai_api import AsyncOpenAIEmbedder
from stackroom.embedding.rate_limit import WindowRateLimiter
from stackroom.embedding.tokenizer import DEFAULT_REMOTE_TOKENS
from stackroom.embedding.vectors import checked_unit_vectors
from stackroom.errors import EmbeddingError

_Result = TypeVar("_Result")


class OpenAIEmbedder:
    """A remote model behind the synchronous contract. Safe to call from several threads, or from async code.

    The key is read from the environment when the client is made. The length of the vectors is taken from the
    settings, else from the cache, else from the service, which is asked once.
    """

    def __init__(self, settings: EmbedderSettings, cache: VectorCache | None = None) -> None:
        """Set up the client; nothing is sent.

        Raises:
            EmbeddingError: the address or the key cannot be used.
        """
        self._settings = settings
        self._cache = cache
        self._address = _address(settings.base_url or "")
        self.cache_key = f"{settings.model}@{self._address}"
        self.batch_texts = settings.batch_size
        self._dimension = settings.dimension
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        try:
            self._client = AsyncOpenAIEmbedder(
                os.environ.get(settings.api_key_variable, ""),
                settings.base_url or "",
                settings.model or "",
                batch_size=settings.batch_size,
                max_retries=settings.max_attempts,
                rate_limiter=WindowRateLimiter(settings.requests_per_minute, 60.0),
                timeout_seconds=settings.timeout_seconds,
                dimension=settings.dimension,
            )
        except ValueError as error:
            raise EmbeddingError(
                f"the embedder in stackroom.yaml (key from ${settings.api_key_variable}): {error}"
            ) from error

    @property
    def identity(self) -> ModelIdentity:
        """See :class:`stackroom.embedding.Embedder`; may ask the service once for the length of its vectors."""
        return remote_identity(self._settings, self._dimension or self._learn_dimension())

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See :meth:`stackroom.embedding.Embedder.embed`."""
        if not texts:
            return np.zeros((0, self.identity.dimension), dtype=np.float32)
        vectors = np.asarray(self._ask(texts))
        self._dimension = self._dimension or vectors.shape[1]
        return checked_unit_vectors(vectors, texts, self._dimension, self._settings.model or "")

    def close(self) -> None:
        """Close the connections and end the event loop; the next call starts another."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            _run(loop, self._client.aclose())
            loop.call_soon_threadsafe(loop.stop)

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            return _run(self._running_loop(), self._client.embed(texts))
        except EmbeddingError as error:
            variable = self._settings.api_key_variable
            if "HTTP 401" in str(error) and not os.environ.get(variable):
                raise EmbeddingError(f"{error}; the environment variable {variable} is not set") from error
            raise

    def _learn_dimension(self) -> int:
        key = f"dimension:{self.cache_key}"
        known = self._cache.fact(key) if self._cache is not None else None
        if known is not None:
            self._dimension = int(known)
        else:
            self._dimension = len(self._ask(["length"])[0])
            if self._cache is not None:
                self._cache.remember(key, str(self._dimension))
        return self._dimension

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=[self._loop], name="openai-embedder", daemon=True).start()
            return self._loop


def remote_identity(settings: EmbedderSettings, dimension: int) -> ModelIdentity:
    """Return what names a remote model: its name, and the address of its service in place of its weights.

    Raises:
        EmbeddingError: the address cannot be used.
    """
    return ModelIdentity(
        name=slug(settings.model or ""),
        weights=hashlib.sha256(_address(settings.base_url or "").encode()).hexdigest(),
        dimension=dimension,
        max_tokens=settings.max_tokens or DEFAULT_REMOTE_TOKENS,
    )


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _run(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[object, object, _Result]) -> _Result:
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    finally:
        # An interrupt (Ctrl-C) ends the wait, not the request; without this it would go on in the background.
        if not future.done():
            future.cancel()
            concurrent.futures.wait([future], timeout=5)


def _address(base_url: str) -> str:
    """Return the address without user, password and trailing slash: what names the service."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise EmbeddingError(f"`base_url` of the embedder is not an address: {error}") from error
    return str(url.copy_with(username=None, password=None, path=url.path.rstrip("/"))).rstrip("/")
