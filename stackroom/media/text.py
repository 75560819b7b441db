"""Telling text from binary, and kinds of text from one another. Suffixes decide between plain kinds of text.

Markdown, AsciiDoc, CSV and LaTeX cannot be told apart for certain, so a text is what its suffix says unless it begins
like something else: an HTML page, an XML document, a JSON object.
"""

import codecs
import re

from stackroom.formats import Media

_BYTE_ORDER_MARKS = (  # UTF-32 first: its mark begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n\v\f\r\x1b"})
"""Bytes that text does not hold; escape is used by ISO-2022-JP."""
_MAX_CONTROL_SHARE = 0.01

_BLANKS = re.compile(r"\s*")
_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)")
_HEADER_LINE = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t]")
_MAIL_HEADERS = frozenset(
    {"from", "to", "cc", "date", "subject", "received", "return-path", "message-id", "mime-version", "reply-to"}
)
_PLAIN = frozenset({Media.TEXT, Media.MARKDOWN, Media.ASCIIDOC, Media.CSV, Media.LATEX})
_USPTO_ROOTS = ("us-patent", "patent-application-publication", "patdoc", "us-grant")


def decode_head(head: bytes) -> str | None:
    """Return the text of the first bytes of a file; None when they are not text.

    The encoding is guessed only as far as needed to recognise markup: unknown bytes come out as some character.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return head[len(mark) :].decode(encoding, errors="ignore")
    if b"\0" in head:
        guess = _utf16_without_mark(head)
        return None if guess is None else head.decode(guess, errors="ignore")
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > _MAX_CONTROL_SHARE * len(head):
        return None
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return head.decode("latin-1")


def text_media(text: str, declared: Media | None) -> Media:
    """Return what kind of text this is.

    Args:
        text: the first part of the file.
        declared: what the suffix says.
    """
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("<"):
        return _markup(start, declared)
    if start.startswith("{") and declared not in _PLAIN:
        return _json(start, declared)
    if declared in (Media.EMAIL, Media.MHTML) or (declared not in _PLAIN and _is_mail(start)):
        return _mail(start, declared)
    if start.startswith(("PATN\n", "PATN\r\n")):
        return Media.XML_USPTO
    if start.startswith("WEBVTT"):
        return Media.VTT
    if declared is Media.HTML or declared in _PLAIN:
        return declared
    if re.search(r"^[ \t]*\\document(?:class|style)\b", start, re.MULTILINE):
        return Media.LATEX
    return Media.TEXT


def _markup(start: str, declared: Media | None) -> Media:
    """Tell what begins with an angle bracket; Markdown may do so and stay Markdown, unless it is a whole page."""
    doctype, after = _skip_prolog(start)
    root = found.group(1).lower() if (found := _ROOT.match(start, after)) else ""
    if root == "html" or re.match(r"<!doctype\s+html\b", doctype):
        return Media.HTML
    if declared in _PLAIN or declared in (Media.HTML, Media.EMAIL, Media.MHTML, Media.VTT):
        return declared
    if root in ("head", "body"):
        return Media.HTML
    return _xml(root, doctype, start)


def _skip_prolog(text: str) -> tuple[str, int]:
    """Return the document type declaration of a markup text, small letters, and where its root element begins.

    One pass from left to right: a regular expression for this can be made to run for hours.
    """
    doctype, at = "", 0
    while True:
        at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # matches the empty string too
        if text.startswith("<?", at):
            end = text.find("?>", at)
        elif text.startswith("<!--", at):
            end = text.find("-->", at)
        elif text[at : at + 9].lower() == "<!doctype":
            end = text.find(">", at)
            if "[" in text[at:end]:  # an internal subset, with declarations of its own
                end = text.find(">", text.find("]", at))
            doctype = text[at : end + 1].lower()
        else:
            return doctype, at
        if end < 0:
            return doctype, len(text)
        at = text.index(">", end) + 1


def _xml(root: str, doctype: str, start: str) -> Media:
    if root == "article" and ("jats" in doctype or "nlm" in doctype or "<front" in start):
        return Media.XML_JATS
    if root.startswith(_USPTO_ROOTS):
        return Media.XML_USPTO
    return {"xbrl": Media.XML_XBRL, "doclang": Media.XML_DOCLANG}.get(root, Media.XML)


def _json(start: str, declared: Media | None) -> Media:
    if declared is Media.BOXNOTE:
        return Media.BOXNOTE
    return Media.JSON_DOCLING if re.search(r'"schema_name"\s*:\s*"DoclingDocument"', start) else Media.JSON


def _is_mail(start: str) -> bool:
    """Say whether a text begins with at least two header lines of a mail message."""
    names = [match.group(1).lower() for line in start.splitlines()[:12] if (match := _HEADER_LINE.match(line))]
    return len(_MAIL_HEADERS.intersection(names)) >= 2 and bool(_HEADER_LINE.match(start))


def _mail(start: str, declared: Media | None) -> Media:
    if declared in (Media.EMAIL, Media.MHTML):
        return declared
    related = re.search(r"^content-type:[ \t]*multipart/related", start, re.MULTILINE | re.IGNORECASE)
    return Media.MHTML if related else Media.EMAIL


def _utf16_without_mark(head: bytes) -> str | None:
    """Guess UTF-16 from where its zero bytes stand: every second byte of text in a European language."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    few, many = 0.05 * len(head) / 2, 0.4 * len(head) / 2
    if odd >= many and even <= few:
        return "utf-16-le"
    return "utf-16-be" if even >= many and odd <= few else None
