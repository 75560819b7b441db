"""A converted file before it is chunked: the document, what is missing, and the text it is measured against."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from docling_core.types.doc import DoclingDocument
from pypdfium2 import PdfiumError

from stackroom.conversion.office_converter import convert_office
from stackroom.conversion.pdf_converter import Part, PdfConverter, PdfFile, joined
from stackroom.conversion.segments import segments, way_of
from stackroom.formats import Media
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck import PdfClassification


@dataclass
class Converted:
    """What re-chunking needs, so that another token limit converts nothing."""

    document: DoclingDocument
    pages: int = 0
    missing_pages: tuple[int, ...] = ()
    ocr_pages: tuple[int, ...] = ()
    ranges: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the report: which pages were read by which backend."""
    reference: str = ""
    """Text layer and OCR text, line by line; empty where the document itself is the reference."""
    signals: dict[str, Any] = field(default_factory=dict)
    models: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values; :meth:`from_json` is the inverse."""
        return {**vars(self), "document": self.document.model_dump(mode="json", by_alias=True, exclude_none=True)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Converted":
        """Return what :meth:`to_json` wrote."""
        document = DoclingDocument.model_validate(data["document"])
        pages = {name: tuple(data[name]) for name in ("missing_pages", "ocr_pages")}
        return cls(**{**data, **pages, "document": document})


def convert_office_file(path: Path, media: Media, name: str) -> Converted | Failed:
    """Convert a file without pages of its own."""
    document = convert_office(path, media, name)
    if isinstance(document, Failed):
        return document
    return Converted(document, pages=len(document.pages))


def convert_paged_file(
    converter: PdfConverter,
    path: Path,
    name: str,
    password: str | None,
    classification: PdfClassification | None,
    window: int,
    report: Callable[[dict[str, Any]], None],
) -> Converted | Failed:
    """Convert a PDF, or a picture (which has no classification).

    Args:
        converter: holds the models.
        path: the file.
        name: name for the document.
        password: of an encrypted PDF.
        classification: which pages are to be read by OCR; None for pictures, all of whose frames are.
        window: most pages converted together.
        report: told before each step how many pages there are and how many it has.
    """
    file = PdfFile(path, name, classification is None, password, _counted(classification))
    opened = _page_sizes(converter, file)
    if isinstance(opened, Failed) and classification is None:
        return opened
    sizes = [] if isinstance(opened, Failed) else opened
    count = classification.pages if classification else len(sizes)
    decisions = {page.page: page.decision for page in classification.page_statistics} if classification else {}
    ways = [
        way_of(decisions.get(number, "text" if classification else "ocr"), sizes[number - 1] if sizes else (1.0, 1.0))
        for number in range(1, count + 1)
    ]
    parts = converter.convert(
        file,
        segments(ways, window),
        lambda segment: report({"pages": count, "step_pages": len(segment.pages), "page": segment.first}),
    )
    missing = tuple(
        sorted(page for part in parts for page in range(part.first, part.last + 1) if page not in part.read)
    )
    if len(missing) == count:
        said = list(dict.fromkeys(problem for part in parts for problem in part.problems))
        return Failed(
            ReasonCode.CORRUPT, f"{path.name}: none of its {count} pages could be read", {"problems": said[:10]}
        )
    read_by_ocr = tuple(page for part in parts for page in sorted(part.lines))
    return Converted(
        document=joined(parts, name),
        pages=count,
        missing_pages=missing,
        ocr_pages=read_by_ocr,
        ranges=[part.range_report() for part in parts],
        reference=_reference(file, classification, parts),
    )


def _counted(classification: PdfClassification | None) -> dict[int, int]:
    if classification is None:
        return {}
    return {page.page: page.characters for page in classification.page_statistics if page.decision == "text"}


def _page_sizes(converter: PdfConverter, file: PdfFile) -> list[tuple[float, float]] | Failed:
    """Return the size of every page in points, or why the file cannot be drawn."""
    try:
        pages = converter.open_pages(file)
        try:
            return [pages.size(index) for index in range(pages.count)]
        finally:
            pages.close()
    except (OSError, PdfiumError, SyntaxError, ValueError) as error:  # Pillow raises the last two for damaged pictures
        evidence = {"type": type(error).__name__, "message": str(error)}
        return Failed(ReasonCode.CORRUPT, f"{file.path.name} cannot be opened: {error}", evidence)


def _reference(file: PdfFile, classification: PdfClassification | None, parts: list[Part]) -> str:
    """Return the text the chunks are compared with: PDFium's for text pages, what OCR read for the others."""
    lines = {page: "\n".join(read) for part in parts for page, read in part.lines.items()}
    if classification is not None:
        try:
            document = pdfium.PdfDocument(file.path, password=file.password)
        except PdfiumError:
            return ""
        with document:
            for page in classification.text_pages:
                if page not in lines:
                    lines[page] = _text_layer(document, page)
    return "\n".join(lines[page] for page in sorted(lines))


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
