"""Converting files that have pages, PDFs and pictures: page by page the way each needs, and what could not be read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import PdfiumError

from stackroom.conversion.converted import Converted
from stackroom.conversion.pdf_converter import PdfConverter, PdfFile, joined
from stackroom.conversion.segments import segments, way_of
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck import PdfClassification


def convert_paged_file(
    converter: PdfConverter,
    file: PdfFile,
    classification: PdfClassification | None,
    report: Callable[[dict[str, Any]], None],
    window: int,
    cautious: bool = False,
) -> Converted | Failed:
    """Convert a PDF, or a picture (which has no classification).

    Args:
        converter: holds the models.
        file: the file, without the texts of its pages.
        classification: which pages are to be read by OCR; None for pictures, all of whose frames are.
        report: told before each step how many pages there are and how many it has.
        window: most pages converted together.
        cautious: keep away from docling-parse.
    """
    count = classification.pages if classification else _frames(converter, file)
    if isinstance(count, Failed):
        return count
    decisions = {page.page: page.decision for page in classification.page_statistics} if classification else {}
    without = "text" if classification else "ocr"
    ways = [way_of(decisions.get(page, without), cautious) for page in range(1, count + 1)]
    file = replace(file, texts=_text_layers(file, classification.text_pages) if classification else {})
    parts = converter.convert(
        file,
        segments(ways, window),
        lambda segment: report({"pages": count, "step_pages": len(segment.pages), "page": segment.first}),
    )
    missing = tuple(page for part in parts for page in range(part.first, part.last + 1) if page not in part.read)
    if len(missing) == count:
        said = list(dict.fromkeys(problem for part in parts for problem in part.problems))[:10]
        return Failed(
            ReasonCode.CORRUPT, f"{file.path.name}: none of its {count} pages could be read", {"problems": said}
        )
    lines = {page: "\n".join(read) for part in parts for page, read in part.lines.items()}
    reference = file.texts | lines
    return Converted(
        document=joined(parts, file.name),
        pages=count,
        missing_pages=missing,
        ocr_pages=tuple(sorted(lines)),
        ranges=[part.range_report() for part in parts],
        reference="\n".join(reference[page] for page in sorted(reference)),
    )


def _frames(converter: PdfConverter, file: PdfFile) -> int | Failed:
    """Return how many frames a picture has, or why it cannot be opened."""
    try:
        pages = converter.open_pages(file)
    except (OSError, SyntaxError, ValueError) as error:  # Pillow raises the last two for damaged pictures
        evidence = {"type": type(error).__name__, "message": str(error)}
        return Failed(ReasonCode.CORRUPT, f"{file.path.name} cannot be opened: {error}", evidence)
    pages.close()
    return pages.count


def _text_layers(file: PdfFile, pages: Sequence[int]) -> dict[int, str]:
    """Return the text layers of pages as PDFium reads them: what docling's text is compared with."""
    try:
        document = pdfium.PdfDocument(file.path, password=file.password)
    except PdfiumError:
        return {}
    with document:
        return {page: _text_layer(document, page) for page in pages}


def _text_layer(document: pdfium.PdfDocument, number: int) -> str:
    try:
        page = document[number - 1]
    except PdfiumError:
        return ""
    text = page.get_textpage()
    try:
        return str(text.get_text_range())
    finally:
        text.close()
        page.close()
