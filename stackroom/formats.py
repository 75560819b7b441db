"""Kinds of documents: their suffixes, and docling's name for each.

A table of our own, because importing docling takes seconds; a test compares it with docling's. What a file truly is,
by its content, is found in :mod:`stackroom.media`.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path, PurePath


class Media(StrEnum):
    """What a file is."""

    PDF = "pdf"
    DOCX = "docx"
    DOC_LEGACY = "doc_legacy"
    RTF = "rtf"
    PPTX = "pptx"
    PPT_LEGACY = "ppt_legacy"
    XLSX = "xlsx"
    XLS_LEGACY = "xls_legacy"
    ODT = "odt"
    ODS = "ods"
    ODP = "odp"
    HTML = "html"
    MHTML = "mhtml"
    MARKDOWN = "markdown"
    TEXT = "text"
    ASCIIDOC = "asciidoc"
    LATEX = "latex"
    CSV = "csv"
    VTT = "vtt"
    IMAGE = "image"
    EPUB = "epub"
    EMAIL = "email"
    XML_JATS = "xml_jats"
    XML_USPTO = "xml_uspto"
    XML_XBRL = "xml_xbrl"
    XML_DOCLANG = "xml_doclang"
    DCLX = "dclx"
    METS_GBS = "mets_gbs"
    JSON_DOCLING = "json_docling"
    BOXNOTE = "boxnote"
    PAGES = "pages"
    KEYNOTE = "keynote"
    NUMBERS = "numbers"
    EBCDIC = "ebcdic"
    AFP = "afp"
    AUDIO = "audio"
    VIDEO = "video"
    XML = "xml"
    """XML of a kind that docling does not know; as a declared type, XML of any kind."""
    JSON = "json"
    ARCHIVE = "archive"
    """A ZIP or tar archive that is no document."""
    UNKNOWN = "unknown"


PAGED = frozenset({Media.PDF, Media.IMAGE})
"""Files that are read page by page, with models for layout and tables, and with OCR."""


_BY_MEDIA: Mapping[Media, tuple[str | None, str]] = {
    Media.PDF: ("pdf", "pdf"),
    Media.DOCX: ("docx", "docx dotx docm dotm"),
    Media.DOC_LEGACY: ("doc", "doc dot"),
    Media.RTF: ("rtf", "rtf"),
    Media.PPTX: ("pptx", "pptx potx ppsx pptm potm ppsm"),
    Media.PPT_LEGACY: ("ppt", "ppt pot pps"),
    Media.XLSX: ("xlsx", "xlsx xlsm xltx xltm"),
    Media.XLS_LEGACY: ("xls", "xls xlt"),
    Media.ODT: ("odt", "odt ott"),
    Media.ODS: ("ods", "ods ots"),
    Media.ODP: ("odp", "odp otp"),
    Media.HTML: ("html", "html htm xhtml"),
    Media.MHTML: ("mhtml", "mhtml mht"),
    Media.MARKDOWN: ("md", "md markdown qmd rmd"),
    Media.TEXT: ("md", "txt text rst"),
    Media.ASCIIDOC: ("asciidoc", "adoc asciidoc asc"),
    Media.LATEX: ("latex", "tex latex"),
    Media.CSV: ("csv", "csv"),
    Media.VTT: ("vtt", "vtt"),
    Media.IMAGE: ("image", "jpg jpeg png tif tiff bmp webp gif"),
    Media.EPUB: ("epub", "epub"),
    Media.EMAIL: ("email", "eml msg"),
    Media.XML: (None, "xml"),
    Media.XML_JATS: ("xml_jats", "nxml"),
    Media.XML_USPTO: ("xml_uspto", ""),
    Media.XML_XBRL: ("xml_xbrl", "xbrl"),
    Media.XML_DOCLANG: ("xml_doclang", "dclg dclg.xml"),
    Media.DCLX: ("dclx", "dclx"),
    Media.METS_GBS: ("mets_gbs", "tar.gz"),
    Media.JSON_DOCLING: ("json_docling", "json"),
    Media.BOXNOTE: ("boxnote", "boxnote"),
    Media.PAGES: ("iwork_pages", "pages"),
    Media.KEYNOTE: ("iwork_keynote", "key"),
    Media.NUMBERS: ("iwork_numbers", "numbers"),
    Media.EBCDIC: ("ebcdic", "ebc ebcdic"),
    Media.AFP: ("afp", "afp"),
    Media.AUDIO: ("audio", "wav mp3 m4a aac ogg flac"),
    Media.VIDEO: ("video", "mp4 avi mov mkv webm"),
}
"""Media: docling's name of the input format, and the suffixes. ``rst`` is ours: it is read as plain text."""

SUFFIXES: Mapping[str, Media] = {
    suffix: media for media, (_, suffixes) in _BY_MEDIA.items() for suffix in suffixes.split()
}
"""Suffix (lower case, without the first dot) to media."""

_SECOND_SUFFIXES = frozenset(suffix.rpartition(".")[2] for suffix in SUFFIXES if "." in suffix)

RECORDINGS = frozenset({Media.AUDIO, Media.VIDEO})
"""Read only on request: they need speech models that do not come with Stackroom."""


def supported_suffixes(*, recordings: bool = False) -> frozenset[str]:
    """Return the suffixes of files that are taken from a folder, lower case, without the first dot.

    Args:
        recordings: include audio and video.
    """
    return frozenset(suffix for suffix, media in SUFFIXES.items() if recordings or media not in RECORDINGS)


def declared_media(name: str) -> Media | None:
    """Return what a file claims to be by its suffix (the longest that is known); None for a suffix nobody knows."""
    stem, dot, suffix = name.lower().rpartition(".")
    if suffix in _SECOND_SUFFIXES and (media := SUFFIXES.get(f"{stem.rpartition('.')[2]}.{suffix}")):
        return media
    return SUFFIXES.get(suffix) if dot else None


def docling_format(media: Media) -> str | None:
    """Return the value of docling's ``InputFormat`` for a kind of document; None for what docling does not read."""
    return _BY_MEDIA.get(media, (None, ""))[0]


def usual_suffix(media: Media) -> str | None:
    """Return the suffix that files of a kind usually have, without dot; for handing content to docling by name."""
    suffixes = _BY_MEDIA.get(media, (None, ""))[1].split()
    return suffixes[0] if suffixes else None


def looks_like_pdf(head: bytes) -> bool:
    """Say whether the first 1,024 bytes of a file hold a PDF header; readers accept junk before it."""
    return b"%PDF-" in head[:1024]


def holds_pdf_parts(head: bytes) -> bool:
    """Say whether the start of a file (up to a megabyte) is that of a PDF, perhaps one that lost its header."""
    return looks_like_pdf(head) or b"endobj" in head


def may_lack_suffix(name: str) -> bool:
    """Say whether a file is worth a look inside because its name ends in no suffix, or in a number.

    ``no_extension`` has none; ``2301.00001v2`` is an arXiv identifier, and its suffix is part of it.
    """
    suffix = PurePath(name).suffix
    return not suffix or suffix == "." or suffix[1].isdigit()


def holds_only_zeros(path: Path) -> bool:
    """Say whether every byte of a file is zero, as after a crash or a failed download."""
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            if block.count(0) != len(block):
                return False
    return True
