"""Documents that are archives: Office, OpenDocument, EPUB, iWork, METS. Limits are checked before anything is unpacked.

The directory at the end of a ZIP file is measured before it is read, then the sizes it declares are summed; readers
never unpack more of a member than is declared, so a bomb is refused without decompressing a byte of it.
"""

import lzma
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from stackroom.config import LimitSettings
from stackroom.formats import Media
from stackroom.media.finding import Finding
from stackroom.outcome import Failed, ReasonCode

_END, _END_LENGTH = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_LENGTH = b"PK\x06\x07", 20
_END_64 = b"PK\x06\x06"
_MAX_COMMENT = 65_535
_DIRECTORY_BYTES_PER_MEMBER = 1024
"""Room for a name and extra fields in the directory; real documents take about 100."""
_MEMBER_BYTES = 1 << 20
"""Most that is read of a member that is looked into."""
_DAMAGE = (zipfile.BadZipFile, struct.error, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, OverflowError)
_DAMAGE_OR_UNKNOWN = (*_DAMAGE, NotImplementedError)
"""What readers raise on damaged archives, and on ways of compressing that they do not know."""

_OFFICE = {"word/": Media.DOCX, "ppt/": Media.PPTX, "xl/": Media.XLSX}
_MIME_TYPES = {
    "application/epub+zip": Media.EPUB,
    "application/vnd.oasis.opendocument.text": Media.ODT,
    "application/vnd.oasis.opendocument.spreadsheet": Media.ODS,
    "application/vnd.oasis.opendocument.presentation": Media.ODP,
}
_IWORK = frozenset({Media.PAGES, Media.KEYNOTE, Media.NUMBERS})
_FONT_OBFUSCATION = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
"""Ways of encrypting that hide only fonts, not text."""


class _Directory(NamedTuple):
    members: int
    length: int


def inspect_zip(path: Path, declared: Media | None, limits: LimitSettings) -> Finding:
    """Find out which document a ZIP archive is, and whether it may be unpacked.

    Args:
        path: a file that begins like a ZIP archive.
        declared: what the suffix says; used to name a damaged file and to tell the iWork kinds apart.
        limits: bounds on members and on what they unpack to.
    """
    fallback = declared or Media.ARCHIVE
    try:
        directory = _measure_directory(path)
        if directory is None:
            return Finding(fallback, problem=_corrupt(path, "its directory is missing; it was cut off"))
        if directory.length > limits.max_archive_members * _DIRECTORY_BYTES_PER_MEMBER:
            return Finding(fallback, problem=_too_many(path, directory.members, limits))
        with zipfile.ZipFile(path) as archive:
            problem = _over_limits(path, archive, limits)
            return Finding(fallback, problem=problem) if problem else _look_inside(path, archive, declared)
    except _DAMAGE_OR_UNKNOWN as error:
        return Finding(fallback, problem=_corrupt(path, str(error)))


def inspect_gzip(path: Path, limits: LimitSettings) -> Finding:
    """Tell a METS archive of scanned pages (``.tar.gz``) from other compressed files; sizes are checked first."""
    left, members, has_xml = limits.max_unpacked_mb << 20, 0, False
    try:
        with tarfile.open(path, mode="r|gz") as archive:
            for member in archive:
                members += 1
                left -= member.size
                has_xml = has_xml or member.name.lower().endswith(".xml")
                if members > limits.max_archive_members:
                    return Finding(Media.METS_GBS, problem=_too_many(path, members, limits))
                if left < 0:
                    return Finding(Media.METS_GBS, problem=_too_large(path, limits))
    except (tarfile.TarError, *_DAMAGE):
        return Finding(Media.ARCHIVE)
    return Finding(Media.METS_GBS if has_xml else Media.ARCHIVE)


