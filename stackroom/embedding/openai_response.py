"""Reading the answer of an ``/embeddings`` service: vectors are placed by index, and nothing is taken on trust."""

import base64
import binascii
from typing import Any

import numpy as np

from stackroom.errors import EmbeddingError


def vectors_of_response(body: Any, count: int, dimension: int | None) -> list[list[float]]:
    """Return the vectors of an answer, in the order of the texts that were sent.

    Args:
        body: the parsed JSON body.
        count: how many texts were sent.
        dimension: length every vector must have; None takes the length of the first.

    Raises:
        EmbeddingError: there are too few or too many vectors, an index is missing, repeated or out of range, or a
            vector is empty, zero, not finite, or of another length.
    """
    items = body.get("data") if isinstance(body, dict) else None
    if not isinstance(items, list):
        raise EmbeddingError("the answer of the embedding service has no list `data`")
    if len(items) != count:
        raise EmbeddingError(f"the embedding service answered {len(items)} vectors for {count} texts")
    placed: dict[int, list[float]] = {}
    for item in items:
        index = _index(item, count)
        if index in placed:
            raise EmbeddingError(f"the embedding service answered two vectors of index {index}")
        vector = _vector(item.get("embedding"), index)
        dimension = len(vector) if dimension is None else dimension
        if len(vector) != dimension:
            raise EmbeddingError(
                f"the embedding service answered {len(vector)} numbers at index {index}; a vector has {dimension}"
            )
        placed[index] = vector
    return [placed[index] for index in range(count)]


def _index(item: Any, count: int) -> int:
    index = item.get("index") if isinstance(item, dict) else None
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
        raise EmbeddingError(f"the embedding service answered an item of index {index!r} for {count} texts")
    return index


def _vector(value: Any, index: int) -> list[float]:
    """Return a vector given as a list of numbers, or as base64 of little-endian float32 (some services ignore the ask).

    Raises:
        EmbeddingError: it is neither, or cannot be used.
    """
    try:
        if isinstance(value, str):
            numbers = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        elif isinstance(value, list) and not any(isinstance(number, (bool, str)) for number in value):
            numbers = np.asarray(value, dtype=np.float64)
        else:
            raise EmbeddingError(f"the embedding service answered no vector at index {index}")
    except (ValueError, TypeError, OverflowError, binascii.Error) as error:
        raise EmbeddingError(f"the embedding service answered a malformed vector at index {index}: {error}") from error
    if numbers.ndim != 1 or not numbers.size:
        raise EmbeddingError(f"the embedding service answered an empty or nested vector at index {index}")
    if not np.isfinite(numbers).all() or not numbers.any():
        raise EmbeddingError(f"the embedding service answered a zero or non-finite vector at index {index}")
    vector: list[float] = numbers.tolist()
    return vector
