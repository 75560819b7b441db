"""What is stored with every chunk: machine keys, the resolved bibliography, and the shadow fields of person names."""

import math
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from stackroom.artefacts import Chunk, MetadataValue
from stackroom.errors import MetadataMapError
from stackroom.identity import readable_chunk_id
from stackroom.stores.names import (
    PERSON_FIELDS,
    SHADOW_SUFFIX,
    display_person_names,
    shadow_field,
    shadow_keys,
)

MACHINE_KEYS = (
    "file_name",
    "source_id",
    "file_hash",
    "headings",
    "chunk_index",
    "page_first",
    "page_last",
    "kind",
    "readable_id",
)
"""Set by the pipeline on every chunk; values of these names in a map are ignored (and linted)."""
DOCUMENT_KEYS = ("authors", "doi", "journal", "keywords", "title", "year")
"""Shared by all chunks of a file."""
PROVENANCE_KEYS = frozenset({"source_path", "source_type", "source_url"})
"""Never stored, like every key that begins with an underscore."""


def stored_metadata(
    source_id: str, content_hash: str, chunk: Chunk, resolved: Mapping[str, Any] | None
) -> dict[str, MetadataValue]:
    """Return the metadata stored with a chunk in every store.

    Args:
        source_id: of the file.
        content_hash: of the file.
        chunk: the chunk.
        resolved: what the metadata map says for the chunk's headings; None when it says nothing.

    Raises:
        MetadataMapError: a value is of a type that stores do not keep; the message names source and key.
    """
    metadata: dict[str, MetadataValue] = {
        "file_name": PurePosixPath(source_id).name,
        "source_id": source_id,
        "file_hash": content_hash,
        "chunk_index": chunk.index,
        "kind": chunk.body.kind,
        "readable_id": readable_chunk_id(source_id, chunk.index),
    }
    if chunk.body.headings:
        metadata["headings"] = list(chunk.body.headings)
    if chunk.body.pages:
        metadata["page_first"], metadata["page_last"] = min(chunk.body.pages), max(chunk.body.pages)
    try:
        policy = apply_store_metadata_policy(resolved or {})
    except MetadataMapError as error:
        raise MetadataMapError(f"{source_id}: {error}") from error
    return metadata | {key: value for key, value in policy.items() if key not in MACHINE_KEYS}


def apply_store_metadata_policy(metadata: Mapping[str, Any]) -> dict[str, MetadataValue]:
    """Return the values that stores keep, with the shadow fields of person names.

    Dropped are keys that begin with an underscore, provenance keys, None and empty lists. A person field that is a
    single text counts as a list of one.

    Raises:
        MetadataMapError: a value is neither text, number, truth value nor list of texts; the message names the key.
    """
    kept: dict[str, MetadataValue] = {}
    for key, raw in metadata.items():
        if key.startswith("_") or key in PROVENANCE_KEYS or key.endswith(SHADOW_SUFFIX):
            continue
        value = _checked(key, [raw] if key in PERSON_FIELDS and isinstance(raw, str) else raw)
        if value is None:
            continue
        kept[key] = value
        if key in PERSON_FIELDS and isinstance(value, list):
            names = shadow_keys(value)
            if names:
                kept[shadow_field(key)] = names
    return kept


def _checked(key: str, value: Any) -> MetadataValue | None:
    if value is None or value == []:
        return None
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    raise MetadataMapError(
        f"the value of {key!r} ({repr(value)[:80]}) cannot be stored; "
        "allowed are text, numbers, true/false and lists of texts"
    )


def display_metadata(metadata: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """Return metadata as people see it: without shadow fields, person names without forms added for searching."""
    shown: dict[str, MetadataValue] = {}
    for key, value in metadata.items():
        if key.endswith(SHADOW_SUFFIX):
            continue
        shown[key] = display_person_names(value) if key in PERSON_FIELDS and isinstance(value, list) else value
    return shown
