"""Cutting one text into parts that fit, at the best places, without tokenising it again and again.

Only counts decide what fits; the guess where to cut comes from the mean number of characters per token.
"""

import re
import unicodedata
from collections.abc import Callable
from math import ceil

_BREAKS = (
    re.compile(r"\n+"),
    re.compile(
        r"(?:(?<!\bal)(?<!\bFig)(?<!\bFigs)(?<!\bEq)(?<!\bRef)(?<!\bDr)(?<!\bcf)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)\.|[!?\u2026])"
        r"[\"')\]\u2019\u201d]*\s+(?=[^a-z\s])|\u3002|(?<=[\u3040-\u9fff])[!?]"
    ),
    re.compile(r"[;:,]\s+|\u3001|(?<=[\u3040-\u9fff])[;:,]"),
    re.compile(r"\s+"),
)
"""Where a text may be cut, best first: line, sentence, clause, word."""

_SHRINK = 0.9
_STRETCH = 1.15
"""A part may be this much longer than wished if a better place to cut is there."""


def split_text(text: str, count: Callable[[str], int], fits: Callable[[str], bool], room: int) -> list[tuple[int, int]]:
    """Cut a text into parts of about equal length that all fit.

    Args:
        text: the text.
        count: tokens of a text, without what surrounds it.
        fits: whether a part may stand as it is; must hold for every single character.
        room: tokens there are for a part; a guide for the length, ``fits`` decides.

    Returns:
        Start and end of each part; between them nothing but blanks is left out.
    """
    characters_per_token = len(text) / max(1, count(text))
    parts: list[tuple[int, int]] = []
    start = _skip_blanks(text, 0)
    while start < len(text):
        left = (len(text) - start) / characters_per_token
        # A little less than what is left over is worth one try: the mean may be pessimistic here.
        if left <= room * 1.2 and fits(text[start:].rstrip()):
            end = len(text)
        else:
            end = _end_of_part(text, start, (len(text) - start) / max(2, ceil(left / max(1, room))), fits)
        parts.append((start, start + len(text[start:end].rstrip())))
        start = _skip_blanks(text, end)
    return parts


def longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """Return the first words of a text, as many as fit, or an empty string."""
    ends = [match.start() for match in re.finditer(r"\s+|$", text) if match.start()]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[: ends[middle - 1]]) else (low, middle - 1)
    return text[: ends[low - 1]] if low else ""


def _end_of_part(text: str, start: int, length: float, fits: Callable[[str], bool]) -> int:
    while True:
        end = _best_break(text, start, max(1, int(length)))
        if end - start <= 1 or fits(text[start:end].rstrip()):
            return end
        length = min(length, end - start) * _SHRINK


def _best_break(text: str, start: int, length: int) -> int:
    """Return the best place to cut near the wished length, or the wished one where there is none."""
    window = text[start : start + int(length * _STRETCH) + 1]
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(window, length // 2) if match.end() < len(window)]
        if ends:
            return start + min(ends, key=lambda end: abs(end - length))
    while length > 1 and start + length < len(text) and unicodedata.combining(text[start + length]):
        length -= 1
    return min(start + length, len(text))


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start
