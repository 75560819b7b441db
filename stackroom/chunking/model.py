"""What the steps of chunking hand to one another: pieces of text that remember where they come from."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from stackroom.artefacts import Box

_OPEN_END = re.compile("[^\\W_][-\u2010]$")


class TokenCounter(Protocol):
    """The tokenizer of an embedding model, as far as chunking needs it."""

    def count(self, text: str) -> int:
        """Return the number of tokens the model sees for the text, special tokens included."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """One rectangle an item occupies, and which share of the item's text stands in it (``start`` to ``end``, 0..1)."""

    box: Box
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Origin:
    """An item of the document: its docling reference, pages and places."""

    ref: str
    pages: tuple[int, ...] = ()
    places: tuple[Place, ...] = ()
    characters: int = 0
    """Length of the item's text; with the size of its places it tells the height of a line."""


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` of a piece come from the share ``low`` to ``high`` (0..1) of an origin's text."""

    start: int
    end: int
    origin: Origin
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of a table as normalised text; every row is as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """Normalised text that belongs together: a paragraph, a list item, a caption, a table, a part of one."""

    text: str
    kind: str
    spans: tuple[Span, ...] = ()
    group: str | None = None
    """Pieces of one group (the items of a list) share chunks even where peers are not merged."""
    table: Table | None = None

    def cut(self, start: int, end: int) -> "Piece":
        """Return the characters ``start`` to ``end`` as a piece of its own."""
        spans = tuple(cut for span in self.spans if (cut := _cut_span(span, start, end)) is not None)
        return Piece(self.text[start:end], self.kind, spans, self.group)


def whole(text: str, kind: str, origins: tuple[Origin, ...], group: str | None = None) -> Piece:
    """Return a piece all of whose origins contributed to all of its text."""
    return Piece(text, kind, tuple(Span(0, len(text), origin) for origin in origins), group)


def stack(texts: Iterable[str]) -> str:
    """Return texts one below the other, blank ones left out.

    After a text that ends with a hyphen an empty line is left, so that normalising the whole joins no word of one text
    to a word of another.
    """
    result = ""
    for text in texts:
        if text:
            result += _separator(result) + text
    return result


def join(pieces: Sequence[Piece], kind: str) -> Piece:
    """Return one piece made of several, stacked, with their origins moved along."""
    text = ""
    spans: list[Span] = []
    for piece in pieces:
        text += _separator(text)
        spans += [replace(span, start=span.start + len(text), end=span.end + len(text)) for span in piece.spans]
        text += piece.text
    return Piece(text, kind, tuple(spans), pieces[0].group)


def _separator(text: str) -> str:
    if not text:
        return ""
    return "\n\n" if _OPEN_END.search(text) else "\n"


def _cut_span(span: Span, start: int, end: int) -> Span | None:
    first, last = max(span.start, start), min(span.end, end)
    if first >= last:
        return None
    share = (span.high - span.low) / (span.end - span.start)
    low = span.low + (first - span.start) * share
    return Span(first - start, last - start, span.origin, low, low + (last - first) * share)
