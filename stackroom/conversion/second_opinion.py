"""A PDF that PDFium refuses, seen by docling-parse: how many pages does it have? Used only after PDFium has failed."""

from pathlib import Path
from typing import TYPE_CHECKING

from stackroom.precheck import PageStatistics, PdfClassification

if TYPE_CHECKING:
    from docling_parse.pdf_parser import PdfDocument

REASON = "PDFium cannot open the file; docling-parse reads its text layer"

PAGES_LOOKED_AT = 20
"""First pages searched for text; a file that has none there is taken for as damaged as PDFium says."""


def classify_by_docling_parse(path: Path, password: str | None, max_pages: int) -> PdfClassification | None:
    """Return a classification that keeps every page's text layer, or None if docling-parse finds no text either."""
    from docling_parse.pdf_parser import DoclingPdfParser

    try:
        parser = DoclingPdfParser(loglevel="fatal")
        document = parser.load(path, lazy=True, password=password)
        count = document.number_of_pages()
        if not 0 < count <= max_pages or not _has_text(document, min(count, PAGES_LOOKED_AT)):
            return None
    except (RuntimeError, ValueError, OSError):
        return None
    return PdfClassification(
        pages=count,
        image_pages=0,
        garbled_pages=0,
        total_chars=0,
        needs_ocr=False,
        reason=REASON,
        page_statistics=tuple(_page(number) for number in range(1, count + 1)),
    )


def _has_text(document: "PdfDocument", pages: int) -> bool:
    return any(document.get_page(number).textline_cells for number in range(1, pages + 1))


def _page(number: int) -> PageStatistics:
    return PageStatistics(
        page=number,
        characters=0,
        image_coverage=0.0,
        odd_share=0.0,
        implausible_share=0.0,
        unmapped_share=0.0,
        duplicated_share=0.0,
        invisible_share=0.0,
        rotation=0,
        decision="text",
        reason=REASON,
        image_page=False,
        garbled=False,
    )
