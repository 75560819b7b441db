"""What a look at a PDF's text layer found: plain values, page by page and for the whole file, and their JSON form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

Decision = Literal["text", "ocr", "blank"]
"""``text``: keep the text layer; ``ocr``: read the picture of the page; ``blank``: nothing is drawn on the page."""


@dataclass(frozen=True)
class PageStatistics:
    """Evidence about one page, and what follows from it. Shares run from 0 to 1."""

    page: int
    """Page number, from 1."""
    characters: int
    """Characters of the text layer that are not blank."""
    image_coverage: float
    """Share of the page's area under pictures."""
    odd_share: float
    """Share of control, private-use, unassigned and replacement characters."""
    implausible_share: float
    """Share of words that are built as no word is."""
    unmapped_share: float
    """Share of characters whose font does not say what they mean (sampled)."""
    duplicated_share: float
    """Share of glyphs drawn a second time in the same place, as fake bold is (sampled)."""
    invisible_share: float
    """Share of characters that are not painted, as in the layer that OCR programs add (sampled)."""
    rotation: int
    """Degrees by which the page is turned for display: 0, 90, 180 or 270."""
    decision: Decision
    reason: str
    """Why, in words."""
    image_page: bool
    """Whether the page counts as an image page: fewer characters than the threshold, or a stamp on a scan."""
    garbled: bool
    """Whether the page has a text layer that does not read as language."""
    readable: bool = True
    """False when the page could not be loaded at all."""


@dataclass(frozen=True)
class PdfClassification:
    """The pages of a PDF, and whether the file as a whole counts as a scan."""

    pages: int
    image_pages: int
    garbled_pages: int
    total_chars: int
    """Characters of the text layer that are not blank, over all pages."""
    needs_ocr: bool
    """Whether image pages and garbled pages reach the share that makes a PDF a scan. What is read by OCR is decided
    page by page all the same: see :attr:`ocr_pages`."""
    reason: str
    page_statistics: tuple[PageStatistics, ...] = ()

    @property
    def ocr_pages(self) -> tuple[int, ...]:
        """Numbers of the pages to read by OCR."""
        return self._pages_of("ocr")

    @property
    def text_pages(self) -> tuple[int, ...]:
        """Numbers of the pages whose text layer is kept."""
        return self._pages_of("text")

    @property
    def blank_pages(self) -> tuple[int, ...]:
        """Numbers of the pages on which nothing is drawn."""
        return self._pages_of("blank")

    def _pages_of(self, decision: Decision) -> tuple[int, ...]:
        return tuple(page.page for page in self.page_statistics if page.decision == decision)

    def to_json(self) -> dict[str, Any]:
        """Return the classification as JSON-serialisable values; :meth:`from_json` is the inverse."""
        return {**vars(self), "page_statistics": [dict(vars(page)) for page in self.page_statistics]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "PdfClassification":
        """Build a classification from what :meth:`to_json` returned.

        Raises:
            KeyError: there are no page statistics.
            TypeError: another field is missing or unknown.
        """
        pages = tuple(PageStatistics(**page) for page in cast("list[dict[str, Any]]", data["page_statistics"]))
        return cls(**{**data, "page_statistics": pages})
