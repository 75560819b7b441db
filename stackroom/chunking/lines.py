"""The text lines of a PDF's pages, to find out in which of them a chunk's text stands.

docling remembers one box per paragraph. The text layer knows the lines, so a chunk that holds a third of a column of
references gets the box of exactly those references.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Protocol, Self

import pypdfium2 as pdfium

from stackroom.artefacts import Box

PROBE_CHARACTERS = 24
"""Letters of a text's beginning and end that are looked for among the lines."""
RELIABLE_SHARE = 0.5
"""If the lines in a box hold less than this share of the text's letters, they are not the text (a scan, a formula)."""

TALL_LINE = 4
"""A line this many times as high as the page's lines usually are is not read in this direction, or not a line."""

_NO_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of a text line: its letters and digits, folded, and its box (points, origin top left)."""

    letters: str
    box: Box


class LineSource(Protocol):
    """Whoever knows the text lines of a file's pages."""

    def lines(self, page: int) -> Sequence[Line]:
        """Return the lines of a page (from 1) in the order of the file; none for a page without text layer."""
        ...


class PdfLines:
    """The lines of a PDF, read page by page when asked for. Not thread-safe, like PDFium itself."""

    def __init__(self, path: Path, password: str | None = None) -> None:
        """Open a PDF.

        Raises:
            pypdfium2.PdfiumError: PDFium cannot open it.
        """
        self._document = pdfium.PdfDocument(path, password=password)
        self._known: dict[int, tuple[Line, ...]] = {}

    def lines(self, page: int) -> Sequence[Line]:
        """Return the lines of a page (from 1); none where PDFium finds no text or cannot read the page."""
        if page not in self._known:
            try:
                self._known[page] = self._read(page)
            except pdfium.PdfiumError:
                self._known[page] = ()
        return self._known[page]

    def close(self) -> None:
        """Close the file."""
        self._document.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, number: int) -> tuple[Line, ...]:
        if not 1 <= number <= len(self._document):
            return ()
        page = self._document[number - 1]
        text = page.get_textpage()
        try:
            height = page.get_height()
            found: list[Line] = []
            for index in range(text.count_rects()):
                left, bottom, right, top = text.get_rect(index)
                if letters := fold(text.get_text_bounded(left, bottom, right, top)):
                    found.append(Line(letters, Box(number, left, height - top, right, height - bottom)))
            return _without_tall(found)
        finally:
            text.close()
            page.close()


def _without_tall(found: Sequence[Line]) -> tuple[Line, ...]:
    """Leave out watermarks and margins set upright: their boxes cross, and PDFium finds the text behind them too."""
    if not found:
        return ()
    usual = median(line.box.b - line.box.t for line in found)
    return tuple(line for line in found if line.box.b - line.box.t <= usual * TALL_LINE)


def fold(text: str) -> str:
    """Return the letters and digits of a text, for comparing two extractions of the same words."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text)).casefold()


def inside(lines: Sequence[Line], box: Box) -> list[Line]:
    """Return the lines that stand with most of their area in a box.

    A watermark across the page has its middle in the box, too, but is not part of the item.
    """
    return [line for line in lines if _overlap(line.box, box) * 2 > _area(line.box)]


def _overlap(one: Box, other: Box) -> float:
    return max(0.0, min(one.r, other.r) - max(one.l, other.l)) * max(0.0, min(one.b, other.b) - max(one.t, other.t))


def _area(box: Box) -> float:
    return (box.r - box.l) * (box.b - box.t)


def lines_holding(text: str, low: float, high: float, lines: Sequence[Line]) -> Box | None:
    """Return the box around the lines that hold a text.

    Args:
        text: the text, or most of it.
        low: where about in the lines it begins, as a share of all their letters (0..1).
        high: where about it ends.
        lines: the lines of the item it is part of, in reading order.

    Returns:
        None if the lines do not seem to hold the text.
    """
    wanted = fold(text)
    everything = "".join(line.letters for line in lines)
    if not wanted or len(everything) < len(wanted) * RELIABLE_SHARE:
        return None
    start = _nearest(everything, wanted[:PROBE_CHARACTERS], int(low * len(everything)))
    last = _nearest(everything, wanted[-PROBE_CHARACTERS:], int(high * len(everything)) - PROBE_CHARACTERS)
    start = int(low * len(everything)) if start is None else start
    end = int(high * len(everything)) if last is None else last + min(len(wanted), PROBE_CHARACTERS)
    return _around(lines, start, max(end, start + 1))


def _nearest(text: str, probe: str, about: int) -> int | None:
    after = text.find(probe, max(0, about))
    before = text.rfind(probe, 0, max(0, about) + len(probe))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - about)) if found else None


def _around(lines: Sequence[Line], start: int, end: int) -> Box:
    """Return the box around the lines that stand at least half between two letters, or around the one nearest."""
    chosen: list[Box] = []
    best, offset, most = lines[0].box, 0, 0
    for line in lines:
        size = len(line.letters)
        held = min(end, offset + size) - max(start, offset)
        if held * 2 >= size:
            chosen.append(line.box)
        if held > most:
            best, most = line.box, held
        offset += size
    chosen = chosen or [best]
    return Box(
        chosen[0].page,
        min(box.l for box in chosen),
        min(box.t for box in chosen),
        max(box.r for box in chosen),
        max(box.b for box in chosen),
    )
