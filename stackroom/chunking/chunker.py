"""The steps of chunking in order: read the document, give every text its headings, pack, check."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from docling_core.types.doc import DoclingDocument

from stackroom.artefacts import ChunkBody
from stackroom.chunking.budget import Budget
from stackroom.chunking.headings import Headed, HeadingTrimmer, arrange
from stackroom.chunking.lines import LineSource
from stackroom.chunking.model import Piece, TokenCounter, whole
from stackroom.chunking.neighbours import mended, with_lead_ins
from stackroom.chunking.packing import pack
from stackroom.chunking.provenance import pages_of
from stackroom.chunking.walk import Walk

MINIMUM_TOKENS = 16
"""Least token limit: below it a single character, its special tokens and its headings may not fit."""


@dataclass(frozen=True)
class ChunkingResult:
    """The chunks of a document, and what normalisation changed in its text (how often, by kind)."""

    chunks: tuple[ChunkBody, ...]
    normalisation: dict[str, int]


def chunk_document(
    document: DoclingDocument,
    tokenizer: TokenCounter,
    max_tokens: int,
    merge_peers: bool = True,
    lines: LineSource | None = None,
) -> ChunkingResult:
    """Cut a document into chunks without losing any of its text.

    Args:
        document: a converted document.
        tokenizer: the embedding model's own tokenizer.
        max_tokens: most tokens of what is embedded for a chunk (headings, text and special tokens).
        merge_peers: join neighbouring small pieces below the same headings.
        lines: the text lines of the file's pages (:class:`stackroom.chunking.lines.PdfLines`), for exact boxes.

    Returns:
        Chunks in reading order; none has more than ``max_tokens`` tokens or an empty text. Besides the changes of
        :func:`stackroom.text.normalize_counted`, ``normalisation`` may count ``headings_shortened``.

    Raises:
        ValueError: ``max_tokens`` is below :data:`MINIMUM_TOKENS`.
    """
    if max_tokens < MINIMUM_TOKENS:
        raise ValueError(
            f"max_tokens is {max_tokens}; at least {MINIMUM_TOKENS} are needed for one word and its headings"
        )
    walk = Walk(document)
    headed = with_lead_ins(mended(arrange(walk.events)))
    trimmer = HeadingTrimmer(tokenizer, max_tokens)
    chunks: list[ChunkBody] = []
    for headings, pieces in _sections(headed, trimmer):
        chunks += pack(pieces, Budget(tokenizer, max_tokens, headings), merge_peers, lines)
    content = {page for one in headed for page in pages_of(one.piece.spans)}
    chunks += pack(walk.furniture.kept(content), Budget(tokenizer, max_tokens, ()), merge_peers, lines)
    changes = Counter(walk.changes)
    changes["headings_shortened"] = len(trimmer.shortened)
    return ChunkingResult(tuple(chunks), {kind: count for kind, count in changes.items() if count})


def _sections(headed: Sequence[Headed], trimmer: HeadingTrimmer) -> Iterator[tuple[tuple[str, ...], list[Piece]]]:
    """Yield neighbouring pieces with the same embedded headings.

    Before the first text whose headings are not all embedded in full, those headings come as text, unless they are
    embedded with some other text.
    """
    for one in headed:
        trimmer.trim(one.chain)
    as_text = set(trimmer.shortened) - trimmer.embedded
    for headings, group in groupby(headed, key=lambda one: trimmer.trim(one.chain)):
        members = list(group)
        cut = [heading for heading in dict.fromkeys(h for one in members for h in one.chain) if heading in as_text]
        if cut:
            as_text.difference_update(cut)
            yield (), [whole(heading.text, "fallback", (heading.origin,)) for heading in cut]
        yield headings, [one.piece for one in members]
