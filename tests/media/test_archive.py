"""Documents that are archives: kinds, passwords, damage, and bombs that must not go off."""

import io
import struct
import tarfile
import time
import zipfile

import pytest

from stackroom.config import LimitSettings
from stackroom.formats import Media
from stackroom.media import identify
from stackroom.outcome import ReasonCode

ODF = "application/vnd.oasis.opendocument."
OBFUSCATED_FONT = (
    '<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></EncryptedData>'
    "</encryption>"
)
LOCKED_TEXT = OBFUSCATED_FONT.replace(
    "http://www.idpf.org/2008/embedding", "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
)


def make_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("name", "members", "media"),
    [
        ("a.docx", ["[Content_Types].xml", "word/document.xml"], Media.DOCX),
        ("a.zip", ["[Content_Types].xml", "word/document.xml"], Media.DOCX),
        ("a.docx", ["[Content_Types].xml", "xl/workbook.xml"], Media.XLSX),
        ("a.pptm", ["[Content_Types].xml", "ppt/presentation.xml"], Media.PPTX),
        ("a.pages", ["Index/Document.iwa"], Media.PAGES),
        ("a.key", ["Index/Slide.iwa"], Media.KEYNOTE),
        ("a.numbers", ["Index/Sheet.iwa"], Media.NUMBERS),
        ("a.dclx", ["document.json"], Media.DCLX),
        ("a.docx", ["holiday.jpg"], Media.ARCHIVE),
    ],
)
def test_members_tell_the_kind(tmp_path, name, members, media):
    path = make_zip(tmp_path / name, dict.fromkeys(members, "x"))
    found = identify(path)
    assert found.media is media
    assert (found.problem is None) == (media is not Media.ARCHIVE)


@pytest.mark.parametrize(
    ("kind", "media"),
    [
        (ODF + "text", Media.ODT),
        (ODF + "text-template", Media.ODT),
        (ODF + "spreadsheet\n", Media.ODS),
        (ODF + "presentation", Media.ODP),
        ("application/epub+zip", Media.EPUB),
        ("application/x-unheard-of", Media.ARCHIVE),
    ],
)
def test_the_mimetype_member_tells_the_kind(tmp_path, kind, media):
    assert identify(make_zip(tmp_path / "a.bin", {"mimetype": kind})).media is media


@pytest.mark.parametrize(
    ("kind", "members", "locked"),
    [
        (ODF + "text", {"META-INF/manifest.xml": "<manifest:encryption-data/>"}, True),
        (ODF + "text", {"META-INF/manifest.xml": "<manifest/>"}, False),
        ("application/epub+zip", {"META-INF/encryption.xml": LOCKED_TEXT}, True),
        ("application/epub+zip", {"META-INF/encryption.xml": OBFUSCATED_FONT}, False),
    ],
)
def test_passwords_and_rights_management_are_seen(tmp_path, kind, members, locked):
    found = identify(make_zip(tmp_path / "a.odt", {"mimetype": kind, **members}))
    assert found.encrypted is locked
    assert (found.problem is not None and found.problem.reason is ReasonCode.ENCRYPTED) is locked


def test_an_encrypted_member_is_seen(tmp_path):
    path = make_zip(tmp_path / "a.docx", {"[Content_Types].xml": "x", "word/document.xml": "x"})
    data = bytearray(path.read_bytes())
    flags = data.rindex(b"PK\x01\x02") + 8  # of the last entry of the directory
    data[flags] |= 1
    path.write_bytes(data)
    found = identify(path)
    assert (found.encrypted, found.problem.reason) == (True, ReasonCode.ENCRYPTED)
    assert "passwords are supported for PDF only" in found.problem.message


def test_too_many_members_are_refused(tmp_path):
    path = make_zip(tmp_path / "a.docx", {f"word/{number}.xml": "" for number in range(30)})
    problem = identify(path, LimitSettings(max_archive_members=29)).problem
    assert problem.reason is ReasonCode.TOO_LARGE
    assert problem.message == "a.docx holds 30 members or more; the limit is 29"
    assert identify(path, LimitSettings(max_archive_members=30)).problem.reason is ReasonCode.UNSUPPORTED


def test_a_directory_that_is_huge_is_not_read(tmp_path):
    path = make_zip(tmp_path / "a.docx", {"word/document.xml": "x"})
    data = bytearray(path.read_bytes())
    struct.pack_into("<H I", data, data.rindex(b"PK\x05\x06") + 10, 60_000, 900_000_000)
    path.write_bytes(data)
    assert identify(path).problem.reason is ReasonCode.TOO_LARGE


def test_a_directory_in_the_64_bit_form_is_measured_too(tmp_path):
    path = make_zip(tmp_path / "a.docx", {"word/document.xml": "x"})
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 9_000_000, 9_000_000, 1 << 40, 0)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, end, 1)
    tail = bytearray(data[end:])
    struct.pack_into("<H H I", tail, 8, 0xFFFF, 0xFFFF, 0xFFFF_FFFF)
    path.write_bytes(data[:end] + record + locator + bytes(tail))
    problem = identify(path).problem
    assert problem.reason is ReasonCode.TOO_LARGE
    assert "9,000,000 members" in problem.message


def test_a_bomb_is_refused_without_unpacking_it(tmp_path):
    path = make_zip(tmp_path / "bomb.docx", {"[Content_Types].xml": "x", "word/document.xml": bytes(64 << 20)})
    assert path.stat().st_size < 1 << 20
    start = time.monotonic()
    problem = identify(path, LimitSettings(max_unpacked_mb=63)).problem
    assert (problem.reason, problem.message) == (
        ReasonCode.TOO_LARGE,
        "bomb.docx unpacks to 64 MB; the limit is 63 MB",
    )
    assert time.monotonic() - start < 0.5


@pytest.mark.parametrize("keep", [30, 100, 200])
def test_a_document_that_was_cut_off_is_corrupt(tmp_path, keep):
    path = make_zip(tmp_path / "a.docx", {"[Content_Types].xml": "x", "word/document.xml": "y" * 500})
    path.write_bytes(path.read_bytes()[:keep])
    found = identify(path)
    assert (found.media, found.problem.reason) == (Media.DOCX, ReasonCode.CORRUPT)


def make_tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, size in members.items():
            information = tarfile.TarInfo(name)
            information.size = size
            archive.addfile(information, io.BytesIO(bytes(size)))
    return path


def test_compressed_archives_are_bounded_too(tmp_path):
    scans = make_tar(tmp_path / "scans.tar.gz", {"mets.xml": 100, "page.png": 3 << 20})
    assert (identify(scans).media, identify(scans).problem) == (Media.METS_GBS, None)
    assert identify(scans, LimitSettings(max_unpacked_mb=2)).problem.reason is ReasonCode.TOO_LARGE
    assert identify(scans, LimitSettings(max_archive_members=1)).problem.reason is ReasonCode.TOO_LARGE
    other = make_tar(tmp_path / "other.tar.gz", {"photo.jpg": 10})
    assert identify(other).problem.reason is ReasonCode.UNSUPPORTED
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(scans.read_bytes()[:60])
    assert identify(cut).problem.reason is ReasonCode.UNSUPPORTED
