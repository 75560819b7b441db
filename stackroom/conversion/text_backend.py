"""A docling backend for pages with a text layer: docling-parse reads it, PDFium draws the page.

docling's own backend lets docling-parse do both. Drawing a page takes it 25 ms, PDFium 6, and PDFium draws within a cap
however large the page is. Words are counted out only on pages that hold a table; nothing else needs them.
"""

import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from docling.backend.docling_parse_backend import ThreadedDoclingParseDocumentBackend, ThreadedDoclingParsePageBackend
from docling.backend.pdf_backend import PdfDocumentBackend
from docling.datamodel.backend_options import PdfBackendOptions
from docling.datamodel.document import InputDocument
from docling.exceptions import DocumentLoadError
from docling_core.types.doc import BoundingBox
from docling_core.types.doc.page import SegmentedPdfPage, TextCell
from docling_parse.pdf_parser import (
    ContentConfig,
    ContentLevel,
    DecodeConfig,
    DoclingThreadedPdfParser,
    PageParseResult,
    ThreadedPdfParserConfig,
)
from docling_parse.pdf_parsers import RenderConfig
from PIL import Image
from pypdfium2 import PdfiumError
from typing_extensions import override

from stackroom.conversion.pictures import PdfPages
from stackroom.conversion.unmapped_glyphs import UNKNOWN, fill_lines, fill_words

PAGES_AHEAD = 4
"""Decoded pages that wait for docling's pipeline."""


class TextPageBackend(ThreadedDoclingParsePageBackend):
    """A page whose text docling-parse has read."""

    def __init__(self, result: PageParseResult, pages: PdfPages | None) -> None:
        """Hold what was read.

        Args:
            result: docling-parse's page.
            pages: draws the page; None if PDFium refuses the file, and docling-parse has drawn the page.
        """
        super().__init__(result, rendered=pages is None)
        self._pages = pages
        self._as_read: dict[int, str] = {}
        """Lines with unknown characters, by place among the lines of the page, before these were filled in."""

    @override
    def get_segmented_page(self) -> SegmentedPdfPage | None:
        """Return the lines of the page, with characters that only PDFium knows filled in."""
        first = self._seg_page is None
        page = super().get_segmented_page()
        if not first or page is None or self._pages is None:
            return page
        lines = [cell.text for cell in page.textline_cells]
        self._as_read = {place: line for place, line in enumerate(lines) if UNKNOWN in line}
        if self._as_read:
            filled = fill_lines(lines, self._pages.text(self.page_no - 1))
            for place in self._as_read:
                page.textline_cells[place].text = filled[place]
        return page

    @override
    def get_page_image(self, scale: float = 1, cropbox: BoundingBox | None = None) -> Image.Image:
        """Return a picture of the page or of a part of it, ``scale`` pixels per point or less (see ``pictures.py``)."""
        if self._pages is None:
            return super().get_page_image(scale, cropbox)
        size = self.get_size()
        part = cropbox.to_top_left_origin(size.height).as_tuple() if cropbox else None
        return self._pages.draw(self.page_no - 1, scale, part)

    def word_cells(self) -> list[TextCell]:
        """Return the words of the page, boxes from the top left."""
        parsed = self._result.get_page(content_config=_content(ContentLevel.COMPUTE_AND_MATERIALIZE))
        height = parsed.dimension.height
        for cell in parsed.word_cells:
            cell.to_top_left_origin(height)
        words = list(parsed.word_cells)
        self._fill(words)
        return words

    def _fill(self, words: list[TextCell]) -> None:
        """Fill into words what was filled into their lines."""
        page = self.get_segmented_page()
        if page is None:
            return
        for place, before in self._as_read.items():
            line = page.textline_cells[place]
            inside = sorted(
                (word for word in words if _is_inside(word, line)), key=lambda word: word.rect.to_bounding_box().l
            )
            for word, text in zip(inside, fill_words([w.text for w in inside], before, line.text), strict=True):
                word.text = text


class TextDocumentBackend(ThreadedDoclingParseDocumentBackend):
    """A PDF read by docling-parse and drawn by PDFium."""

    def __init__(
        self,
        in_doc: InputDocument,
        path_or_stream: BytesIO | Path,
        options: PdfBackendOptions | None = None,
        *,
        threads: int,
        most_pixels: float,
    ) -> None:
        # The direct base class would set up a parser of its own, which draws.
        PdfDocumentBackend.__init__(self, in_doc, path_or_stream, options)
        password = self.options.password.get_secret_value() if self.options.password else None
        self._closed = self._iterating = False
        self._pages = _drawn_by_pdfium(Path(str(path_or_stream)), password, most_pixels)
        self._render_pages = self._pages is None
        first, last = in_doc.limits.page_range
        self.parser = DoclingThreadedPdfParser(
            parser_config=ThreadedPdfParserConfig(
                loglevel="fatal",
                threads=threads,
                render_config=RenderConfig() if self._render_pages else None,
                max_concurrent_results=PAGES_AHEAD,
                page_content_config=_content(ContentLevel.COMPUTE, shapes=self._render_pages),
            ),
            decode_config=DecodeConfig(),
        )
        try:
            self.doc_key = self.parser.load(
                path_or_stream, password=password, page_range=(min(first, sys.maxsize), min(last, sys.maxsize))
            )
        except (RuntimeError, ValueError) as error:
            raise DocumentLoadError(f"docling-parse cannot open {in_doc.file.name}: {error}") from error

    @override
    def iter_pages(self) -> Iterator[TextPageBackend]:
        """Yield the pages as they are decoded."""
        self._iterating = True
        for result in self.parser.iterate_results():
            yield TextPageBackend(result, self._pages)
        self._iterating = False

    @override
    def unload(self) -> None:
        """Close the file."""
        super().unload()
        if self._pages is not None:
            self._pages.close()
            self._pages = None


def _is_inside(word: TextCell, line: TextCell) -> bool:
    box, around = word.rect.to_bounding_box(), line.rect.to_bounding_box()
    across, down = (box.l + box.r) / 2, (box.t + box.b) / 2
    return around.l <= across <= around.r and around.t <= down <= around.b


def _content(words: ContentLevel, shapes: bool = False) -> ContentConfig:
    """Say what docling-parse works out: lines always, words as told, shapes only where it draws."""
    return ContentConfig(
        char_cells_content_level=ContentLevel.COMPUTE,
        word_cells_content_level=words,
        line_cells_content_level=ContentLevel.COMPUTE_AND_MATERIALIZE,
        shapes_content_level=ContentLevel.COMPUTE if shapes else ContentLevel.SKIP,
        bitmaps_content_level=ContentLevel.COMPUTE_AND_MATERIALIZE,
        include_bitmap_bytes=False,
    )


def _drawn_by_pdfium(path: Path, password: str | None, most_pixels: float) -> PdfPages | None:
    try:
        return PdfPages(path, password, most_pixels)
    except PdfiumError:
        return None
