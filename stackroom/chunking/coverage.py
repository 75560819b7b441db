"""How much of a document's text reached its chunks: the measure behind the check "no text lost"."""

import re
from collections import Counter
from collections.abc import Iterable

from docling_core.types.doc import DoclingDocument
from docling_core.types.doc.document import RichTableCell

from stackroom.artefacts import ChunkBody, embedded_text
from stackroom.text import normalize_text

_WORDS = re.compile(r"[^\W\d_]+|\d+")
_DIGITS = re.compile(r"\d+")
RUNNING_LINE_REPEATS = 3
"""A line found this often, numbers aside, is a running header or footer; chunks hold it once at most."""
GLUED_WORD_CHARACTERS = 4
"""Two extractions put blanks in different places. A word of this length or more that stands inside another word, or
across a blank, is not lost; of a shorter one that would be true of anything."""


def lost_text_ratio(reference_text: str, chunks: Iterable[ChunkBody]) -> float:
    """Return the share of the words of a reference extraction that no chunk holds, 0 to 1.

    A word is a run of letters or a run of digits of the normalised text, whatever its case. Every word counts as often
    as it occurs: if the reference holds it three times and the chunks (text and headings) twice, one is lost. Three
    allowances are made, for what differs between any two extractions of one file:

    - lines that are repeated throughout (running headers and footers) count once;
    - words hyphenated at a line end are compared joined, because both sides are normalised;
    - a word of at least four letters that the chunks hold nowhere as a word, but within or across words, is not lost.

    Args:
        reference_text: the text layer or OCR text of the whole file, line by line.
        chunks: the chunks made of the file.

    Returns:
        0.0 for a reference without words.
    """
    expected = _count(_without_running_lines(reference_text))
    total = expected.total()
    if not total:
        return 0.0
    text = normalize_text("\n".join(embedded_text(chunk.headings, chunk.text) for chunk in chunks))
    held = _count(text)
    missing = expected - held
    glued = "".join(_WORDS.findall(text.casefold()))
    lost = sum(
        count
        for word, count in missing.items()
        if word in held or len(word) < GLUED_WORD_CHARACTERS or word not in glued
    )
    return lost / total


def document_text(document: DoclingDocument) -> str:
    """Return all text items and table cells of a document, each once: the reference for files without a text layer.

    Compared with it, :func:`lost_text_ratio` says what chunking lost, not what conversion did.
    """
    texts = [item.text if item.text.strip() else item.orig for item in document.texts]
    cells = [
        cell.text for table in document.tables for cell in table.data.table_cells if not isinstance(cell, RichTableCell)
    ]
    pairs = [cell.text for item in document.key_value_items for cell in item.graph.cells if cell.item_ref is None]
    return "\n".join([*texts, *cells, *pairs])


def _count(text: str) -> Counter[str]:
    return Counter(_WORDS.findall(text.casefold()))


def _without_running_lines(reference_text: str) -> str:
    """Return the normalised reference with repeated lines reduced to their first occurrence."""
    lines = reference_text.splitlines()
    keys = [_DIGITS.sub("#", " ".join(line.split()).casefold()) for line in lines]
    often = Counter(key for key in keys if any(char.isalpha() for char in key))
    seen: set[str] = set()
    kept: list[str] = []
    for key, line in zip(keys, lines, strict=True):
        if often[key] < RUNNING_LINE_REPEATS or key not in seen:
            kept.append(line)
            seen.add(key)
    return normalize_text("\n".join(kept))
