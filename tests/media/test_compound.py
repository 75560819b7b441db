"""Compound files: Office documents from before 2007, Outlook messages, encrypted Office files."""

import struct

import pytest

from stackroom.formats import Media
from stackroom.media import identify
from stackroom.outcome import ReasonCode

SECTOR = 512
FREE, END, TABLE = 0xFFFF_FFFF, 0xFFFF_FFFE, 0xFFFF_FFFD


def make_compound(path, streams):
    """Write a compound file: sector 0 is the allocation table, 1 and 2 the directory, then 8 sectors per stream."""
    table = [TABLE, 2, END]
    entries = [_entry("Root Entry", 5, END, 0)]
    body = b""
    for name, start in streams.items():
        first = len(table)
        table += [*range(first + 1, first + 8), END]
        entries.append(_entry(name, 2, first, 8 * SECTOR))
        body += start.ljust(8 * SECTOR, b"\0")
    directory = b"".join(entries).ljust(2 * SECTOR, b"\0")
    header = bytearray(SECTOR)
    header[:8] = bytes.fromhex("D0CF11E0A1B11AE1")
    struct.pack_into("<H H H H H", header, 0x18, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<I I", header, 0x2C, 1, 1)
    struct.pack_into("<I I I I I I", header, 0x38, 4096, END, 0, END, 0, 0)
    struct.pack_into("<109I", header, 0x4C, 0, *[FREE] * 108)
    struct.pack_into("<I", header, 0x30, 1)
    sectors = struct.pack("<128I", *table, *[FREE] * (128 - len(table)))
    path.write_bytes(bytes(header) + sectors + directory + body)
    return path


def _entry(name, kind, first, size):
    raw = name.encode("utf-16-le") + b"\0\0"
    entry = bytearray(raw.ljust(128, b"\0"))
    struct.pack_into("<H B", entry, 64, len(raw), kind)
    struct.pack_into("<I Q", entry, 116, first, size)
    return bytes(entry)


def word(encrypted):
    return struct.pack("<H 8x H", 0xA5EC, 0x0100 if encrypted else 0)


def workbook(encrypted):
    begin = struct.pack("<H H", 0x0809, 16) + bytes(16)
    return begin + struct.pack("<H H", 0x002F if encrypted else 0x0042, 2) + bytes(2)


@pytest.mark.parametrize(
    ("name", "streams", "media", "encrypted"),
    [
        ("a.doc", {"WordDocument": word(encrypted=False)}, Media.DOC_LEGACY, False),
        ("a.doc", {"WordDocument": word(encrypted=True)}, Media.DOC_LEGACY, True),
        ("a.pdf", {"WordDocument": word(encrypted=False)}, Media.DOC_LEGACY, False),
        ("a.xls", {"Workbook": workbook(encrypted=False)}, Media.XLS_LEGACY, False),
        ("a.xls", {"Workbook": workbook(encrypted=True)}, Media.XLS_LEGACY, True),
        ("a.xls", {"Book": workbook(encrypted=False)}, Media.XLS_LEGACY, False),
        ("a.ppt", {"PowerPoint Document": b""}, Media.PPT_LEGACY, False),
        ("a.ppt", {"PowerPoint Document": b"", "EncryptedSummary": b""}, Media.PPT_LEGACY, True),
        ("a.msg", {"__properties_version1.0": b""}, Media.EMAIL, False),
        ("a.xlsx", {"EncryptionInfo": b"", "EncryptedPackage": b""}, Media.XLSX, True),
        ("a.bin", {"EncryptionInfo": b"", "EncryptedPackage": b""}, Media.UNKNOWN, True),
        ("Thumbs", {"Catalog": b""}, Media.UNKNOWN, False),
    ],
)
def test_streams_tell_the_kind_and_whether_a_password_is_needed(tmp_path, name, streams, media, encrypted):
    found = identify(make_compound(tmp_path / name, streams))
    assert (found.media, found.encrypted) == (media, encrypted)
    if encrypted:
        assert found.problem.reason is ReasonCode.ENCRYPTED
        assert found.problem.message.startswith(f"{name} is protected by a password")


def test_a_directory_that_runs_in_circles_ends(tmp_path):
    path = make_compound(tmp_path / "loop.doc", {"WordDocument": word(encrypted=False)})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, SECTOR + 4 * 2, 1)  # after the second sector of the directory comes the first
    path.write_bytes(data)
    assert identify(path).media is Media.DOC_LEGACY


def test_a_nonsense_header_is_corrupt(tmp_path):
    path = make_compound(tmp_path / "bad.doc", {"WordDocument": b""})
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 0x1E, 60)  # sectors of 2^60 bytes
    path.write_bytes(data)
    problem = identify(path).problem
    assert problem.reason is ReasonCode.CORRUPT
    assert "impossible sector size" in problem.message
