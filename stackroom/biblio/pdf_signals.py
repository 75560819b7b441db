"""Light signals of a PDF: information dictionary, XMP, lines of the pages that matter, repeated headers and footers."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stackroom.biblio.pdf_info import read_info, read_xmp
from stackroom.biblio.pdf_lines import Line, lines_to_json, read_lines

FULL_PAGES = 3
"""Pages from the front whose lines are kept whole: repositories put a cover or two before the paper."""
EDGE_PAGES = 5
"""Pages whose first and last lines are compared to find running headers and footers."""
_EDGE_LINES = 4
_MARGIN = 0.12
"""Share of the page height, at top and bottom, in which running headers and footers stand."""
_DIGITS = re.compile(r"\d+")


def pdf_signals(path: Path, password: str | None) -> tuple[dict[str, Any], list[str]]:
    """Return the signals of a PDF and the problems met on the way; an unreadable file gives few signals, no error."""
    import pypdfium2

    problems: list[str] = []
    signals: dict[str, Any] = {"xmp": read_xmp(path)}
    try:
        document = pypdfium2.PdfDocument(path, password=password)
    except (pypdfium2.PdfiumError, OSError, ValueError) as error:
        return signals, [f"PDFium cannot open the file: {error}"]
    try:
        signals |= _document_signals(document, problems)
    finally:
        document.close()
    return signals, problems


def _document_signals(document: Any, problems: list[str]) -> dict[str, Any]:
    import pypdfium2

    try:
        info = read_info(document)
    except (pypdfium2.PdfiumError, UnicodeError) as error:
        info = {}
        problems.append(f"the information dictionary cannot be read: {error}")
    count = len(document)
    pages: list[dict[str, Any]] = []
    edges: list[tuple[int, float, list[Line]]] = []
    for index in _pages_to_read(count):
        read = _page(document, index, problems)
        if read is None:
            continue
        frame, lines = read
        edges.append((index + 1, frame.height, lines))
        if index < FULL_PAGES or index == count - 1:
            pages.append(
                {
                    "page": index + 1,
                    "width": round(frame.width, 1),
                    "height": round(frame.height, 1),
                    "lines": lines_to_json(lines),
                }
            )
    return {"info": info, "page_count": count, "pages": pages, "repeated": repeated_lines(edges)}


def _pages_to_read(count: int) -> list[int]:
    front = range(min(count, EDGE_PAGES))
    return sorted({*front, *range(max(0, count - 1), count)})


def _page(document: Any, index: int, problems: list[str]) -> tuple[Any, list[Line]] | None:
    import pypdfium2

    try:
        page = document[index]
        try:
            return read_lines(page)
        finally:
            page.close()
    except (pypdfium2.PdfiumError, ValueError, OverflowError) as error:
        problems.append(f"page {index + 1} cannot be read: {error}")
        return None


def repeated_lines(pages: Iterable[tuple[int, float, list[Line]]]) -> list[dict[str, Any]]:
    """Return lines that stand near the top or bottom of two pages or more, page numbers aside.

    Args:
        pages: (page number, page height in points, lines) of each page looked at.

    Returns:
        Rows ``{"text", "where": "top"|"bottom", "pages": [numbers], "size"}``, most repeated first, at most 20.
    """
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for number, height, lines in pages:
        for where, line in _edge_lines(lines, height):
            key = (where, _DIGITS.sub("#", line.text).casefold())
            row = seen.setdefault(key, {"text": line.text, "where": where, "pages": [], "size": round(line.size, 1)})
            if number not in row["pages"]:
                row["pages"].append(number)
                counts[key] += 1
    return [seen[key] for key, count in counts.most_common() if count >= 2][:20]


def _edge_lines(lines: list[Line], height: float) -> list[tuple[str, Line]]:
    upright = [line for line in lines if not line.rotated and len(line.text) > 3]
    top = sorted((line for line in upright if line.top < _MARGIN * height), key=lambda line: line.top)
    bottom = sorted((line for line in upright if line.bottom > (1 - _MARGIN) * height), key=lambda line: -line.bottom)
    return [("top", line) for line in top[:_EDGE_LINES]] + [("bottom", line) for line in bottom[:_EDGE_LINES]]
