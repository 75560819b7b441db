"""``identify``: what a file truly is. The suffix is a claim; the bytes decide.

A file whose content is of another kind than its name says is noted, not refused, as long as the content can be read: an
HTML page saved as ``.pdf`` is converted as HTML.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from stackroom.config import LimitSettings
from stackroom.formats import (
    RECORDINGS,
    Media,
    declared_media,
    docling_format,
    holds_only_zeros,
    holds_pdf_parts,
    looks_like_pdf,
)
from stackroom.media.archive import inspect_gzip, inspect_zip
from stackroom.media.compound import SIGNATURE, inspect_compound
from stackroom.media.finding import Finding
from stackroom.media.picture import inspect_picture, is_picture
from stackroom.media.text import decode_head, text_media
from stackroom.outcome import Failed, ReasonCode

MEDIA_VERSION = 1
"""Raised whenever some file is identified differently."""

_HEAD_BYTES = 1 << 16
_BINARY = frozenset(
    {Media.PDF, Media.DOCX, Media.PPTX, Media.XLSX, Media.ODT, Media.ODS, Media.ODP, Media.EPUB, Media.IMAGE}
    | {Media.DOC_LEGACY, Media.PPT_LEGACY, Media.XLS_LEGACY, Media.PAGES, Media.KEYNOTE, Media.NUMBERS, Media.METS_GBS}
)
"""Kinds that begin with a signature; without it the file is damaged rather than unknown."""
_BY_SUFFIX = RECORDINGS | {Media.EBCDIC}
"""Kinds whose bytes say too little; here the suffix is believed."""
_LEGACY = {
    Media.DOC_LEGACY: ("a Word document from before 2007", "docx"),
    Media.PPT_LEGACY: ("a PowerPoint presentation from before 2007", "pptx"),
    Media.XLS_LEGACY: ("an Excel workbook from before 2007", "xlsx"),
    Media.RTF: ("a Rich Text document", "docx"),
}
_COVERED_BY = {
    Media.XML: frozenset({Media.XML_JATS, Media.XML_USPTO, Media.XML_XBRL, Media.XML_DOCLANG, Media.XML}),
    Media.HTML: frozenset({Media.HTML, Media.XML_XBRL}),
    Media.TEXT: frozenset({Media.TEXT, Media.XML_USPTO}),
}
"""Declared kinds under which several true kinds travel."""


@dataclass(frozen=True)
class Identified:
    """What a file is, what it claims to be, and what stands in the way of reading it."""

    media: Media
    declared: Media | None
    """What the suffix says; None for no suffix or one that nobody knows."""
    encrypted: bool = False
    """An Office file, OpenDocument file or EPUB that needs a password. Whether a PDF does is found when it is opened:
    many are encrypted and open without one."""
    problem: Failed | None = None
    """Why the file cannot be read, if so."""

    @property
    def wrong_type(self) -> bool:
        """Whether the content is readable but of another kind than the suffix says."""
        if self.problem is not None or self.declared is None:
            return False
        return self.media not in _COVERED_BY.get(self.declared, frozenset({self.declared}))

    @property
    def note(self) -> str | None:
        """A sentence about a wrong suffix, for reports."""
        return f"named as {self.declared}, but the content is {self.media}" if self.wrong_type else None


def identify(path: Path, limits: LimitSettings | None = None) -> Identified:
    """Find out what a file is by its content.

    Reads the first 64 KB, and of archives and compound files the directory; nothing is unpacked. Sizes (file, members,
    decompressed bytes, pixels) are compared with the limits before anything is allocated.

    Args:
        path: the file.
        limits: bounds (default: those of :class:`~stackroom.config.LimitSettings`).

    Returns:
        The kind, and a ``problem`` when the file is ``empty``, ``encrypted``, ``corrupt``, ``too_large``,
        ``unsupported`` or cannot be read (``missing_input``).
    """
    limits = limits or LimitSettings()
    declared = declared_media(path.name)
    try:
        finding = _early_problem(path, declared, limits) or _inspect(path, declared, limits)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        finding = Finding(declared or Media.UNKNOWN, problem=Failed(ReasonCode.MISSING_INPUT, message, retryable=True))
    problem = finding.problem or _unreadable_kind(path, finding.media, declared)
    return Identified(finding.media, declared, finding.encrypted, problem)


def _early_problem(path: Path, declared: Media | None, limits: LimitSettings) -> Finding | None:
    """Check what can be known without reading: that there is a file, and its size."""
    media = declared or Media.UNKNOWN
    if not path.is_file():
        message = f"{path} is not there" if not path.exists() else f"{path} is not a regular file"
        return Finding(media, problem=Failed(ReasonCode.MISSING_INPUT, message, retryable=True))
    size = path.stat().st_size
    if size == 0:
        return Finding(media, problem=Failed(ReasonCode.EMPTY, f"{path.name} has zero bytes", {"bytes": 0}))
    if size > limits.max_file_mb << 20:
        message = f"{path.name} has {size / (1 << 20):,.0f} MB; the limit is {limits.max_file_mb:,} MB"
        return Finding(media, problem=Failed(ReasonCode.TOO_LARGE, message, {"bytes": size}))
    return None


def _inspect(path: Path, declared: Media | None, limits: LimitSettings) -> Finding:
    with path.open("rb") as handle:
        head = handle.read(_HEAD_BYTES)
    if not any(head) and holds_only_zeros(path):
        message = f"{path.name} holds zero bytes and nothing else"
        return Finding(declared or Media.UNKNOWN, problem=Failed(ReasonCode.EMPTY, message))
    return (
        _by_signature(path, head, declared, limits) or _by_text(path, head, declared) or _binary(path, head, declared)
    )


def _by_signature(path: Path, head: bytes, declared: Media | None, limits: LimitSettings) -> Finding | None:
    if head.startswith(b"%PDF-"):
        return Finding(Media.PDF)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return inspect_zip(path, declared, limits)
    if head.startswith(SIGNATURE):
        return inspect_compound(path, declared)
    if is_picture(head):
        return inspect_picture(path, limits)
    if head.startswith(b"{\\rtf"):
        return Finding(Media.RTF)
    if head.startswith(b"\x1f\x8b"):
        return inspect_gzip(path, limits)
    return None


def _by_text(path: Path, head: bytes, declared: Media | None) -> Finding | None:
    text = decode_head(head)
    if text is None or declared in _BY_SUFFIX:
        return None
    if looks_like_pdf(head) and declared in (None, Media.PDF):  # junk before the header, which is itself text
        return Finding(Media.PDF)
    if not text.strip() and path.stat().st_size == len(head):
        message = f"{path.name} holds blanks and nothing else"
        return Finding(declared or Media.TEXT, problem=Failed(ReasonCode.EMPTY, message))
    if declared is Media.PDF and holds_pdf_parts(head):
        return Finding(Media.PDF)
    return Finding(text_media(text, declared))


def _binary(path: Path, head: bytes, declared: Media | None) -> Finding:
    """Name a file that is neither text nor begins with a known signature."""
    if declared in _BY_SUFFIX:
        return Finding(declared)
    if head[0] == 0x5A and head[3:4] == b"\xd3":
        return Finding(Media.AFP)
    if declared in (None, Media.PDF) and holds_pdf_parts(head):
        return Finding(Media.PDF)
    if declared in _BINARY:
        message = f"{path.name} is damaged: it does not begin as a file of kind {declared} does"
        return Finding(declared, problem=Failed(ReasonCode.CORRUPT, message))
    return Finding(Media.UNKNOWN)


def _unreadable_kind(path: Path, media: Media, declared: Media | None) -> Failed | None:
    """Return why files of this kind cannot be read here, or None when they can."""
    if media in _LEGACY:
        if _libreoffice():
            return None
        what, suffix = _LEGACY[media]
        message = f"{path.name} is {what}; install LibreOffice, or save it as .{suffix}"
        return Failed(ReasonCode.UNSUPPORTED, message, {"media": media.value})
    if media in RECORDINGS:
        return Failed(ReasonCode.UNSUPPORTED, f"{path.name} is a recording; speech is not read", {"media": media.value})
    if docling_format(media) is None:
        known = f", though its name says {declared}" if declared is not None and declared is not media else ""
        return Failed(ReasonCode.UNSUPPORTED, f"{path.name} is {_WORDS[media]}{known}", {"media": media.value})
    return None


def _libreoffice() -> bool:
    """Say whether docling will find LibreOffice, which it needs for documents from before 2007."""
    return (
        bool(os.environ.get("DOCLING_LIBREOFFICE_CMD") or shutil.which("libreoffice") or shutil.which("soffice"))
        or Path("/Applications/LibreOffice.app/Contents/MacOS/soffice").is_file()
    )


_WORDS = {
    Media.XML: "XML of a kind that is not read (JATS, USPTO, XBRL and DocLang are)",
    Media.JSON: "JSON that is no docling document",
    Media.ARCHIVE: "an archive that holds no document",
    Media.UNKNOWN: "neither text nor a known document",
}
