"""Texts made comparable: folded for similarity, squashed for finding one text inside another however it is spaced."""

import re
import unicodedata

from rapidfuzz import fuzz

_NOT_WORD = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """Return a text in lower case, without accents and punctuation, words one blank apart."""
    decomposed = unicodedata.normalize("NFKD", text.replace("\u00ad", ""))
    letters = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _NOT_WORD.sub(" ", letters.casefold()).strip()


def squash(text: str) -> str:
    """Return a folded text without blanks: equal for "Be-tween  lines" and "between lines"."""
    return fold(text).replace(" ", "")


def similarity(first: str, second: str) -> float:
    """Return how much two texts resemble each other, 0 to 1, whatever their case, punctuation and spacing.

    A text that is the beginning of the other (a title without its subtitle) counts as resembling it when it is at
    least 20 characters long.
    """
    one, two = squash(first), squash(second)
    if not one or not two:
        return 0.0
    ratio = fuzz.ratio(one, two) / 100
    shorter, longer = sorted((one, two), key=len)
    if len(shorter) >= 20 and longer.startswith(shorter):
        return max(ratio, 0.9)
    return ratio
