"""Which pages of a PDF are converted together. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

LARGE_PAGE_POINTS = 25_000_000
"""Area (square points; 5,000 x 5,000) above which docling-parse must not draw a page, for it draws a pixel per point
without a cap. An A0 poster has 8 million."""


@dataclass(frozen=True)
class Segment:
    """Consecutive pages, numbered from 1, that take the same way."""

    first: int
    last: int
    way: str
    """``text`` (keep the text layer), ``large`` (the same by PDFium alone, drawn within a cap), ``scan`` (read it)."""

    @property
    def pages(self) -> range:
        """The page numbers."""
        return range(self.first, self.last + 1)


def way_of(decision: str, size: tuple[float, float], cautious: bool = False) -> str:
    """Return the way of a page.

    Args:
        decision: what the pre-check decided: ``text``, ``ocr`` or ``blank``.
        size: width and height in points.
        cautious: keep away from docling-parse, on which the file has died before.
    """
    if decision == "ocr":
        return "scan"
    return "large" if cautious or size[0] * size[1] > LARGE_PAGE_POINTS else "text"


def segments(ways: Sequence[str], window: int) -> list[Segment]:
    """Cut a file into segments of at most ``window`` pages; ``ways`` holds the way of each page in order."""
    found: list[Segment] = []
    for number, way in enumerate(ways, start=1):
        last = found[-1] if found else None
        if last and last.way == way and len(last.pages) < window:
            found[-1] = Segment(last.first, number, way)
        else:
            found.append(Segment(number, number, way))
    return found


def runs(pages: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of every run of consecutive numbers."""
    ordered = sorted(pages)
    start = 0
    for index, page in enumerate(ordered):
        if index + 1 == len(ordered) or ordered[index + 1] != page + 1:
            yield ordered[start], page
            start = index + 1
