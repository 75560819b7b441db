"""Pages of a document as extraction sees them: lines with place and size, whatever they were read from.

Lines come from the PDF's own text where it is readable. Where it is not (scans, text layers of gibberish), they are
made from the converted document, whose text then comes from OCR; their font size is estimated from their boxes.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stackroom.biblio.folding import squash

_PUBLISHED_KINDS = frozenset({"html", "epub", "xml_jats", "markdown"})
_WORD = re.compile(r"[^\W\d_]{4,}")
_OF_PAPERS = re.compile(r"\babstract\b|\bdoi\b|\barxiv\b|\bissn\b|\bcitation\b|\bet al\b", re.IGNORECASE)
_OFTEN_IN_PAPERS = re.compile(
    r"\bkeywords?\b|\breceived\b|\baccepted\b|\buniversi\w+|\bdepartment of\b|\binstitute?\b|\breferences\b"
    r"|\bintroduction\b|\bcorrespondence\b|\bproceedings\b|@\w+\.",
    re.IGNORECASE,
)
_MIN_SHARED_WORDS = 0.35
"""Share of the converted page's words that the text layer must hold. Measured: 0.8-1.0 when readable, 0.0 when not."""
_HEIGHT_OF_LINE = 1.2
_WIDTH_OF_CHARACTER = 0.5
"""Of the font size; averages of text fonts, for estimating a size from a box."""


@dataclass(frozen=True)
class TextLine:
    """A line (or, from a converted document, a paragraph) of a page."""

    page: int
    text: str
    marked: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool = False
    rotated: bool = False
    running: bool = False
    """The conversion took it for a running header or footer."""

    @property
    def where(self) -> dict[str, Any]:
        """Return where the line stands, for a candidate."""
        return {"page": self.page, "box": [round(value, 1) for value in (self.left, self.top, self.right, self.bottom)]}


@dataclass(frozen=True)
class PageView:
    """A page and its lines, in the order of the file."""

    number: int
    width: float
    height: float
    lines: tuple[TextLine, ...]
    converted: bool = False
    """The lines are paragraphs of the converted document, their sizes estimates."""

    @cached_property
    def text(self) -> str:
        """The page's text, line by line, vertical text left out."""
        return "\n".join(line.text for line in self.lines if not line.rotated)

    @cached_property
    def squashed(self) -> str:
        """The page's text as one run of letters and figures, for finding a title however it is broken."""
        return squash(self.text)


@dataclass(frozen=True)
class DocumentView:
    """The pages that matter, and what else is known of the document."""

    pages: tuple[PageView, ...]
    repeated: tuple[Mapping[str, Any], ...]
    """Running headers and footers: ``{"text", "where", "pages", "size"}``."""
    docling: Mapping[str, Any]
    pdf: Mapping[str, Any]
    embedded: Mapping[str, Sequence[str]]
    embedded_is_published: bool = False
    """The embedded metadata was written for readers (a web page, an EPUB, JATS, front matter), not by an office program
    that notes whose computer it ran on."""

    @property
    def front(self) -> tuple[PageView, ...]:
        """The first pages, without the last one of a longer document."""
        return tuple(page for page in self.pages if page.number <= 3)

    @property
    def last(self) -> PageView | None:
        """The last page of a document of several pages, unless it is one of the first three."""
        page = self.pages[-1] if self.pages else None
        return page if page is not None and page.number > 3 else None

    @cached_property
    def front_squashed(self) -> str:
        """Text of the first pages, or of the head of the converted document, for finding a title in it."""
        return "".join(page.squashed for page in self.front) or squash(str(self.docling.get("head", "")))

    @cached_property
    def body_size(self) -> float:
        """Font size of most of the text, in points."""
        sizes: Counter[float] = Counter()
        for page in self.pages:
            for line in page.lines:
                sizes[line.size] += len(line.text)
        return sizes.most_common(1)[0][0] if sizes else 10.0

    @cached_property
    def reads_like_a_paper(self) -> bool:
        """Whether the first pages have what papers have: abstract, DOI and the like, or two of the less telling things.

        Names and journals are easily seen in menus, manuals and forms; there they are believed less.
        """
        text = "\n".join(page.text for page in self.front) or str(self.docling.get("head", ""))
        less_telling = {match.lower()[:6] for match in _OFTEN_IN_PAPERS.findall(text)}
        return _OF_PAPERS.search(text) is not None or len(less_telling) >= 2

    def shows(self, text: str) -> bool:
        """Whether the first pages show a text, whatever its case, punctuation, spacing and line breaks."""
        squashed = squash(text)
        return len(squashed) >= 4 and squashed in self.front_squashed


