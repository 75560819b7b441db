"""Opening a PDF with PDFium, and the true reason where it cannot be opened.

The reason comes from PDFium's error code and from the bytes of the file, never from an error text: for a PDF of zero
pages the text says "Success", and the error code is whatever the last call left behind.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium_c

from stackroom.formats import declared_media, holds_only_zeros, holds_pdf_parts
from stackroom.outcome import Failed, ReasonCode

_PAGE_OBJECT = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_BLOCK = 1 << 20


@contextlib.contextmanager
def opened_pdf(path: Path, password: str | None = None) -> Iterator[pypdfium2.PdfDocument | Failed]:
    """Open a PDF for the time of a ``with`` block; every handle is closed at its end, also when opening fails.

    Args:
        path: the file.
        password: user or owner password; ignored where none is needed.

    Yields:
        The document with at least one page, or why there is none.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        yield Failed(ReasonCode.MISSING_INPUT, f"{path} cannot be read: {error.strerror}", retryable=True)
        return
    if size == 0:
        yield Failed(ReasonCode.EMPTY, f"{path.name} has zero bytes", {"bytes": 0})
        return
    secret = None if password is None else password.encode("utf-8") + b"\0"
    handle = pdfium_c.FPDF_LoadDocument(os.fsencode(path) + b"\0", secret)
    if not handle:
        yield _not_opened(path, size, pdfium_c.FPDF_GetLastError(), password)
        return
    document = pypdfium2.PdfDocument(handle)
    try:
        yield document if len(document) > 0 else _without_pages(path, size)
    finally:
        document.close()


def _not_opened(path: Path, size: int, code: int, password: str | None) -> Failed:
    evidence = {"bytes": size, "pdfium_error": code}
    if code == pdfium_c.FPDF_ERR_PASSWORD:
        said = "needs a password" if password is None else "does not open with the given password"
        return Failed(ReasonCode.ENCRYPTED, f"{path.name} {said}", evidence)
    if code == pdfium_c.FPDF_ERR_SECURITY:
        return Failed(ReasonCode.ENCRYPTED, f"{path.name} is encrypted in a way that PDFium does not know", evidence)
    if holds_only_zeros(path):
        return Failed(ReasonCode.EMPTY, f"{path.name} holds {size} zero bytes and nothing else", evidence)
    with path.open("rb") as handle:
        if not holds_pdf_parts(handle.read(_BLOCK)):
            return Failed(
                ReasonCode.WRONG_TYPE, f"{path.name} is not a PDF: it has neither its header nor its parts", evidence
            )
    return Failed(ReasonCode.CORRUPT, f"{path.name} is damaged: PDFium cannot make out its structure", evidence)


def _without_pages(path: Path, size: int) -> Failed:
    """Tell a PDF that has no pages from one whose pages cannot be reached any more."""
    evidence = {"bytes": size, "page_objects": _count_page_objects(path)}
    if evidence["page_objects"]:
        message = f"{path.name} is damaged: it holds page objects, but its page tree does not lead to them"
        return Failed(ReasonCode.CORRUPT, message, evidence)
    return Failed(ReasonCode.NO_PAGES, f"{path.name} is a PDF of zero pages", evidence)


def count_attached_documents(document: pypdfium2.PdfDocument) -> int:
    """Count files attached to a PDF that would be sources if they lay in a folder; job options and data are none."""
    names = (document.get_attachment(index).get_name() for index in range(max(0, document.count_attachments())))
    return sum(1 for name in names if declared_media(name) is not None)


def _count_page_objects(path: Path) -> int:
    """Count page objects that stand uncompressed in the file; reads it in blocks that overlap by a few bytes."""
    found, rest = 0, b""
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK):
            window = rest + block
            cut = max(0, len(window) - 64)
            found += sum(1 for match in _PAGE_OBJECT.finditer(window) if match.start() < cut)
            rest = window[cut:]
    return found + len(_PAGE_OBJECT.findall(rest))
