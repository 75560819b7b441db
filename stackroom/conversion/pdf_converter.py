"""PDFs and pictures through docling's pipeline: segment by segment, with a second backend where the first falls short.

docling-parse reads text layers best; PDFium opens files that docling-parse refuses, and the other way round. A segment
is tried with the first; pages that it cannot read, or on which it finds other words than PDFium did before, are tried
with the second. What came from where is recorded.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docling.datamodel.backend_options import PdfBackendOptions
from docling.datamodel.base_models import ConversionStatus, InputFormat
from docling.datamodel.document import ConversionResult, InputDocument
from docling.datamodel.settings import DocumentLimits
from docling_core.types.doc import DocItemLabel, DoclingDocument
from pydantic import SecretStr

from stackroom.config import LimitSettings, OcrSettings
from stackroom.conversion.capped_backend import CappedPdfiumDocumentBackend
from stackroom.conversion.ocr_engine import TextReader
from stackroom.conversion.page_numbers import add_missing_pages, blank_document, cut_pages, page_texts, share_found
from stackroom.conversion.pictures import POINTS_PER_INCH, ImagePages, PageSource, PdfPages
from stackroom.conversion.scan_backend import ScanDocumentBackend, to_displayed_frame
from stackroom.conversion.segments import Segment, runs
from stackroom.conversion.text_backend import TextDocumentBackend

if TYPE_CHECKING:
    from docling.pipeline.standard_pdf_pipeline import StandardPdfPipeline

DOCLING_PARSE, PDFIUM, OCR = "docling-parse", "pdfium", "ocr"
BACKENDS = {"text": (DOCLING_PARSE, PDFIUM), "cautious": (PDFIUM,), "scan": (OCR,)}
"""Way of a segment to the backends that are tried, in order."""

LEAST_SHARE = 0.9
"""A page is tried with the other backend if it holds less than this share of the words PDFium finds in its text layer.
docling-parse leaves out some figures, and takes fonts it does not know for other letters. Of 377 pages of papers, 373
hold more (99.6 % in the median), and the other four hold 99 % when PDFium reads them."""
LEAST_GAIN = 0.03
"""How much larger that share must then be for the other backend's pages to be taken: docling-parse knows words and
fonts, which tables and headings profit from."""


@dataclass(frozen=True)
class PdfFile:
    """A file of pages, and what is known of it."""

    path: Path
    name: str
    is_image: bool = False
    password: str | None = None
    texts: dict[int, str] = field(default_factory=dict)
    """Page number to its text layer as PDFium reads it, for pages whose text layer is kept."""


@dataclass
class Part:
    """Consecutive pages as one backend read them."""

    first: int
    last: int
    backend: str
    document: DoclingDocument
    read: set[int]
    """Pages that were read; the others of the range are empty."""
    turned: dict[int, int] = field(default_factory=dict)
    """Page number to the quarter turns (clockwise) that made it stand upright."""
    lines: dict[int, list[str]] = field(default_factory=dict)
    """Page number to the lines that OCR read."""
    problems: list[str] = field(default_factory=list)

    def range_report(self) -> dict[str, Any]:
        """Return a row of the conversion report."""
        row: dict[str, Any] = {"first": self.first, "last": self.last, "backend": self.backend}
        if self.turned:
            row["turned_degrees"] = {str(page): 90 * turns for page, turns in self.turned.items()}
        if self.problems:
            row["problems"] = self.problems[:5]
        return row


class PdfConverter:
    """Converts PDFs and pictures; holds the models."""

    def __init__(self, pipeline: "StandardPdfPipeline", ocr: OcrSettings, limits: LimitSettings, threads: int) -> None:
        self._pipeline = pipeline
        self._threads = threads
        self._reader = TextReader(threads)
        self._scale = ocr.render_dpi / POINTS_PER_INCH
        self._most_pixels = limits.max_page_megapixels * 1e6

    def convert(self, file: PdfFile, segments: Sequence[Segment], report: Callable[[Segment], None]) -> list[Part]:
        """Return the parts of a file in page order; together they cover every page of it.

        Args:
            file: what to convert.
            segments: all its pages.
            report: called before each segment.
        """
        parts: list[Part] = []
        for segment in segments:
            report(segment)
            parts += self._segment(file, segment)
            gc.collect()  # pages refer to each other in circles and hold pictures
        return parts

    def _segment(self, file: PdfFile, segment: Segment) -> list[Part]:
        first, *others = BACKENDS[segment.way]
        parts = [self._attempt(file, segment.first, segment.last, first)]
        for backend in others:
            short = {page for part in parts for page in _short_pages(file, part)}
            for low, high in runs(short):
                parts = _replace(file, parts, self._attempt(file, low, high, backend))
        return parts

    def _attempt(self, file: PdfFile, first: int, last: int, backend: str) -> Part:
        """Convert consecutive pages with one backend; whatever goes wrong, there is a part."""
        opened, problem = self._open(file, first, last, backend)
        if opened is None:
            return Part(
                first, last, backend, blank_document(file.name, range(first, last + 1)), set(), {}, {}, [problem]
            )
        result = self._pipeline.execute(opened, raises_on_error=False)
        problems = list(dict.fromkeys(error.error_message for error in result.errors))
        part = Part(first, last, backend, result.document, _pages_read(result), problems=problems)
        if isinstance(opened._backend, ScanDocumentBackend):
            part.turned, part.lines = opened._backend.quarter_turns, opened._backend.read_lines
            to_displayed_frame(part.document, part.turned)
        add_missing_pages(part.document, range(first, last + 1))
        return part

    def _open(self, file: PdfFile, first: int, last: int, backend: str) -> tuple[InputDocument | None, str]:
        """Open a range of pages with a backend; None and what is wrong if it refuses the file."""
        maker, options = self._backend(file, backend)
        try:
            opened = InputDocument(
                path_or_stream=file.path,
                format=InputFormat.IMAGE if file.is_image else InputFormat.PDF,
                backend=maker,
                backend_options=options,
                filename=file.path.name,
                limits=DocumentLimits(page_range=(first, last)),
            )
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - native parsers raise whatever they like; the next one is tried
            return None, f"{type(error).__name__}: {error}"[:500]
        if opened.valid:
            return opened, ""
        return None, opened._rejection.message if opened._rejection else "the file was refused"

    def _backend(self, file: PdfFile, backend: str) -> tuple[Any, PdfBackendOptions]:
        secret = {"password": SecretStr(file.password)} if file.password is not None else {}
        options = PdfBackendOptions.model_validate(secret)
        if backend == DOCLING_PARSE:
            return partial(TextDocumentBackend, threads=self._threads, most_pixels=self._most_pixels), options
        if backend == PDFIUM:
            return partial(CappedPdfiumDocumentBackend, most_pixels=self._most_pixels), options
        opener = partial(self.open_pages, file)
        return partial(ScanDocumentBackend, open_pages=opener, reader=self._reader, scale=self._scale), options

    def open_pages(self, file: PdfFile) -> PageSource:
        """Open a file for drawing its pages.

        Raises:
            OSError: it is a picture that cannot be opened.
            pypdfium2.PdfiumError: it is a PDF that PDFium cannot open.
        """
        if file.is_image:
            return ImagePages(file.path, self._most_pixels)
        return PdfPages(file.path, file.password, self._most_pixels)


def joined(parts: Sequence[Part], name: str) -> DoclingDocument:
    """Return one document of all parts in page order, with the page numbers of the file."""
    document = DoclingDocument.concatenate([part.document for part in parts]) if len(parts) > 1 else parts[0].document
    document.name = name
    for item in document.texts:
        # docling leaves the text of a formula empty until a model has turned it into LaTeX; what is printed is kept.
        if item.label == DocItemLabel.FORMULA and not item.text:
            item.text = item.orig
    return document


def _short_pages(file: PdfFile, part: Part) -> set[int]:
    """Return the pages of a part that another backend may read better."""
    found = page_texts(part.document)
    return {
        page
        for page in range(part.first, part.last + 1)
        if page not in part.read or share_found(file.texts.get(page, ""), found.get(page, "")) < LEAST_SHARE
    }


def _replace(file: PdfFile, parts: Sequence[Part], better: Part) -> list[Part]:
    """Put a second attempt at some pages into its place, unless it read no more than the first."""
    result: list[Part] = []
    for part in parts:
        if not (part.first <= better.first and better.last <= part.last):
            result.append(part)
        elif _gain(file, part, better) < LEAST_GAIN and not better.read - part.read:
            part.problems += better.problems
            result.append(part)
        else:
            better.problems = [*part.problems, *better.problems]
            if better.first > part.first:
                result.append(_cut(part, part.first, better.first - 1))
            result.append(better)
            if better.last < part.last:
                result.append(_cut(part, better.last + 1, part.last))
    return result


def _gain(file: PdfFile, part: Part, better: Part) -> float:
    """Return how much larger the share of words found is in the second attempt, as a mean over its pages."""
    before, after = page_texts(part.document), page_texts(better.document)
    pages = range(better.first, better.last + 1)
    gains = [
        share_found(file.texts.get(page, ""), after.get(page, ""))
        - share_found(file.texts.get(page, ""), before.get(page, ""))
        for page in pages
    ]
    return sum(gains) / len(gains)


def _cut(part: Part, first: int, last: int) -> Part:
    return Part(
        first, last, part.backend, cut_pages(part.document, first, last), part.read & set(range(first, last + 1))
    )


def _pages_read(result: ConversionResult) -> set[int]:
    return set() if result.status == ConversionStatus.FAILURE else {page.page_no for page in result.pages}
