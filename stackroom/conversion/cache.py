"""Converted documents and their chunks on disk, by content hash and by what they depend on.

Two levels: the document (with signals and whatever else re-chunking needs), and the chunks for one token limit. A
renamed, duplicated or restored file, or another token limit, therefore converts nothing. Files are written atomically
and only ever replaced by equal ones, so readers and writers need no lock.
"""

import gzip
import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackroom.artefacts import Box, ChunkBody
from stackroom.atomic import write_bytes
from stackroom.conversion import Conversion, ConversionOptions, ConversionReport
from stackroom.fingerprint import fingerprint

CACHE_VERSION = 1
"""Raised whenever the form of the files changes; older ones are then not found."""
COMPRESSION = 3
"""gzip level: twice as fast as 6 for 5 % more bytes."""


class ConversionCache:
    """A folder of converted files."""

    def __init__(self, folder: Path, options: ConversionOptions) -> None:
        """Look at a folder; it is created when something is first written.

        Raises:
            ConfigError: see :meth:`ConversionOptions.conversion_identity`.
        """
        self._folder = folder
        self._converted = options.conversion_identity()
        self._chunked = options.chunking_identity()

    def document_path(self, content_hash: str, media: str) -> Path:
        """Return where the converted document of a file lies, or would lie."""
        key = fingerprint("document", CACHE_VERSION, media=media, converted=self._converted).digest
        return self._folder / content_hash[:2] / content_hash / f"{key}.document.json.gz"

    def chunks_path(self, content_hash: str, media: str) -> Path:
        """Return where the chunks of a file lie, or would lie."""
        document = self.document_path(content_hash, media)
        key = fingerprint("chunks", CACHE_VERSION, document=document.name, chunked=self._chunked).digest
        return document.with_name(f"{key}.chunks.json.gz")

    def forget(self, content_hash: str, media: str) -> None:
        """Drop what is kept of a file, so that it is converted again."""
        for path in (self.document_path(content_hash, media), self.chunks_path(content_hash, media)):
            path.unlink(missing_ok=True)

    def read_conversion(self, content_hash: str, media: str) -> Conversion | None:
        """Return the finished conversion of a file, if there is one."""
        data = read_packed(self.chunks_path(content_hash, media))
        return None if data is None else conversion_from_json(data)


def read_packed(path: Path) -> dict[str, Any] | None:
    """Read a compressed JSON file; None when it is absent or damaged (so: make it again)."""
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    return data if isinstance(data, dict) else None


def write_packed(path: Path, data: dict[str, Any]) -> None:
    """Write a compressed JSON file atomically.

    Raises:
        OSError: the folder cannot be written.
    """
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    write_bytes(path, gzip.compress(text.encode("ascii"), COMPRESSION, mtime=0))


def conversion_to_json(conversion: Conversion) -> dict[str, Any]:
    """Return a conversion as plain values; :func:`conversion_from_json` is the inverse."""
    return {
        "chunks": [asdict(chunk) for chunk in conversion.chunks],
        "report": conversion.report.to_json(),
        "signals": conversion.signals,
    }


def conversion_from_json(data: dict[str, Any]) -> Conversion:
    """Return the conversion that :func:`conversion_to_json` wrote."""
    return Conversion(
        chunks=tuple(_chunk(chunk) for chunk in data["chunks"]),
        report=ConversionReport.from_json(data["report"]),
        signals=data["signals"],
    )


def _chunk(data: dict[str, Any]) -> ChunkBody:
    return ChunkBody(
        **{
            **data,
            "headings": tuple(data["headings"]),
            "pages": tuple(data["pages"]),
            "boxes": tuple(Box(**box) for box in data["boxes"]),
            "doc_items": tuple(data["doc_items"]),
        }
    )
