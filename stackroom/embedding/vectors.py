"""Checking and normalising vectors: one rule for every embedder and store."""

from collections.abc import Sequence

import numpy as np

from stackroom.errors import EmbeddingError


def check_texts(texts: Sequence[str]) -> None:
    """Refuse one text where a list of texts is expected: it would be embedded letter by letter.

    Raises:
        TypeError: ``texts`` is one text, or holds something that is not text.
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError("embed takes a list of texts, not one text; pass [text]")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{number}] is {type(text).__name__}, not text")


def unit_vector(vector: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return a vector scaled to length 1, as float32.

    The values pass through float32 first; the norm is measured in float64, so that large components do not overflow.
    A vector whose norm is zero or not finite is returned unscaled: it can never match anything.

    Args:
        vector: (dimension,) numbers.
    """
    with np.errstate(over="ignore"):
        values = np.asarray(vector, dtype=np.float64).astype(np.float32)
    norm = float(np.linalg.norm(values.astype(np.float64)))
    if not np.isfinite(norm) or norm == 0.0:
        return values
    unit: np.ndarray = (values.astype(np.float64) / norm).astype(np.float32)
    return unit


def checked_unit_vectors(vectors: np.ndarray, texts: Sequence[str], dimension: int, model: str) -> np.ndarray:
    """Return the vectors of a model, L2-normalised, after checking that they can be used.

    Args:
        vectors: what the model gave, (len(texts), dimension).
        texts: the texts they are for.
        dimension: length every vector must have.
        model: model name, for messages.

    Returns:
        (len(texts), dimension) float32.

    Raises:
        EmbeddingError: the shape is wrong, or a vector is zero or not finite; the message quotes the text.
    """
    if vectors.shape != (len(texts), dimension):
        raise EmbeddingError(
            f"the model {model} gave vectors of shape {vectors.shape} for {len(texts)} texts; "
            f"expected ({len(texts)}, {dimension})"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        wide = vectors.astype(np.float32).astype(np.float64)
        norms = np.linalg.norm(wide, axis=1)
    for number in np.flatnonzero(~np.isfinite(norms) | (norms == 0)).tolist():
        kind = "a zero vector" if norms[number] == 0 else "a vector with values that are not finite"
        raise EmbeddingError(f"the model {model} gave {kind} for the text {_excerpt(texts[number])}")
    unit: np.ndarray = (wide / norms[:, None]).astype(np.float32)
    return unit


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:80] + "…")
