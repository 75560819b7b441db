"""A PDF that PDFium refuses, seen by docling-parse: how many pages does it have? Used only after PDFium has failed."""

from pathlib import Path

from stackroom.precheck import PageStatistics, PdfClassification

REASON = "PDFium cannot open the file; docling-parse reads its text layer"


def classify_by_docling_parse(path: Path, password: str | None, max_pages: int) -> PdfClassification | None:
    """Return a classification that keeps every page's text layer, or None if docling-parse refuses the file, too."""
    from docling_parse.pdf_parser import DoclingPdfParser

    try:
        parser = DoclingPdfParser(loglevel="fatal")
        document = parser.load(path, lazy=True, password=password)
        count = document.number_of_pages()
    except (RuntimeError, ValueError, OSError):
        return None
    if not 0 < count <= max_pages:
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