def _measure_directory(path: Path) -> _Directory | None:
    """Return how many members a ZIP file claims and how long its directory is, without reading the directory."""
    size = path.stat().st_size
    with path.open("rb") as handle:
        start = max(0, size - _END_LENGTH - _MAX_COMMENT - _LOCATOR_LENGTH)
        handle.seek(start)
        tail = handle.read()
        at = tail.rfind(_END)
        if at < 0 or at + _END_LENGTH > len(tail):
            return None
        members, length = struct.unpack_from("<H I", tail, at + 10)
        if members != 0xFFFF and length != 0xFFFF_FFFF:
            return _Directory(members, length)
        locator = at - _LOCATOR_LENGTH
        if locator < 0 or tail[locator : locator + 4] != _LOCATOR:
            return _Directory(members, length)
        handle.seek(struct.unpack_from("<Q", tail, locator + 8)[0])
        record = handle.read(56)
    if len(record) < 56 or record[:4] != _END_64:
        return None
    members, length = struct.unpack_from("<Q Q", record, 32)
    return _Directory(members, length)


def _over_limits(path: Path, archive: zipfile.ZipFile, limits: LimitSettings) -> Failed | None:
    members = archive.infolist()
    if len(members) > limits.max_archive_members:
        return _too_many(path, len(members), limits)
    unpacked = sum(member.file_size for member in members)
    return _too_large(path, limits, unpacked) if unpacked > limits.max_unpacked_mb << 20 else None


def _look_inside(path: Path, archive: zipfile.ZipFile, declared: Media | None) -> Finding:
    names = set(archive.namelist())
    media = _media_of_members(archive, names, declared)
    encrypted = any(member.flag_bits & 1 for member in archive.infolist()) or _is_locked(archive, names, media)
    if encrypted:
        return Finding(media, encrypted=True, problem=encrypted_document(path))
    return Finding(media)


def _media_of_members(archive: zipfile.ZipFile, names: set[str], declared: Media | None) -> Media:
    if "[Content_Types].xml" in names:
        for folder, media in _OFFICE.items():
            if any(name.startswith(folder) for name in names):
                return media
    if "mimetype" in names:
        declared_inside = _read(archive, "mimetype")[:200].decode("ascii", errors="ignore").strip()
        media_inside = _MIME_TYPES.get(declared_inside.removesuffix("-template"))
        if media_inside is not None:
            return media_inside
    if declared in _IWORK and any(name.endswith((".iwa", "Index.zip", "index.apxl")) for name in names):
        return declared
    return Media.DCLX if declared is Media.DCLX else Media.ARCHIVE


def _is_locked(archive: zipfile.ZipFile, names: set[str], media: Media) -> bool:
    """Say whether an OpenDocument file is encrypted, or an EPUB is under digital rights management."""
    if media in (Media.ODT, Media.ODS, Media.ODP) and "META-INF/manifest.xml" in names:
        return b"encryption-data" in _read(archive, "META-INF/manifest.xml")
    if media is Media.EPUB and "META-INF/encryption.xml" in names:
        methods = _read(archive, "META-INF/encryption.xml").split(b"EncryptionMethod")[1:]
        return any(
            not any(font in method for font in _FONT_OBFUSCATION) for method in methods if b"Algorithm" in method
        )
    return False


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return at most a megabyte of a member; nothing of one that is encrypted."""
    if archive.getinfo(name).flag_bits & 1:
        return b""
    with archive.open(name) as member:
        return member.read(_MEMBER_BYTES)


def encrypted_document(path: Path) -> Failed:
    """Return the failure of a document that is not a PDF and needs a password."""
    message = f"{path.name} is protected by a password; passwords are supported for PDF only: save a copy without one"
    return Failed(ReasonCode.ENCRYPTED, message)


def _corrupt(path: Path, said: str) -> Failed:
    return Failed(ReasonCode.CORRUPT, f"{path.name} is a damaged archive: {said}")


def _too_many(path: Path, members: int, limits: LimitSettings) -> Failed:
    message = f"{path.name} holds {members:,} members or more; the limit is {limits.max_archive_members:,}"
    return Failed(
        ReasonCode.TOO_LARGE, message, {"members": members, "max_archive_members": limits.max_archive_members}
    )


def _too_large(path: Path, limits: LimitSettings, unpacked: int | None = None) -> Failed:
    size = "more" if unpacked is None else f"{unpacked / (1 << 20):,.0f} MB"
    message = f"{path.name} unpacks to {size}; the limit is {limits.max_unpacked_mb:,} MB"
    return Failed(ReasonCode.TOO_LARGE, message, {"unpacked_bytes": unpacked})
