"""What every row must satisfy before any backend sees it, and the rule for names; the same for all backends.

Nothing here repairs a value silently, with one exception: NUL characters and unpaired surrogates, which PostgreSQL,
JSON and UTF-8 cannot hold, are taken out of texts.
"""

import ipaddress
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stackroom.artefacts import MetadataValue, StoredRow
from stackroom.errors import StoreError

NAME_RULE = (
    "a collection name has 3 to 200 characters out of a-z A-Z 0-9 . _ -, begins and ends with a letter or digit, "
    "has no two dots in a row, and is no IP address"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,198}[A-Za-z0-9]")

KEY_RULE = "a metadata key begins with a letter or digit and contains no control characters"
_KEY = re.compile(r"[^\W_][^\x00-\x1f\x7f\ud800-\udfff]{0,199}")

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_SMALLEST_NORM = 1e-12
"""A vector shorter than this has no direction worth comparing."""
_INT64 = 2**63
_JSON_BYTES_PER_NUMBER = 23
"""A float32 written as JSON, with its comma, at its longest."""


def check_collection_name(name: str) -> str:
    """Return ``name`` if every backend takes it as the name of a collection.

    Raises:
        StoreError: it breaks the rule, which the message shows.
    """
    if not _NAME.fullmatch(name) or ".." in name or _is_address(name):
        raise StoreError(f"{name!r} is not a collection name: {NAME_RULE}")
    return name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def storable_text(text: str) -> str:
    """Return a text without NUL characters and unpaired surrogates."""
    return _UNSTORABLE.sub("", text)


def checked_rows(
    rows: Sequence[StoredRow], dimension: int, with_vectors: bool = True, source_id: str | None = None
) -> list[StoredRow]:
    """Return rows as backends may store them: clean metadata, vectors of length 1 as float32.

    Args:
        rows: the rows.
        dimension: length that every vector must have.
        with_vectors: False where only text and metadata are to be stored; vectors are then dropped.
        source_id: the source all rows must belong to, if any.

    Raises:
        StoreError: a row cannot be stored; the message names the chunk and what is wrong with it.
    """
    seen: set[str] = set()
    checked = []
    for row in rows:
        _check_ids(row, source_id, seen)
        checked.append(
            replace(
                row,
                text=storable_text(row.text),
                metadata=checked_metadata(row.chunk_id, row.metadata),
                vector=unit_vector(row.vector, dimension, f"chunk {row.chunk_id}") if with_vectors else None,
            )
        )
    return checked


def _check_ids(row: StoredRow, source_id: str | None, seen: set[str]) -> None:
    for what, value in (("chunk id", row.chunk_id), ("source id", row.source_id)):
        if not isinstance(value, str) or not value or _UNSTORABLE.search(value):
            raise StoreError(f"{value!r} is not a {what}; it must be a text that is not empty and valid Unicode")
    if row.chunk_id in seen:
        raise StoreError(f"chunk {row.chunk_id} occurs twice among the rows of {row.source_id}")
    if source_id is not None and row.source_id != source_id:
        raise StoreError(f"chunk {row.chunk_id} belongs to {row.source_id}, not to {source_id}")
    seen.add(row.chunk_id)


def checked_metadata(chunk_id: str, metadata: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Return the metadata that is stored, ordered by key: None and empty lists are dropped.

    Raises:
        StoreError: a key breaks the rule, or a value is not text, a finite 64-bit number, a truth value or a list of
            texts; the message names chunk and key.
    """
    kept: dict[str, MetadataValue] = {}
    for key in sorted(metadata, key=str):
        if not isinstance(key, str) or not _KEY.fullmatch(key) or key.startswith("chroma:"):
            raise StoreError(f"chunk {chunk_id}: metadata key {key!r} cannot be stored: {KEY_RULE}")
        value = metadata[key]
        if value is not None and value != []:
            kept[key] = _checked_value(chunk_id, key, value)
    return kept


def _checked_value(chunk_id: str, key: str, value: Any) -> MetadataValue:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return [storable_text(element) for element in value]
    raise StoreError(
        f"chunk {chunk_id}: metadata {key!r} has the value {value!r}; stores keep text, finite numbers of 64 bits, "
        "true and false, and lists of texts"
    )


def unit_vector(vector: Any, dimension: int, what: str) -> np.ndarray:
    """Return a vector scaled to length 1, (dimension,) float32.

    Raises:
        StoreError: there is none, or it has the wrong dimension, NaN, infinity, or no length; the message names
            ``what`` it belongs to.
    """
    if vector is None:
        raise StoreError(f"{what} has no vector")
    try:
        exact = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{what} has a vector that is not made of numbers: {error}") from error
    if exact.shape != (dimension,):
        raise StoreError(f"{what} has a vector of shape {exact.shape}; the collection keeps {dimension} numbers each")
    if not np.isfinite(exact).all():
        raise StoreError(f"{what} has a vector with NaN or infinite values")
    largest = float(np.abs(exact).max())
    if largest < _SMALLEST_NORM:
        raise StoreError(f"{what} has a vector of length zero, which points nowhere")
    scaled = exact / largest  # squares of very large numbers would overflow
    return (scaled / np.linalg.norm(scaled)).astype(np.float32)


def batches(rows: Sequence[StoredRow], max_rows: int, max_bytes: int) -> Iterator[list[StoredRow]]:
    """Cut rows into batches, bounded by count and by size; a row that is too large alone goes alone.

    Args:
        rows: checked rows.
        max_rows: most rows in a batch.
        max_bytes: most bytes in a batch as it goes over the wire, counted as if everything were JSON.
    """
    batch: list[StoredRow] = []
    size = 0
    for row in rows:
        row_size = len(json.dumps(row.text)) + len(json.dumps(dict(row.metadata)))
        row_size += 0 if row.vector is None else row.vector.size * _JSON_BYTES_PER_NUMBER
        if batch and (len(batch) >= max_rows or size + row_size > max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row_size
    if batch:
        yield batch
