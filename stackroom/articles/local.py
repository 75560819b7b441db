"""Embedding on this machine without blocking the event loop."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stackroom.articles.worker import WorkerThread
from stackroom.config import EmbedderSettings
from stackroom.embedding import Embedder, ModelIdentity, open_embedder
from stackroom.embedding.async_base import AsyncEmbedder
from stackroom.embedding.model_folder import BUNDLED_NAME
from stackroom.embedding.vectors import check_texts, checked_unit_vectors
from stackroom.errors import EmbeddingError


class Encoder(Protocol):
    """What an injected model must offer: the ``encode`` of sentence-transformers."""

    def encode(self, sentences: list[str], *, convert_to_numpy: bool) -> Any:
        """Return vectors, (n, dimension)."""
        ...


class AsyncLocalEmbedder(AsyncEmbedder):
    """Any embedder of the product, in a thread of its own; calls run one after another."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._worker = WorkerThread("embedder")

    @property
    def model_key(self) -> str | None:
        """Key of the model's identity."""
        return self._embedder.identity.key

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See :meth:`AsyncEmbedder.embed`."""
        check_texts(texts)
        if not texts:
            return []
        given = list(texts)
        vectors: list[list[float]] = (await self._worker.run(lambda: self._embedder.embed(given))).tolist()
        return vectors

    async def aclose(self) -> None:
        """Release the model and end the thread."""
        await self._worker.stop(self._embedder.close)
        self._embedder.close()  # for the case that no thread was ever started; closing twice does no harm


class AsyncSentenceTransformerEmbedder(AsyncLocalEmbedder):
    """A sentence-transformers model, loaded in the background at the first text."""

    def __init__(
        self, model_name: str = "all-MiniLM-L6-v2", model: Encoder | None = None, cache: Path | None = None
    ) -> None:
        """Name the model.

        Args:
            model_name: the bundled ``all-MiniLM-L6-v2``, a model folder, or a hub name that is on this machine.
            model: a loaded model to use instead; ``model_name`` then only names it.
            cache: SQLite file of vectors already computed.

        Raises:
            EmbeddingError: there is no such model on this machine.
        """
        if model is not None:
            super().__init__(_Injected(model, model_name))
        elif model_name.lower().removeprefix("sentence-transformers/") == BUNDLED_NAME:
            super().__init__(open_embedder(EmbedderSettings(), cache))
        else:
            settings = EmbedderSettings(kind="sentence_transformers", model=model_name)
            super().__init__(open_embedder(settings, cache))

    @property
    def model_key(self) -> str | None:
        """Key of the model's identity; None for an injected model, whose weights are not known."""
        return None if isinstance(self._embedder, _Injected) else super().model_key


class _Injected:
    """A model given by the caller behind the embedder contract."""

    def __init__(self, model: Encoder, name: str) -> None:
        self._model = model
        self._name = name

    @property
    def identity(self) -> ModelIdentity:
        raise EmbeddingError(f"the weights of the injected model {self._name!r} are not known")

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        try:
            vectors = np.asarray(self._model.encode(list(texts), convert_to_numpy=True))
        except (RuntimeError, ValueError, TypeError, LookupError, OSError, ArithmeticError, AttributeError) as error:
            raise EmbeddingError(f"the model {self._name!r} failed on {len(texts)} texts: {error!r}") from error
        dimension = vectors.shape[1] if vectors.ndim == 2 else 0
        return checked_unit_vectors(vectors, texts, dimension, self._name)

    def close(self) -> None:
        """The model belongs to the caller."""
