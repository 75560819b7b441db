"""Where pictures of pages come from: PDFs opened by PDFium, and image files. Sizes in points, drawing within a cap.

No page is ever drawn larger than the cap, however large the page says it is: the cap is applied before memory is asked
for. Neither class is thread-safe, like PDFium itself; docling's lock for PDFium is taken around every use of it.
"""

import math
from pathlib import Path
from typing import Protocol

import pypdfium2 as pdfium
from docling.utils.locks import pypdfium2_lock
from PIL import Image, ImageOps

POINTS_PER_INCH = 72.0
PLAUSIBLE_DPI = range(50, 2401)
"""Resolutions an image file may claim and be believed; others count as 72, which makes a pixel a point."""


class PageSource(Protocol):
    """The pages of a file, as pictures."""

    @property
    def count(self) -> int:
        """Number of pages."""
        ...

    def size(self, index: int) -> tuple[float, float]:
        """Return width and height of a page (from 0) in points, as it is displayed."""
        ...

    def draw(self, index: int, scale: float) -> Image.Image:
        """Return a picture of a page (from 0), ``scale`` pixels per point or less where the cap requires it."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def capped(scale: float, width: float, height: float, most_pixels: float) -> float:
    """Return ``scale``, or less if a page of this size in points would have more than ``most_pixels``."""
    return min(scale, math.sqrt(most_pixels / max(width * height, 1e-6)))


class PdfPages:
    """Pages of a PDF, drawn by PDFium."""

    def __init__(self, path: Path, password: str | None, most_pixels: float) -> None:
        """Open the file.

        Raises:
            pypdfium2.PdfiumError: PDFium cannot open it.
        """
        self._most_pixels = most_pixels
        with pypdfium2_lock:
            self._document = pdfium.PdfDocument(path, password=password)
            self.count = len(self._document)

    def size(self, index: int) -> tuple[float, float]:
        """See :class:`PageSource`."""
        with pypdfium2_lock:
            width, height = self._document.get_page_size(index)
        return max(1.0, float(width)), max(1.0, float(height))

    def draw(self, index: int, scale: float, part: tuple[float, float, float, float] | None = None) -> Image.Image:
        """See :class:`PageSource`; ``part`` (left, top, right, bottom in points from the top left) draws only that.

        Raises:
            pypdfium2.PdfiumError: PDFium cannot load the page.
        """
        width, height = self.size(index)
        left, top, right, bottom = part or (0.0, 0.0, width, height)
        rim = (max(0.0, left), max(0.0, height - bottom), max(0.0, width - right), max(0.0, top))
        scale = capped(scale, right - left, bottom - top, self._most_pixels)
        with pypdfium2_lock:
            page = self._document[index]
            try:
                bitmap = page.render(scale=scale, crop=rim)
                picture: Image.Image = bitmap.to_pil().convert("RGB")
                bitmap.close()
            finally:
                page.close()
        return picture

    def text(self, index: int) -> str:
        """Return the text layer of a page (from 0); empty if PDFium cannot load the page."""
        with pypdfium2_lock:
            try:
                page = self._document[index]
            except pdfium.PdfiumError:
                return ""
            layer = page.get_textpage()
            try:
                return str(layer.get_text_range())
            finally:
                layer.close()
                page.close()

    def close(self) -> None:
        """See :class:`PageSource`."""
        with pypdfium2_lock:
            self._document.close()


class ImagePages:
    """Frames of an image file, turned as its EXIF data say."""

    def __init__(self, path: Path, most_pixels: float) -> None:
        """Open the file without decoding it.

        Raises:
            OSError: it is not an image, or a damaged one.
        """
        self._most_pixels = most_pixels
        self._image = Image.open(path)
        self.count: int = getattr(self._image, "n_frames", 1)
        self._frame: tuple[int, Image.Image] | None = None

    def size(self, index: int) -> tuple[float, float]:
        """See :class:`PageSource`."""
        picture, across, down = self._load(index)
        return picture.width * POINTS_PER_INCH / across, picture.height * POINTS_PER_INCH / down

    def draw(self, index: int, scale: float) -> Image.Image:
        """See :class:`PageSource`. An image is never blown up: more pixels than it has hold nothing more to read."""
        picture, _, _ = self._load(index)
        width, height = self.size(index)
        scale = capped(scale, width, height, self._most_pixels)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        if size[0] >= picture.width or size[1] >= picture.height:
            return picture
        return picture.resize(size, Image.Resampling.LANCZOS)

    def close(self) -> None:
        """See :class:`PageSource`."""
        self._frame = None
        self._image.close()

    def _load(self, index: int) -> tuple[Image.Image, float, float]:
        if self._frame is None or self._frame[0] != index:
            self._frame = None
            self._image.seek(index)
            # Small images written with a palette or with transparency read badly unless they lie on white paper.
            upright = ImageOps.exif_transpose(self._image)
            self._frame = (index, on_white(upright))
        picture = self._frame[1]
        dpi = self._image.info.get("dpi") or (POINTS_PER_INCH, POINTS_PER_INCH)
        across, down = (float(value) if int(value) in PLAUSIBLE_DPI else POINTS_PER_INCH for value in dpi[:2])
        return picture, across, down


def on_white(picture: Image.Image) -> Image.Image:
    """Return an RGB picture; what is transparent becomes white."""
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        layered = picture.convert("RGBA")
        paper = Image.new("RGBA", layered.size, "white")
        paper.alpha_composite(layered)
        return paper.convert("RGB")
    return picture.convert("RGB")
