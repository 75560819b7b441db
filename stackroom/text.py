"""One normaliser for every text that is stored, embedded, indexed or asked for.

It repairs what PDF text layers and word processors do to words and changes nothing else: no letter or digit is ever
lost, and normalising twice is the same as normalising once. Whoever keeps normalised text puts
:data:`NORMALIZER_VERSION` into its fingerprint. Nothing here knows about documents, chunks or languages; words broken
around f-ligatures are the business of :mod:`stackroom.ligatures`.
"""

import re
import unicodedata
from collections import Counter

from stackroom.ligatures import join_split_ligatures

NORMALIZER_VERSION = 1
"""Raised whenever :func:`normalize_text` gives another result for any text."""

_LINE_BREAKS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NO_BREAK_SPACES = re.compile("[\u00a0\u2007\u202f]")
_INVISIBLE = re.compile(
    "["
    "\u200b-\u200f\u2060\ufeff\ufe00-\ufe0f"  # zero width, direction marks, variation selectors
    "\u202a-\u202e\u2061-\u2064\u2066-\u206f"  # direction overrides, invisible operators
    "\U000e0000-\U000e01ef"  # tags, more variation selectors
    "]"
)
# PDFium reports a hyphen at a line end as U+FFFE, older versions as U+0002; typesetters write U+00AD.
_HYPHEN_MARKS = "\u00ad\ufffe\x02"
_MARKED_HYPHEN = re.compile(rf"(?<=[^\W\d_])[{_HYPHEN_MARKS}]+[ \t]*\n?[ \t]*(?=[^\W\d_])")
_SOFT_HYPHENS = re.compile("\u00ad")
_STRAY_MARKS = re.compile("[\ufffe\x02]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\uffff\ufdd0-\ufdef]")
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_LINE_END_HYPHEN = re.compile(r"([^\W_]+)([-\u2010])[ \t]*\n[ \t]*(?=([^\W_]+))")
_BLANK_RUN = re.compile(r"[ \t]{2,}")

_PREFIXES_WITH_HYPHEN = frozenset({"self", "non", "ex", "well", "half", "cross", "quasi"})
"""First parts that nearly always keep their hyphen, so a line end after them does not remove it."""


def normalize_text(text: str) -> str:
    """Return the text as it is stored, embedded and searched: idempotent, no letter or digit lost."""
    return normalize_counted(text)[0]


def normalize_counted(text: str) -> tuple[str, dict[str, int]]:
    """Normalise a text and say what was changed.

    In this order: line breaks become newlines; hyphen marks (soft hyphen, U+FFFE, U+0002) vanish and their words are
    joined; no-break spaces become spaces; zero-width, control and other invisible characters vanish; ligatures set
    apart from their word are joined to it; NFKC; words hyphenated at a line end are joined; runs of blanks become one
    space; both ends are trimmed. Newlines inside stay.

    Returns:
        The normalised text, and how often each kind of change was made (kinds that did not occur are left out).
    """
    counts: Counter[str] = Counter()
    while (changed := _normalize_once(text, counts)) != text:
        # One pass can uncover work for another (a blank that NFKC makes, a word joined from three lines). Every
        # pass after the first only removes characters, so this ends.
        text = changed
    return text, {kind: count for kind, count in counts.items() if count}


def _normalize_once(text: str, counts: Counter[str]) -> str:
    text = _replace(_LINE_BREAKS, "\n", text, counts, "line_separators")
    if not text.isascii():
        text = _replace(_SURROGATES, "", text, counts, "surrogates")
        text = _replace(_NO_BREAK_SPACES, " ", text, counts, "no_break_spaces")
        text = _replace(_INVISIBLE, "", text, counts, "invisible_characters")
    if not text.isprintable():
        text = _remove_controls(text, counts)
    text, joined = join_split_ligatures(text)
    counts["spaced_ligatures"] += joined
    if not text.isascii():
        text = _compose(text, counts)
    if "\n" in text:
        text = _join_line_ends(text, counts)
    text = _replace(_BLANK_RUN, " ", text, counts, "blank_runs")
    return text.strip()


def _remove_controls(text: str, counts: Counter[str]) -> str:
    # Joining comes first: a marked hyphen takes the line break after it along.
    text = _replace(_MARKED_HYPHEN, "", text, counts, "hyphen_marks")
    text = _replace(_SOFT_HYPHENS, "", text, counts, "hyphen_marks")
    text = _replace(_STRAY_MARKS, "", text, counts, "control_characters")
    return _replace(_CONTROLS, "", text, counts, "control_characters")


def _replace(pattern: re.Pattern[str], by: str, text: str, counts: Counter[str], kind: str) -> str:
    text, found = pattern.subn(by, text)
    counts[kind] += found
    return text


def _compose(text: str, counts: Counter[str]) -> str:
    if unicodedata.is_normalized("NFKC", text):
        return text
    ligatures = len(_LIGATURES.findall(text))
    counts["ligatures"] += ligatures
    folded = sum(1 for char in text if not (char.isascii() or unicodedata.is_normalized("NFKC", char)))
    counts["compatibility_characters"] += folded - ligatures
    return unicodedata.normalize("NFKC", text)


def _join_line_ends(text: str, counts: Counter[str]) -> str:
    """Join words broken at a line end, with or without the hyphen as :func:`_drops_hyphen` decides."""
    lowered = text.casefold()

    def join(match: re.Match[str]) -> str:
        before, hyphen, after = match.groups()
        counts["line_end_hyphens"] += 1
        return before if _drops_hyphen(before, after, lowered) else before + hyphen

    return _LINE_END_HYPHEN.sub(join, text)


def _drops_hyphen(before: str, after: str, lowered: str) -> bool:
    """Tell whether the hyphen between two parts stands only for the line break ("exam-/ple" but not "x-/ray").

    Args:
        before: the letters and digits before the hyphen.
        after: the letters and digits after the line break.
        lowered: the whole text, casefolded: a compound written with its hyphen elsewhere keeps it.
    """
    breaks_a_word = len(before) > 1 and before[-1].islower() and after[0].islower() and before.isalpha()
    if not breaks_a_word or before.casefold() in _PREFIXES_WITH_HYPHEN:
        return False
    return f"{before}-{after}".casefold() not in lowered
