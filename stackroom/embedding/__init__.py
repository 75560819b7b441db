"""The embedder contract and how to open one. Models are imported only inside their own module."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stackroom.embedding.identity import Embedded, ModelIdentity

if TYPE_CHECKING:
    from stackroom.config import EmbedderSettings
    from stackroom.embedding.cached import CachedEmbedder

__all__ = ["Embedded", "Embedder", "ModelIdentity", "model_key", "open_embedder"]


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def identity(self) -> ModelIdentity:
        """What makes this embedder's vectors comparable; known without loading the model."""
        ...

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors, (len(texts), dimension) float32, L2-normalised, in the order of the texts.

        Raises:
            EmbeddingError: the model failed, or gave non-finite or zero vectors.
        """
        ...

    def close(self) -> None:
        """Release the model."""
        ...


def open_embedder(settings: "EmbedderSettings", cache: Path | None = None) -> "CachedEmbedder":
    """Open the embedder the settings name. The model itself is loaded at the first text that is not in the cache.

    Args:
        settings: which model, and how to reach or run it.
        cache: SQLite file of vectors already computed, created if absent; None means that nothing is kept.

    Raises:
        EmbeddingError: the model is not on this machine, or is not what it should be.
    """
    from stackroom.embedding.cache import VectorCache
    from stackroom.embedding.cached import CachedEmbedder

    store = None if cache is None else VectorCache(cache)
    if settings.kind == "openai":
        from stackroom.embedding.openai_sync import OpenAIEmbedder

        return CachedEmbedder(OpenAIEmbedder(settings, store), store)
    from stackroom.embedding.local import LocalEmbedder
    from stackroom.embedding.model_folder import find_model

    return CachedEmbedder(LocalEmbedder(settings, find_model(settings), store), store)


def model_key(settings: "EmbedderSettings") -> str:
    """Return the identity key of the model the settings name, without asking a remote service anything.

    Raises:
        EmbeddingError: the model is not on this machine, or the address of the service cannot be used.
    """
    if settings.kind == "openai":
        from stackroom.embedding.openai_sync import remote_identity

        return remote_identity(settings, settings.dimension or 0).key
    from stackroom.embedding.model_folder import find_model

    return find_model(settings).identity().key
