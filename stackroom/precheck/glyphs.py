"""The text layer of a page: its characters, and sampled facts about how its glyphs are drawn."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium_c

_SAMPLE = 400
"""Glyphs asked for their font mapping and paint mode, spread over the page: 1 ms instead of 15 ms for a full page."""
_RUN = 300
"""Glyphs in a row asked for their places, at three spots of the page: a second copy follows within its line or the
next."""
_SAME_PLACE = 0.15
"""Distance, as a share of the glyph's height, within which the same character twice is one glyph drawn twice."""


@dataclass(frozen=True)
class TextLayer:
    """Text of a page with sampled shares, 0 to 1, over its characters that are not blank."""

    text: str
    unmapped_share: float = 0.0
    """Characters whose font does not say what they mean."""
    invisible_share: float = 0.0
    """Characters that are not painted (render mode 3: the layer of an OCR program)."""
    repeated_share: float = 0.0
    """Characters that the text holds a second time in the same place."""

    @property
    def lines(self) -> int:
        """Lines that are not blank."""
        return sum(1 for line in self.text.splitlines() if line.strip())


def read_text_layer(page: pypdfium2.PdfPage) -> TextLayer:
    """Read all characters of a page; statistics about glyphs are sampled, characters never are."""
    textpage = page.get_textpage()
    try:
        count = textpage.count_chars()
        if count <= 0:
            return TextLayer("")
        text = textpage.get_text_range()
        unmapped, invisible = _paint(textpage, count)
        return TextLayer(text, unmapped, invisible, _repeated(textpage, count))
    finally:
        textpage.close()


def _paint(textpage: pypdfium2.PdfTextPage, count: int) -> tuple[float, float]:
    """Return the shares of unmapped and of invisible glyphs in an even sample of those the page really draws."""
    drawn = unmapped = invisible = 0
    for index in range(0, count, max(1, count // _SAMPLE)):
        handle = pdfium_c.FPDFText_GetTextObject(textpage.raw, index)
        if not handle:  # blanks and line ends that PDFium put in
            continue
        drawn += 1
        unmapped += pdfium_c.FPDFText_HasUnicodeMapError(textpage.raw, index) == 1
        invisible += pdfium_c.FPDFTextObj_GetTextRenderMode(handle) == pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE
    return (unmapped / drawn, invisible / drawn) if drawn else (0.0, 0.0)


def _repeated(textpage: pypdfium2.PdfTextPage, count: int) -> float:
    """Return the share of sampled glyphs that repeat a character in the same place."""
    glyphs = repeated = 0
    for start in sorted({0, max(0, count // 2 - _RUN // 2), max(0, count - _RUN)}):
        seen: dict[int, list[tuple[float, float]]] = {}
        for code, x, y, height in _places(textpage, start, min(count, start + _RUN)):
            glyphs += 1
            reach = _SAME_PLACE * height
            others = seen.setdefault(code, [])
            repeated += any(abs(x - left) <= reach and abs(y - bottom) <= reach for left, bottom in others)
            others.append((x, y))
    return repeated / glyphs if glyphs else 0.0


def _places(textpage: pypdfium2.PdfTextPage, start: int, end: int) -> Iterator[tuple[int, float, float, float]]:
    """Yield code, left, bottom and height (points) of the glyphs that take up room."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for index in range(start, end):
        code = pdfium_c.FPDFText_GetUnicode(textpage.raw, index)
        if code <= 32 or not pdfium_c.FPDFText_GetCharBox(textpage.raw, index, left, right, bottom, top):
            continue
        height = top.value - bottom.value
        if height > 0:
            yield code, left.value, bottom.value, height
