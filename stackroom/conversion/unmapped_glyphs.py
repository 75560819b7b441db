"""Characters that docling-parse could not name, filled in from what PDFium reads at the same place. Pure.

docling-parse writes U+FFFD for a glyph whose font does not say which character it is; PDFium also knows the names of
glyphs and the fonts' own tables, so that dashes, minus signs, bullets and accented letters of some publishers are known
to it alone. Nothing is guessed: a character is taken only where all places that fit the words around it agree.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

UNKNOWN = "\ufffd"
MOST_UNKNOWN = 0.34
"""Share of unknown characters up to which a text says enough of where it stands."""
LEAST_CONTEXT = 6
"""Known letters and digits by which the place of a character is recognised; fewer may stand elsewhere as well."""

_QUOTES = str.maketrans("\u2018\u2019\u201a\u2032\u201c\u201d\u201e\u2033\ufffe\u2212", "''''\"\"\"\"--")


def fill_lines(lines: Sequence[str], page_text: str) -> list[str]:
    """Return the lines of a page with unknown characters filled in where that is possible.

    Args:
        lines: in any order; each keeps its length.
        page_text: the whole page as another reader sees it, in any order of lines.
    """
    if not any(UNKNOWN in line for line in lines):
        return list(lines)
    page = _Page(page_text)
    return [page.fill(line) if UNKNOWN in line else line for line in lines]


def fill_words(words: Sequence[str], before: str, after: str) -> list[str]:
    """Return the words of a line, from left to right, with what was filled into the line.

    Args:
        words: as they were read.
        before: the line as it was read.
        after: the same, filled.
    """
    found = [new for old, new in zip(before, after, strict=True) if old == UNKNOWN]
    if sum(word.count(UNKNOWN) for word in words) != len(found):
        return list(words)
    fills = iter(found)
    return ["".join(next(fills) if char == UNKNOWN else char for char in word) for word in words]


class _Page:
    """A page's characters without blanks: as they are, and in a form that both readers share."""

    def __init__(self, text: str) -> None:
        pairs = [(folded, char) for char in text for folded in _folded(char)]
        self._shared = "".join(folded for folded, _ in pairs)
        self._chars = [char for _, char in pairs]

    def fill(self, line: str) -> str:
        filled = self._fill(line)
        if UNKNOWN not in filled:
            return filled
        # The readers put raised and lowered signs at different places of a line; the words next to each other agree.
        words = re.split(r"(\s+)", filled)
        for place in range(0, len(words), 2):
            if UNKNOWN in words[place]:
                around = words[max(0, place - 2) : place + 3]
                words[place] = re.split(r"(\s+)", self._fill("".join(around)))[min(place, 2)]
        return "".join(words)

    def _fill(self, text: str) -> str:
        """Return the text with its unknown characters filled in, or as it is."""
        known = sum(char.isalnum() for char in text)
        if known < LEAST_CONTEXT or text.count(UNKNOWN) > MOST_UNKNOWN * len(text):
            return text
        pattern = "".join("(.)" if char == UNKNOWN else re.escape(folded) for char in text for folded in _folded(char))
        found = {
            tuple(self._chars[match.start(group)] for group in range(1, text.count(UNKNOWN) + 1))
            for match in re.finditer(pattern, self._shared)
        }
        if len(found) != 1:
            return text
        fills = iter(found.pop())
        return "".join(_accepted(next(fills)) if char == UNKNOWN else char for char in text)


def _folded(char: str) -> Iterator[str]:
    """Yield the characters that a character is compared by: no blanks, one kind of quote and of dash."""
    if char == UNKNOWN:
        yield char
        return
    for part in unicodedata.normalize("NFKC", char.translate(_QUOTES)):
        if not part.isspace():
            yield "-" if unicodedata.category(part) == "Pd" else part


def _accepted(char: str) -> str:
    """Return a character if it is one that can be read."""
    return UNKNOWN if unicodedata.category(char) in ("Cc", "Co", "Cn", "Cs") else char
