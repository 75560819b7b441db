"""From the pieces below one heading chain to chunks: neighbours are joined up to the limit, long pieces are cut.

Running text (with lists and short code) flows around tables, pictures and asides: these are chunks of their own, and
a paragraph before a table can share a chunk with the one after it. Every chunk is counted once more as a whole before
it leaves; estimates only decide what is tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stackroom.artefacts import ChunkBody
from stackroom.chunking.budget import Budget
from stackroom.chunking.lines import LineSource
from stackroom.chunking.model import Piece, Span, join
from stackroom.chunking.provenance import boxes_of, pages_of
from stackroom.chunking.splitter import split_text
from stackroom.chunking.table_split import split_table

CRUMB_CHARACTERS = 20
"""Chunks shorter than this are added to a neighbour under the same headings where they fit."""

_FLOWING = frozenset({"text", "code"})


@dataclass(frozen=True, slots=True)
class _Draft:
    order: int
    piece: Piece


@dataclass
class _Flow:
    """Pieces waiting to become one chunk."""

    order: int = 0
    pieces: list[Piece] = field(default_factory=list)
    tokens: int = 0


def pack(
    pieces: Sequence[Piece], budget: Budget, merge_peers: bool = True, lines: LineSource | None = None
) -> list[ChunkBody]:
    """Return the chunks that hold some pieces.

    Args:
        pieces: pieces below the same headings, in reading order.
        budget: those headings and the limit.
        merge_peers: join neighbours; otherwise only pieces of one group share chunks.
        lines: text lines of the file's pages, for exact boxes.
    """
    packer = _Packer(budget, merge_peers, lines)
    for order, piece in enumerate(pieces):
        packer.add(order, piece)
    return packer.finish()


class _Packer:
    def __init__(self, budget: Budget, merge_peers: bool, lines: LineSource | None) -> None:
        self._budget = budget
        self._merge_peers = merge_peers
        self._lines = lines
        self._running = _Flow()
        self._aside = _Flow()
        self._drafts: list[_Draft] = []

    def add(self, order: int, piece: Piece) -> None:
        if piece.table is not None:
            self._add_table(order, piece)
        elif piece.kind in _FLOWING:
            self._pour(self._running, order, piece)
        elif piece.kind == "fallback":
            self._pour(self._aside, order, piece)
        else:
            self._close(order, piece)

    def finish(self) -> list[ChunkBody]:
        self._flush(self._running)
        self._flush(self._aside)
        self._drafts.sort(key=lambda draft: draft.order)
        drafts = self._without_crumbs(self._drafts) if self._merge_peers else self._drafts
        return [self._body(draft.piece) for draft in drafts]

    def _pour(self, flow: _Flow, order: int, piece: Piece) -> None:
        size = self._budget.size(piece.text)
        last = flow.pieces[-1] if flow.pieces else None
        may_join = self._merge_peers or (last and last.group is not None and last.group == piece.group)
        if last and not (may_join and flow.tokens + self._budget.seam + size <= self._budget.room):
            self._flush(flow)
        if size > self._budget.room:
            *parts, piece = self._cut(piece)
            for part in parts:
                self._close(order, part)
            size = self._budget.size(piece.text)
        if not flow.pieces:
            flow.order = order
        flow.pieces.append(piece)
        flow.tokens += size + (self._budget.seam if last else 0)

    def _flush(self, flow: _Flow) -> None:
        if flow.pieces:
            code = sum(len(piece.text) for piece in flow.pieces if piece.kind == "code")
            is_code = code * 2 >= sum(len(piece.text) for piece in flow.pieces)
            kind = "code" if is_code else flow.pieces[0].kind if flow is self._aside else "text"
            self._close(flow.order, join(flow.pieces, kind))
        flow.pieces, flow.tokens = [], 0

    def _add_table(self, order: int, piece: Piece) -> None:
        if piece.table is None or self._budget.fits(piece.text):
            self._close(order, piece)
            return
        for text in split_table(piece.table, self._budget):
            spans = tuple(Span(0, len(text), span.origin) for span in piece.spans)
            self._close(order, Piece(text, piece.kind, spans))

    def _cut(self, piece: Piece) -> list[Piece]:
        ranges = split_text(piece.text, self._budget.size, self._budget.fits, self._budget.room)
        return [piece.cut(start, end) for start, end in ranges]

    def _close(self, order: int, piece: Piece) -> None:
        """Make a draft of a piece, or of its parts where it does not fit after all."""
        for part in [piece] if self._budget.fits(piece.text) else self._cut(piece):
            self._drafts.append(_Draft(order, part))

    def _without_crumbs(self, drafts: list[_Draft]) -> list[_Draft]:
        kept: list[_Draft] = []
        for draft in drafts:
            if kept and min(len(kept[-1].piece.text), len(draft.piece.text)) < CRUMB_CHARACTERS:
                both = (kept[-1].piece, draft.piece)
                joined = join(both, max(both, key=lambda one: len(one.text)).kind)
                if self._budget.fits(joined.text):
                    kept[-1] = _Draft(kept[-1].order, joined)
                    continue
            kept.append(draft)
        return kept

    def _body(self, piece: Piece) -> ChunkBody:
        return ChunkBody(
            text=piece.text,
            headings=self._budget.headings,
            pages=pages_of(piece.spans),
            boxes=boxes_of(piece.text, piece.spans, self._lines),
            doc_items=tuple(dict.fromkeys(span.origin.ref for span in piece.spans)),
            token_count=self._budget.embedded(piece.text),
            kind=piece.kind,
        )
