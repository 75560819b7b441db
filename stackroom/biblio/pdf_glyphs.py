"""Glyphs of a PDF page with place and size, read through PDFium; nothing here decides what they mean."""

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_GLYPHS_PER_PAGE = 15_000
"""A page of dense text has about 6,000; more is a drawing made of letters, of which the first are enough."""

_BOLD_WEIGHT = 600
_END_OF_LINE_HYPHEN = 2
"""What PDFium gives for a hyphen that it takes to divide a word at the end of a line."""
_SPACES = frozenset(" \u00a0\t\r\n\u2002\u2003\u2009")


@dataclass(slots=True)
class Glyph:
    """One drawn character. Lengths in points, origin at the top left of the page as it is seen, y downwards."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool
    font: str
    rotated: bool
    space_before: bool
    """PDFium or the file itself puts a space between this glyph and the one before it."""


@dataclass(frozen=True)
class PageFrame:
    """How PDF coordinates of a page become coordinates of the page as it is seen."""

    width: float
    height: float
    left: float
    bottom: float
    rotation: int

    def to_view(self, x: float, y: float) -> tuple[float, float]:
        """Return (x, y) with the origin at the visible top left, y downwards."""
        x, y = x - self.left, y - self.bottom
        match self.rotation:
            case 90:
                return y, x
            case 180:
                return self.width - x, y
            case 270:
                return self.width - y, self.height - x
            case _:
                return x, self.height - y


def page_frame(page: Any) -> PageFrame:
    """Return the frame of a ``pypdfium2.PdfPage``."""
    width, height = page.get_size()
    left, bottom, _, _ = page.get_cropbox()
    return PageFrame(width, height, left, bottom, page.get_rotation())


def read_glyphs(page: Any, frame: PageFrame) -> Iterator[Glyph]:
    """Yield the drawn glyphs of a ``pypdfium2.PdfPage`` in the order of the file, at most the first 15,000."""
    textpage = page.get_textpage()
    try:
        reader = _Reader(textpage, frame)
        space = False
        for index in range(min(textpage.count_chars(), MAX_GLYPHS_PER_PAGE)):
            char = reader.char(index)
            if char in _SPACES:
                space = True
            elif char.isprintable() or char == "\u00ad":
                yield reader.glyph(index, char, space)
                space = False
    finally:
        textpage.close()


@dataclass(frozen=True, slots=True)
class _Style:
    """What all glyphs of one text object share."""

    size: float
    bold: bool
    font: str
    rotated: bool


class _Reader:
    """Calls PDFium's C functions with reused output variables, and asks once per text object what its glyphs share."""

    def __init__(self, textpage: Any, frame: PageFrame) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._page = textpage
        self._frame = frame
        self._rect = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._x = ctypes.c_double()
        self._y = ctypes.c_double()
        self._name = ctypes.create_string_buffer(128)
        self._turn = math.radians(frame.rotation)
        self._styles: dict[int, _Style] = {}

    def char(self, index: int) -> str:
        code = self._pdfium.FPDFText_GetUnicode(self._page, index)
        if code == _END_OF_LINE_HYPHEN:
            return "-"
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"

    def glyph(self, index: int, char: str, space: bool) -> Glyph:
        pdfium, rect = self._pdfium, self._rect
        pdfium.FPDFText_GetLooseCharBox(self._page, index, ctypes.byref(rect))
        pdfium.FPDFText_GetCharOrigin(self._page, index, ctypes.byref(self._x), ctypes.byref(self._y))
        x1, y1 = self._frame.to_view(rect.left, rect.top)
        x2, y2 = self._frame.to_view(rect.right, rect.bottom)
        _, baseline = self._frame.to_view(self._x.value, self._y.value)
        style = self._style(index)
        return Glyph(
            text=char,
            left=min(x1, x2),
            right=max(x1, x2),
            top=min(y1, y2),
            bottom=max(y1, y2),
            baseline=baseline,
            size=style.size,
            bold=style.bold,
            font=style.font,
            rotated=style.rotated,
            space_before=space,
        )

    def _style(self, index: int) -> _Style:
        pointer = self._pdfium.FPDFText_GetTextObject(self._page, index)
        if not pointer:
            return self._read_style(index)
        key = ctypes.addressof(pointer.contents)
        if key not in self._styles:
            self._styles[key] = self._read_style(index)
        return self._styles[key]

    def _read_style(self, index: int) -> _Style:
        pdfium = self._pdfium
        pdfium.FPDFText_GetMatrix(self._page, index, ctypes.byref(self._matrix))
        scale = math.hypot(self._matrix.c, self._matrix.d) or 1.0
        angle = (pdfium.FPDFText_GetCharAngle(self._page, index) - self._turn) % (2 * math.pi)
        font = self._font(index)
        weight = pdfium.FPDFText_GetFontWeight(self._page, index)
        return _Style(
            size=pdfium.FPDFText_GetFontSize(self._page, index) * scale,
            bold=weight >= _BOLD_WEIGHT or "bold" in font.lower(),
            font=font,
            rotated=0.1 < angle < 2 * math.pi - 0.1,
        )

    def _font(self, index: int) -> str:
        flags = ctypes.c_int()
        length = self._pdfium.FPDFText_GetFontInfo(self._page, index, self._name, len(self._name), ctypes.byref(flags))
        return self._name.value.decode("utf-8", "replace") if 0 < length <= len(self._name) else ""
