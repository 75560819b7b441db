"""A docling backend for pages that are pictures: it turns them upright, reads them, and offers the lines as text cells.

To docling such a page looks like any other, so scans and text pages go through one pipeline. Boxes come out in the
frame of the upright page; :func:`to_displayed_frame` maps them back onto the page as a viewer shows it.
"""

from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path

from docling.backend.pdf_backend import PdfDocumentBackend, PdfPageBackend
from docling.datamodel.backend_options import PdfBackendOptions
from docling.datamodel.base_models import InputFormat
from docling.datamodel.document import InputDocument
from docling.exceptions import DocumentLoadError
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItem, DoclingDocument, Size
from docling_core.types.doc.document import ContentLayer
from docling_core.types.doc.page import (
    BoundingRectangle,
    PdfPageBoundaryType,
    PdfPageGeometry,
    SegmentedPdfPage,
    TextCell,
)
from PIL import Image
from pypdfium2 import PdfiumError
from typing_extensions import override

from stackroom.conversion.ocr_engine import Line, Reading, TextReader
from stackroom.conversion.pictures import PageSource

OpenPages = Callable[[], PageSource]


class ScanPageBackend(PdfPageBackend):
    """One page, read."""

    def __init__(self, number: int, reading: Reading | None, size: tuple[float, float]) -> None:
        """Hold what was read.

        Args:
            number: page number, from 1.
            reading: what is on the page; None if it could not be drawn.
            size: width and height of the upright page in points.
        """
        self._number = number
        self._reading = reading
        self._size = Size(width=size[0], height=size[1])

    @property
    @override
    def page_no(self) -> int:
        """Page number, from 1."""
        return self._number

    @override
    def is_valid(self) -> bool:
        """Whether the page could be drawn."""
        return self._reading is not None

    @override
    def get_size(self) -> Size:
        """Return the size of the upright page in points."""
        return self._size

    @override
    def get_text_cells(self) -> Iterable[TextCell]:
        """Return the lines that were read."""
        if self._reading is None:
            return []
        across = self._size.width / self._reading.picture.width
        down = self._size.height / self._reading.picture.height
        return [_cell(index, line, across, down) for index, line in enumerate(self._reading.lines)]

    @override
    def get_segmented_page(self) -> SegmentedPdfPage | None:
        """Return the lines that were read, as docling's pipeline wants them."""
        cells = list(self.get_text_cells())
        box = BoundingBox(
            l=0, b=0, r=self._size.width, t=self._size.height, coord_origin=CoordOrigin.BOTTOMLEFT
        )  # the origin every other backend uses here
        geometry = PdfPageGeometry(
            angle=0.0,
            rect=BoundingRectangle.from_bounding_box(box),
            boundary_type=PdfPageBoundaryType.CROP_BOX,
            art_bbox=box,
            bleed_bbox=box,
            crop_bbox=box,
            media_bbox=box,
            trim_bbox=box,
        )
        return SegmentedPdfPage(
            dimension=geometry, char_cells=[], word_cells=[], textline_cells=cells, has_lines=bool(cells)
        )

    @override
    def get_text_in_rect(self, bbox: BoundingBox) -> str:
        """Return the text of the lines that lie mostly inside a box."""
        box = bbox.to_top_left_origin(self._size.height)
        cells = self.get_text_cells()
        return " ".join(cell.text for cell in cells if cell.rect.to_bounding_box().intersection_over_self(box) > 0.5)

    @override
    def get_bitmap_rects(self, scale: float = 1) -> Iterable[BoundingBox]:
        """Return one box: the whole page is a picture."""
        return [BoundingBox(l=0, t=0, r=self._size.width, b=self._size.height).scaled(scale)]

    @override
    def get_page_image(self, scale: float = 1, cropbox: BoundingBox | None = None) -> Image.Image:
        """Return the upright picture, or a part of it, at ``scale`` pixels per point."""
        assert self._reading is not None  # noqa: S101 - docling asks valid pages only
        picture = self._reading.picture
        box = cropbox.to_top_left_origin(self._size.height) if cropbox else None
        left, top, right, bottom = box.as_tuple() if box else (0.0, 0.0, self._size.width, self._size.height)
        across, down = picture.width / self._size.width, picture.height / self._size.height
        size = (max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale)))
        part = (left * across, top * down, min(right * across, picture.width), min(bottom * down, picture.height))
        return picture.resize(size, Image.Resampling.BILINEAR, box=part, reducing_gap=2.0)

    @override
    def unload(self) -> None:
        """Let go of the picture."""
        self._reading = None


