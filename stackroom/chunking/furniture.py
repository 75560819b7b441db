"""Page headers, footers and watermarks: no content, but not nothing either.

A running title on every page would be found instead of the page's text, so furniture never joins other chunks. Yet
layout models take first lines, footnotes and whole short pages for furniture. Therefore every distinct furniture text
is kept once, page numbers aside, and a page that holds nothing else keeps all of it.
"""

import re

from stackroom.chunking.model import Piece
from stackroom.chunking.provenance import pages_of

_DIGITS = re.compile(r"\d+")


class Furniture:
    """Collects furniture while a document is read."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []

    def add(self, piece: Piece) -> None:
        """Remember a piece of furniture."""
        self._pieces.append(piece)

    def kept(self, pages_with_content: set[int]) -> list[Piece]:
        """Return the furniture worth keeping.

        Args:
            pages_with_content: pages that hold other text.
        """
        known: set[str] = set()
        kept: list[Piece] = []
        for piece in self._pieces:
            pages = set(pages_of(piece.spans))
            key = _DIGITS.sub("#", piece.text.casefold())
            is_new = key not in known and any(char.isalpha() for char in key)
            known.add(key)
            if is_new or (pages and not pages & pages_with_content):
                kept.append(piece)
        return kept