def document_view(signals: Mapping[str, Any]) -> DocumentView:
    """Return the view of a document's signals."""
    pdf = signals.get("pdf") or {}
    docling = signals.get("docling") or {}
    own = {page.number: page for page in _pdf_pages(pdf)}
    converted = {page.number: page for page in _docling_pages(docling)}
    readable = {number: page for number, page in own.items() if _is_readable(page, converted.get(number))}
    pages = tuple((converted | readable)[number] for number in sorted(converted.keys() | readable.keys()))
    return DocumentView(
        pages=pages,
        repeated=tuple(pdf.get("repeated") or ()) if 1 in readable else tuple(_docling_repeated(docling)),
        docling=docling,
        pdf=pdf,
        embedded=signals.get("embedded") or {},
        embedded_is_published=signals.get("media") in _PUBLISHED_KINDS,
    )


def _pdf_pages(pdf: Mapping[str, Any]) -> Iterator[PageView]:
    for page in pdf.get("pages") or ():
        number = page["page"]
        lines = tuple(_pdf_line(number, row) for row in page["lines"])
        yield PageView(number, page["width"], page["height"], lines)


def _pdf_line(page: int, row: Mapping[str, Any]) -> TextLine:
    left, top, right, bottom = row["box"]
    return TextLine(
        page,
        row["text"],
        row.get("marked", row["text"]),
        left,
        top,
        right,
        bottom,
        size=row["size"],
        bold=row.get("bold", False),
        rotated=row.get("rotated", False),
    )


def _is_readable(page: PageView, converted: PageView | None) -> bool:
    """Whether a page's own text agrees with its conversion; when there is nothing to compare with, any text counts."""
    if not page.lines:
        return False
    if converted is None:
        return True
    theirs = {word.lower() for word in _WORD.findall(converted.text)}
    if len(theirs) < 10:
        return True
    own = {word.lower() for word in _WORD.findall(page.text)}
    return len(own & theirs) / len(theirs) >= _MIN_SHARED_WORDS


def _docling_pages(docling: Mapping[str, Any]) -> Iterator[PageView]:
    sizes = docling.get("pages") or {}
    by_page: dict[int, list[TextLine]] = {}
    for item in [*(docling.get("furniture") or ()), *(docling.get("first") or ()), *(docling.get("last") or ())]:
        if "page" in item and "box" in item:
            by_page.setdefault(item["page"], []).append(_docling_line(item))
    for number in sorted(by_page):
        width, height = sizes.get(str(number), (612.0, 792.0))
        yield PageView(number, width, height, tuple(by_page[number]), converted=True)


def _docling_repeated(docling: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the running headers and footers that the conversion set apart, those of two pages or more."""
    rows: dict[str, dict[str, Any]] = {}
    for item in docling.get("furniture") or ():
        if "page" in item:
            where = "top" if item["label"] == "page_header" else "bottom"
            row = rows.setdefault(
                squash(item["text"]), {"text": item["text"], "where": where, "pages": [], "size": 0.0}
            )
            row["pages"].append(item["page"])
    yield from (row for row in rows.values() if len(set(row["pages"])) >= 2)


def _docling_line(item: Mapping[str, Any]) -> TextLine:
    left, top, right, bottom = item["box"]
    text = item["text"]
    area = max(bottom - top, 1.0) * max(right - left, 1.0)
    size = math.sqrt(area / (max(len(text), 1) * _HEIGHT_OF_LINE * _WIDTH_OF_CHARACTER))
    return TextLine(
        item["page"],
        text,
        text,
        left,
        top,
        right,
        bottom,
        size=round(min(size, bottom - top) * 2) / 2,
        bold=item["label"] in ("title", "section_header"),
        running=item["label"] in ("page_header", "page_footer"),
    )
