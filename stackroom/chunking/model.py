"""What the steps of chunking hand to one another: pieces of text that remember where they come from."""

from dataclasses import dataclass, replace
from typing import Protocol

from stackroom.artefacts import Box


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


def join(pieces: list[Piece], separator: str, kind: str) -> Piece:
    """Return one piece made of several, with their origins moved along."""
    spans: list[Span] = []
    offset = 0
    for piece in pieces:
        spans += [replace(span, start=span.start + offset, end=span.end + offset) for span in piece.spans]
        offset += len(piece.text) + len(separator)
    return Piece(separator.join(piece.text for piece in pieces), kind, tuple(spans), pieces[0].group)


def _cut_span(span: Span, start: int, end: int) -> Span | None:
    first, last = max(span.start, start), min(span.end, end)
    if first >= last:
        return None
    share = (span.high - span.low) / (span.end - span.start)
    low = span.low + (first - span.start) * share
    return Span(first - start, last - start, span.origin, low, low + (last - first) * share)
