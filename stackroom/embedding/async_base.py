"""The embedder contract of the article memory: asynchronous, plain lists of floats, with a count of tokens."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class TokenUsage:
    """What a service says it has counted."""

    requests: int = 0
    """Answered requests."""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Self) -> "TokenUsage":
        return TokenUsage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def __sub__(self, other: Self) -> "TokenUsage":
        return TokenUsage(
            self.requests - other.requests,
            self.prompt_tokens - other.prompt_tokens,
            self.completion_tokens - other.completion_tokens,
        )

    @classmethod
    def of_response(cls, usage: object) -> "TokenUsage":
        """Return the usage block of one answer; a field that is missing or no count is 0."""
        fields: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
        return cls(1, _count(fields.get("prompt_tokens")), _count(fields.get("completion_tokens")))


class AsyncEmbedder(ABC):
    """Turns texts into vectors without blocking the event loop."""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text, in the order of the texts.

        Raises:
            EmbeddingError: the texts could not be embedded.
            TypeError: one text was given instead of a list.
        """

    @property
    def usage(self) -> TokenUsage | None:
        """What has been used so far; None when nothing is counted."""
        return None

    @property
    def model_key(self) -> str | None:
        """Name of the model whose vectors these are; memories record it and refuse vectors of another."""
        return None

    async def aclose(self) -> None:
        """Release connections or the model."""
        return


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
