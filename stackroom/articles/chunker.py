"""Cutting plain text into overlapping windows of words, and joining them again.

A word is a run of characters between blanks. Scripts written without blanks (Chinese, Japanese, Thai, …) have no such
runs, so there every letter counts as a word; a run of more than :data:`LONGEST_WORD` characters counts as several.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_OVERLAP = 50
LONGEST_WORD = 100
"""Characters. Longer runs are links, keys or lost blanks; as one word they would outgrow every model's limit."""

# Thai, Lao, Myanmar, Khmer, kana, Han (with extensions), and the marks that belong to the letter before them.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U000323af"
)
_MARKS = (
    "\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"
    "\u3099\u309a"
)
_WORD = re.compile(rf"(\s*)([{_UNSPACED}][{_MARKS}]*|[^\s{_UNSPACED}]{{1,{LONGEST_WORD}}})")


@dataclass(frozen=True)
class _Word:
    text: str
    spaced: bool
    """Whether a blank stood before it."""


class TextChunker:
    """Windows of ``chunk_words`` words, each starting ``chunk_words - overlap_words`` after the one before."""

    def __init__(self, chunk_words: int = 350, overlap_words: int | None = None) -> None:
        """Set the window.

        Args:
            chunk_words: words per window. English has about 1.3 tokens per word.
            overlap_words: words that neighbouring windows share. Unset: 50, and never more than half a window, since
                a window that advances by single words multiplies the text.

        Raises:
            ValueError: ``chunk_words`` is below 1, or ``overlap_words`` is not from 0 to below ``chunk_words``.
        """
        if chunk_words < 1:
            raise ValueError(f"chunk_words must be at least 1, not {chunk_words}")
        overlap = min(DEFAULT_OVERLAP, chunk_words // 2) if overlap_words is None else overlap_words
        if not 0 <= overlap < chunk_words:
            raise ValueError(f"overlap_words must be from 0 to below chunk_words ({chunk_words}), not {overlap}")
        self._chunk_words = chunk_words
        self._overlap_words = overlap

    @property
    def chunk_words(self) -> int:
        """Words per window."""
        return self._chunk_words

    @property
    def overlap_words(self) -> int:
        """Words that neighbouring windows share."""
        return self._overlap_words

    def chunk(self, text: str) -> list[str]:
        """Return the windows of a text in order; blanks become single spaces, a text without words gives none."""
        words = _words(text)
        step = self._chunk_words - self._overlap_words
        # The last window is the first one that reaches the last word; a later one would only repeat it.
        starts = range(0, max(1, len(words) - self._overlap_words), step) if words else ()
        return [_join(words[start : start + self._chunk_words]) for start in starts]


SlidingWindowChunker = TextChunker
"""The same under the name that says how it cuts."""


def merge_passages(passages: Sequence[str], overlap_words: int) -> str:
    """Return the text that was cut into ``passages``.

    The first ``overlap_words`` words of a passage are dropped where they repeat the last words so far and the passage
    has more than those; else the passage is kept whole.

    Raises:
        ValueError: ``overlap_words`` is negative.
    """
    if overlap_words < 0:
        raise ValueError(f"overlap_words must not be negative, not {overlap_words}")
    merged: list[_Word] = []
    for passage in passages:
        words = _words(passage)
        overlap = [word.text for word in words[:overlap_words]]
        repeated = bool(overlap) and [word.text for word in merged[-overlap_words:]] == overlap
        if repeated and len(words) > overlap_words:
            merged += words[overlap_words:]
        elif words:
            first = words[0]
            unspaced = bool(merged) and _is_unspaced(first.text) and _is_unspaced(merged[-1].text)
            merged += [_Word(first.text, not unspaced), *words[1:]]
    return _join(merged)


def _words(text: str) -> list[_Word]:
    return [_Word(match.group(2), bool(match.group(1))) for match in _WORD.finditer(text)]


def _join(words: Sequence[_Word]) -> str:
    return "".join((" " if word.spaced and number else "") + word.text for number, word in enumerate(words))


def _is_unspaced(word: str) -> bool:
    return re.match(f"[{_UNSPACED}]", word) is not None
