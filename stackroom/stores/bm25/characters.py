r"""Which characters make a word, per script. Pure tables for the analyser; no token is made here.

Python's ``\w`` leaves out combining marks, so that Devanagari and Thai words fall apart at every vowel sign. The
classes below put marks back, and tell the scripts written without spaces between words from the others.
"""

import functools
import itertools
import re
import unicodedata
from dataclasses import dataclass

CONNECTORS = "-._'/&"
"""Characters that hold a compound together when they stand between two words: ``il-6``, ``v1.2``, ``tcp/ip``."""

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul letters
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic iteration mark, closing mark, zero
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3130, 0x318F),  # Hangul compatibility letters
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),  # Hangul syllables
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
"""Blocks of scripts whose words are not separated by spaces (Hangul words are, but carry endings): cut into bigrams."""

_PLANES = ((0, 0x20000), (0xE0000, 0xE1000))
"""Where marks and format characters stand; the ideographic and private planes between hold none."""


@dataclass(frozen=True)
class Patterns:
    """Compiled expressions over normalised text."""

    ignorable: re.Pattern[str]
    """Characters that are nothing to a reader: soft hyphens, joiners, direction marks, variation selectors."""
    compound: re.Pattern[str]
    """A word, or several held together by :data:`CONNECTORS`, or a run of a script without spaces."""
    part: re.Pattern[str]
    """The pieces of a compound: runs of digits, runs of other word characters."""
    cluster: re.Pattern[str]
    """One character of a script without spaces, with its marks."""
    unspaced: re.Pattern[str]
    """A character of a script without spaces."""


@functools.cache
def patterns() -> Patterns:
    """Return the expressions, compiled on first use: a walk over the planes of Unicode that hold marks."""
    marks = _ranges("Mn", "Mc", "Me")
    formats = _ranges("Cf")
    unspaced = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED)
    selectors = "\ufe00-\ufe0f"
    character = rf"(?:[^\W_{unspaced}][{marks}]*)"
    glyph = rf"(?:(?=[^\W_])[{unspaced}][{marks}]*)"
    word = rf"{character}+"
    connectors = re.escape(CONNECTORS)
    return Patterns(
        ignorable=re.compile(rf"[{formats}{selectors}]"),
        compound=re.compile(rf"{word}(?:[{connectors}]{word})*(?:\+\+|\#)?|{glyph}+"),
        part=re.compile(rf"\d+|(?:[^\W\d_][{marks}]*)+"),
        cluster=re.compile(glyph),
        unspaced=re.compile(rf"[{unspaced}]"),
    )


def _ranges(*categories: str) -> str:
    """Return the characters of some Unicode categories as the inside of a regular-expression class."""
    pieces: list[str] = []
    first: int | None = None
    for code in itertools.chain.from_iterable(range(low, high + 1) for low, high in _PLANES):
        inside = unicodedata.category(chr(code)) in categories
        if inside and first is None:
            first = code
        elif not inside and first is not None:
            pieces.append(f"{re.escape(chr(first))}-{re.escape(chr(code - 1))}")
            first = None
    return "".join(pieces)
