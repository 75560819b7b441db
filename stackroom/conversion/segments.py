"""Which pages of a PDF are converted together. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """Consecutive pages, numbered from 1, that take the same way."""

    first: int
    last: int
    way: str
    """``text`` (keep the text layer), ``cautious`` (the same without docling-parse), or ``scan`` (read the page)."""

    @property
    def pages(self) -> range:
        """The page numbers."""
        return range(self.first, self.last + 1)


def way_of(decision: str, cautious: bool = False) -> str:
    """Return the way of a page.

    Args:
        decision: what the pre-check decided: ``text``, ``ocr`` or ``blank``.
        cautious: keep away from docling-parse, on which the file has died before.
    """
    if decision == "ocr":
        return "scan"
    return "cautious" if cautious else "text"


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
