"""Compound files (OLE): Word, Excel and PowerPoint before 2007, Outlook messages, and encrypted Office files.

Only the directory of streams is read, and the first bytes of the stream that says whether a document is encrypted.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from stackroom.formats import Media
from stackroom.media.archive import encrypted_document
from stackroom.media.finding import Finding
from stackroom.outcome import Failed, ReasonCode

SIGNATURE = bytes.fromhex("D0CF11E0A1B11AE1")

_MAX_DIRECTORY_SECTORS = 1024
"""Sectors of the directory that are read: 4,096 to 32,768 entries. A chain that is longer, or a loop, ends there."""
_END_OF_CHAIN = 0xFFFF_FFFA
_ENTRY_BYTES = 128
_STREAM = 2
_MINI_STREAM_CUTOFF = 4096
_FILEPASS = 0x002F
_WORD_ENCRYPTED = 0x0100
_OOXML = frozenset({Media.DOCX, Media.PPTX, Media.XLSX})


class _Entry(NamedTuple):
    name: str
    first_sector: int
    size: int


class _Layout(NamedTuple):
    sector_bytes: int
    first_directory_sector: int
    table_sectors: tuple[int, ...]


def inspect_compound(path: Path, declared: Media | None) -> Finding:
    """Find out which document a compound file is, and whether it needs a password."""
    fallback = declared or Media.UNKNOWN
    try:
        with path.open("rb") as handle:
            layout = _read_layout(handle)
            entries = {entry.name: entry for entry in _read_directory(handle, layout)}
            media = _media_of_streams(entries, declared)
            encrypted = "EncryptedPackage" in entries or _says_encrypted(handle, layout, entries)
    except (OSError, struct.error, ValueError) as error:
        return Finding(fallback, problem=Failed(ReasonCode.CORRUPT, f"{path.name} is a damaged Office file: {error}"))
    if encrypted:
        return Finding(media, encrypted=True, problem=encrypted_document(path))
    return Finding(media)


def _media_of_streams(entries: dict[str, _Entry], declared: Media | None) -> Media:
    if "EncryptedPackage" in entries:
        return declared if declared in _OOXML else Media.UNKNOWN
    for streams, media in (
        (("WordDocument",), Media.DOC_LEGACY),
        (("Workbook", "Book"), Media.XLS_LEGACY),
        (("PowerPoint Document", "PP97_DUALSTORAGE"), Media.PPT_LEGACY),
        (("__properties_version1.0", "__nameid_version1.0"), Media.EMAIL),
    ):
        if any(stream in entries for stream in streams):
            return media
    return Media.UNKNOWN


def _says_encrypted(handle: BinaryIO, layout: _Layout, entries: dict[str, _Entry]) -> bool:
    """Look at the flags of a Word document, the first records of a workbook, the streams of a presentation."""
    if "EncryptedSummary" in entries:
        return True
    word = _start_of_stream(handle, layout, entries.get("WordDocument"))
    if len(word) >= 12 and struct.unpack_from("<H", word, 10)[0] & _WORD_ENCRYPTED:
        return True
    book = _start_of_stream(handle, layout, entries.get("Workbook") or entries.get("Book"))
    position = 0
    while position + 4 <= len(book):
        record, length = struct.unpack_from("<H H", book, position)
        if record == _FILEPASS:
            return True
        position += 4 + length
    return False


def _read_layout(handle: BinaryIO) -> _Layout:
    header = handle.read(512)
    if len(header) < 512:
        raise ValueError("its header is cut off")
    (shift,) = struct.unpack_from("<H", header, 0x1E)
    if shift not in (9, 12):
        raise ValueError("its header names an impossible sector size")
    (first,) = struct.unpack_from("<I", header, 0x30)
    tables = struct.unpack_from("<109I", header, 0x4C)
    return _Layout(1 << shift, first, tuple(sector for sector in tables if sector < _END_OF_CHAIN))


def _read_sector(handle: BinaryIO, layout: _Layout, sector: int) -> bytes:
    handle.seek((sector + 1) * layout.sector_bytes)
    return handle.read(layout.sector_bytes)


def _next_sector(handle: BinaryIO, layout: _Layout, sector: int) -> int:
    per_table = layout.sector_bytes // 4
    if sector // per_table >= len(layout.table_sectors):
        return _END_OF_CHAIN
    table = _read_sector(handle, layout, layout.table_sectors[sector // per_table])
    (following,) = struct.unpack_from("<I", table, 4 * (sector % per_table))
    return int(following)


def _read_directory(handle: BinaryIO, layout: _Layout) -> Iterator[_Entry]:
    sector = layout.first_directory_sector
    for _ in range(_MAX_DIRECTORY_SECTORS):
        if sector >= _END_OF_CHAIN:
            return
        data = _read_sector(handle, layout, sector)
        for start in range(0, len(data) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
            length, kind = struct.unpack_from("<H B", data, start + 64)
            if kind == _STREAM and 2 <= length <= 64:
                name = data[start : start + length - 2].decode("utf-16-le", errors="replace")
                first, size = struct.unpack_from("<I Q", data, start + 116)
                yield _Entry(name, first, size)
        sector = _next_sector(handle, layout, sector)


def _start_of_stream(handle: BinaryIO, layout: _Layout, entry: _Entry | None) -> bytes:
    """Return the first sector of a stream; nothing of a small one, which lies elsewhere and is never a document."""
    if entry is None or entry.size < _MINI_STREAM_CUTOFF or entry.first_sector >= _END_OF_CHAIN:
        return b""
    return _read_sector(handle, layout, entry.first_sector)