class ScanDocumentBackend(PdfDocumentBackend):
    """The pages of a PDF or image file, each read when docling asks for it."""

    def __init__(
        self,
        in_doc: InputDocument,
        path_or_stream: BytesIO | Path,
        options: PdfBackendOptions | None = None,
        *,
        open_pages: OpenPages,
        reader: TextReader,
        scale: float,
    ) -> None:
        super().__init__(in_doc, path_or_stream, options)
        self._reader = reader
        self._scale = scale
        self.quarter_turns: dict[int, int] = {}
        """Page number (from 1) to clockwise right angles by which it was turned; upright pages are absent."""
        self.read_lines: dict[int, list[str]] = {}
        """Page number (from 1) to the lines read on it."""
        try:
            self._pages: PageSource | None = open_pages()
        except (OSError, PdfiumError) as error:
            raise DocumentLoadError(f"{in_doc.file.name} cannot be opened: {error}") from error
        self._count = self._pages.count

    @classmethod
    @override
    def supported_formats(cls) -> set[InputFormat]:
        """Return the formats this backend serves."""
        return {InputFormat.PDF, InputFormat.IMAGE}

    @override
    def is_valid(self) -> bool:
        """Whether there is any page."""
        return self._count > 0

    @override
    def page_count(self) -> int:
        """Return the number of pages."""
        return self._count

    @override
    def load_page(self, page_no: int) -> ScanPageBackend:
        """Draw, turn and read a page (from 0)."""
        assert self._pages is not None  # noqa: S101 - docling loads pages of open documents only
        number = page_no + 1
        try:
            size = self._pages.size(page_no)
            reading = self._reader.read(self._pages.draw(page_no, self._scale))
        except (OSError, PdfiumError):
            return ScanPageBackend(number, None, (1.0, 1.0))
        if reading.quarter_turns:
            self.quarter_turns[number] = reading.quarter_turns
        self.read_lines[number] = [line.text for line in reading.lines]
        return ScanPageBackend(number, reading, size if reading.quarter_turns % 2 == 0 else size[::-1])

    @override
    def unload(self) -> None:
        """Close the file."""
        if self._pages is not None:
            self._pages.close()
            self._pages = None
        super().unload()


def to_displayed_frame(document: DoclingDocument, quarter_turns: dict[int, int]) -> None:
    """Map sizes and boxes of pages that were turned upright back onto the pages as they are displayed, in place."""
    for number, turns in quarter_turns.items():
        page = document.pages.get(number)
        if page is None:
            continue
        upright = page.size
        if turns % 2:
            page.size = Size(width=upright.height, height=upright.width)
        items = document.iterate_items(
            page_no=number, traverse_pictures=True, included_content_layers=set(ContentLayer)
        )
        for item, _ in items:
            if not isinstance(item, DocItem):
                continue
            for place in item.prov:
                if place.page_no == number:
                    box = place.bbox.to_top_left_origin(upright.height)
                    place.bbox = _turned_back(box, turns, upright).to_bottom_left_origin(page.size.height)


def _turned_back(box: BoundingBox, turns: int, upright: Size) -> BoundingBox:
    """Return a box of the upright page on the page before it was turned clockwise ``turns`` times."""
    width, height = upright.width, upright.height
    corners = {
        0: (box.l, box.t, box.r, box.b),
        1: (box.t, width - box.r, box.b, width - box.l),
        2: (width - box.r, height - box.b, width - box.l, height - box.t),
        3: (height - box.b, box.l, height - box.t, box.r),
    }[turns % 4]
    return BoundingBox(l=corners[0], t=corners[1], r=corners[2], b=corners[3], coord_origin=CoordOrigin.TOPLEFT)


def _cell(index: int, line: Line, across: float, down: float) -> TextCell:
    left, top, right, bottom = line.box
    box = BoundingBox(
        l=left * across, t=top * down, r=right * across, b=bottom * down, coord_origin=CoordOrigin.TOPLEFT
    )
    return TextCell(
        index=index,
        text=line.text,
        orig=line.text,
        confidence=line.score,
        from_ocr=True,
        rect=BoundingRectangle.from_bounding_box(box),
    )
