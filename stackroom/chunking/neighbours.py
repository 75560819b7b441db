"""Pieces that belong to the one before: the rest of a broken word, and the line that announces a table."""

import re
from collections.abc import Sequence
from dataclasses import replace

from stackroom.chunking.headings import Headed
from stackroom.chunking.model import Piece, join
from stackroom.chunking.provenance import pages_of
from stackroom.text import normalize_text

LEAD_IN_CHARACTERS = 100
"""Longest line before a table that is taken for its caption."""
LOOK_AHEAD = 4
"""How many pieces after a broken word its rest is looked for; footnotes and figures come between columns."""

_BROKEN_END = re.compile(r"[^\W\d_]{2}[-\u2010]$")

_WORD = re.compile(r"[^\W\d_]{3,}")


def mended(headed: Sequence[Headed]) -> list[Headed]:
    """Join paragraphs that were broken within a word, at the end of a column or page.

    Layout models make two items of such a paragraph, and footnotes or figures may stand between them. The rest is the
    next text below the same headings that begins with a small letter.
    """
    result = list(headed)
    for index in range(len(result) - 1):
        if index < len(result) and (rest := _rest_of(result, index)) is not None:
            first, second = result[index].piece, result[rest].piece
            text = normalize_text(f"{first.text}\n{second.text}")
            shift = len(text) - len(second.text)
            spans = [replace(span, end=min(span.end, shift)) for span in first.spans]
            spans += [replace(span, start=span.start + shift, end=span.end + shift) for span in second.spans]
            result[index] = Headed(Piece(text, first.kind, tuple(spans), first.group), result[index].chain)
            del result[rest]
    return result


def with_lead_ins(headed: Sequence[Headed]) -> list[Headed]:
    """Give tables without a caption the short line right before them ("Hardness:") as one."""
    result: list[Headed] = []
    for one in headed:
        before = result[-1] if result else None
        if before and before.chain == one.chain and _leads_in(before.piece, one.piece):
            result[-1] = Headed(_captioned(one.piece, before.piece), one.chain)
        else:
            result.append(one)
    return result


def _rest_of(headed: Sequence[Headed], index: int) -> int | None:
    one = headed[index]
    if one.piece.kind != "text" or not _BROKEN_END.search(one.piece.text):
        return None
    for place in range(index + 1, min(index + 1 + LOOK_AHEAD, len(headed))):
        other = headed[place]
        if other.piece.kind == "text" and other.chain == one.chain and other.piece.text[0].islower():
            return place
    return None


def _leads_in(line: Piece, table: Piece) -> bool:
    if table.kind != "table" or line.kind != "text" or line.group is not None:
        return False
    has_caption = table.table is not None and bool(table.table.caption)
    is_line = len(line.text) <= LEAD_IN_CHARACTERS and not line.text.endswith(tuple(".!?;,-"))
    has_words = len(_WORD.findall(line.text)) > 1  # a page number is no caption
    return is_line and has_words and not has_caption and pages_of(line.spans) == pages_of(table.spans)


def _captioned(piece: Piece, line: Piece) -> Piece:
    table = replace(piece.table, caption=line.text) if piece.table else None
    joined = join([line, piece], piece.kind)
    return Piece(joined.text, piece.kind, joined.spans, piece.group, table)
