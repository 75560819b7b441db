"""``classify_pdf``: which pages of a PDF keep their text layer and which need OCR."""

import importlib.metadata
import threading
from pathlib import Path
from typing import Any

from stackroom.config import LimitSettings, OcrSettings
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck.decision import classify_pages, decide_page, with_attachments
from stackroom.precheck.document import count_attached_documents, opened_pdf
from stackroom.precheck.page import measure_page
from stackroom.precheck.result import PdfClassification

PRECHECK_VERSION = 1
"""Raised whenever the classification of some file changes."""

_PDFIUM_IS_NOT_THREAD_SAFE = threading.Lock()


def precheck_identity(settings: OcrSettings) -> dict[str, Any]:
    """Return everything a classification depends on besides the file: code, PDFium and thresholds."""
    return {
        "precheck": PRECHECK_VERSION,
        "pypdfium2": importlib.metadata.version("pypdfium2"),
        **settings.model_dump(mode="json", exclude={"render_dpi"}),
    }


def classify_pdf(
    path: Path,
    settings: OcrSettings | None = None,
    password: str | None = None,
    *,
    max_pages: int | None = None,
) -> PdfClassification | Failed:
    """Classify the pages of a PDF.

    Runs in the calling process. PDFium can crash on a hostile file, so the product calls this in a worker process; it
    never runs twice at once in one process.

    Args:
        path: the PDF, whatever its suffix.
        settings: thresholds (default: those of :class:`~stackroom.config.OcrSettings`).
        password: user or owner password.
        max_pages: files with more pages are not looked at (default: that of
            :class:`~stackroom.config.LimitSettings`).

    Returns:
        The classification, or why the file cannot be read: ``encrypted``, ``corrupt``, ``no_pages``, ``empty``,
        ``wrong_type``, ``too_large`` or ``missing_input``. A page that cannot be loaded is recorded and costs nothing
        but itself; when that is every page, the file is ``corrupt``.
    """
    settings = settings or OcrSettings()
    limit = LimitSettings().max_pages if max_pages is None else max_pages
    with _PDFIUM_IS_NOT_THREAD_SAFE, opened_pdf(path, password) as document:
        if isinstance(document, Failed):
            return document
        count = len(document)
        if count > limit:
            message = f"{path.name} has {count:,} pages; the limit is {limit:,}"
            return Failed(ReasonCode.TOO_LARGE, message, {"pages": count, "max_pages": limit})
        pages = [decide_page(measure_page(document, number, settings), settings) for number in range(1, count + 1)]
        attachments = count_attached_documents(document)
    if not any(page.readable for page in pages):
        return Failed(ReasonCode.CORRUPT, f"{path.name} is damaged: none of its pages can be loaded", {"pages": count})
    return with_attachments(classify_pages(pages, settings), attachments)
