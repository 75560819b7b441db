r"""Names of things: source ids, partition keys, chunk ids and file names of artefacts.

A source is identified by its path relative to the corpus folder (POSIX separators, Unicode NFC), never by its base
name: two ``paper.pdf`` in two folders are two sources. Everything here is pure; nothing touches the disk.
"""

import hashlib
import re
import unicodedata
import uuid
from pathlib import PurePath

from stackroom.errors import SourceError

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://stackroom.invalid/chunk")
"""Namespace of chunk ids. Changing it changes every id in every store."""

# Dagster refuses or mishandles these in partition keys: control characters, "..." (its range token), and leading or
# trailing blanks; "%" is the escape character of the codec and so must be escaped too.
_ESCAPED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029%]|\.(?=\.\.)|^\s+|\s+$")


def source_id(path: PurePath) -> str:
    """Return the identity of a file given its path relative to the corpus folder.

    Args:
        path: relative path; ``..`` and absolute paths are refused.

    Returns:
        POSIX form, Unicode NFC.

    Raises:
        SourceError: the path is absolute, climbs out of the folder, is empty, or is not valid Unicode (a file name
            whose bytes are not UTF-8 on disk).
    """
    text = path.as_posix()
    if path.is_absolute() or ".." in path.parts or text in ("", "."):
        raise SourceError(f"{text!r} is not a path inside the corpus folder")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SourceError(f"file name {text!r} is not valid UTF-8; rename the file") from error
    return unicodedata.normalize("NFC", text)


def partition_key(source: str) -> str:
    """Return the Dagster partition key of a source id; :func:`source_of_partition` is its inverse."""

    def escape(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8"))

    return _ESCAPED.sub(escape, source)


def source_of_partition(key: str) -> str:
    """Return the source id whose partition key is ``key``."""

    def unescape(match: re.Match[str]) -> str:
        return bytes.fromhex(match.group().replace("%", "")).decode("utf-8")

    return re.sub(r"(?:%[0-9A-F]{2})+", unescape, key)


def display_name(source: str) -> str:
    r"""Return a source id that is safe to print on one line: control characters shown as ``\n``, ``\t``, ``\x07``."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in source)


def chunk_id(corpus: str, source: str, index: int) -> str:
    """Return the UUIDv5 of a chunk. Qdrant accepts only UUIDs and unsigned integers as point ids.

    Args:
        corpus: corpus name.
        source: source id.
        index: position of the chunk in its source, from 0.
    """
    return str(uuid.uuid5(NAMESPACE, f"{corpus}\x00{source}\x00{index}"))


def readable_chunk_id(source: str, index: int) -> str:
    """Return ``source#index``, the form people read; stored as metadata beside the UUID."""
    return f"{source}#{index}"


def artefact_name(source: str) -> str:
    """Return a file name (no suffix) for the artefacts of a source: at most 80 ASCII characters, unique, safe.

    The readable part comes from the path, never from the document's content; the hash makes it unique.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", source).strip("-.")[:60] or "file"
    return f"{slug}~{hashlib.sha256(source.encode('utf-8')).hexdigest()[:16]}"


def text_hash(text: str) -> str:
    """Return the SHA-256 (hex) of a text; the key of the embedding cache."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
