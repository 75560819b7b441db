"""What makes vectors comparable, and what an embedding call gives back. Types only."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ModelIdentity:
    """What makes two sets of vectors comparable."""

    name: str
    weights: str
    """SHA-256 of the weights, or of the service address for remote models."""
    dimension: int
    max_tokens: int

    @property
    def key(self) -> str:
        """Short form for collection names: ``all-minilm-l6-v2-53aa5117``."""
        return f"{self.name}-{self.weights[:8]}"


@dataclass(frozen=True)
class Embedded:
    """Vectors, and how many of them were there already."""

    vectors: np.ndarray
    """(n, dimension) float32, L2-normalised, in the order of the texts."""
    reused: int
    """Texts whose vector came from the cache, or from an equal text of the same call."""
    new: int
    """Texts the model was run on."""
