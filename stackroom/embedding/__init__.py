"""The embedder contract and how to open one. Models are imported only inside their own module."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class ModelIdentity:
    """What makes two sets of vectors comparable."""

    name: str
    weights: str
    """SHA-256 of the weights, or the service address for remote models."""
    dimension: int
    max_tokens: int

    @property
    def key(self) -> str:
        """Short form for collection names: ``all-minilm-l6-v2-53aa5117``."""
        return f"{self.name}-{self.weights[:8]}"


class Embedder(Protocol):
    """Turns texts into vectors."""

    identity: ModelIdentity

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors, (len(texts), dimension) float32, L2-normalised, in the order of the texts.

        Raises:
            EmbeddingError: the model failed, or gave non-finite or zero vectors.
        """
        ...

    def close(self) -> None:
        """Release the model."""
        ...
