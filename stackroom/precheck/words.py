"""Does a text layer read as language? Statistics that need no dictionary and hold for every script.

A PDF whose fonts lack a usable character table gives text that looks like text to a character count: ``Ê¾»`` for
*the*. Three kinds of evidence tell it from language: characters that no text contains (control, unassigned, private
use, replacement); words whose build no language shares (symbols between letters, alphabets mixed, no vowel, endless
consonants); and the rhythm of a whole page: vowels and consonants alternate in every language written with Latin
letters, in a shuffled alphabet they do not. Chinese, Japanese, Arabic, Korean, Greek, code and mathematics are left
alone. What becomes of a page is decided in :mod:`stackroom.precheck.decision`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

HYPHEN_MARK = "\ufffe"
"""PDFium's sign for a hyphen at a line end; not an odd character."""

# ASCII punctuation, hyphens, dashes and quotes part words and are never held against them: code and addresses are full
# of them.
_SEPARATORS = re.compile(r"[\s\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e\u00ad\u2010-\u2015\u2018-\u201f\u2026\u2212\ufffe]+")
_SEQUENCE = re.compile(r"[A-Z]{10,}")
"""Rows of DNA and protein sequences; they have no vowels to speak of, and are text all the same."""
_FILLERS = dict.fromkeys(map(ord, ".…·_-–—=*"))  # noqa: RUF001 - an en dash is meant
_VOWELS = frozenset("aeiouwyæœøıəɛɔɪʊʌɑɐ")  # noqa: RUF001 - w is one in Welsh
_RARE_IDEOGRAPHS = ((0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_UNMIXED = frozenset({"CYRILLIC", "ARABIC", "HEBREW", "ARMENIAN", "GEORGIAN", "THAI", "DEVANAGARI", "CHEROKEE"})
"""Alphabets that no word mixes with another; Latin goes with Greek (gene names) and with East Asian script."""
_CASED = frozenset({"CYRILLIC", "GREEK", "ARMENIAN"})
"""Alphabets with capitals in which ``getTextRange`` is not written; in Latin it is."""
_NO_LETTER = "NONE"

_RHYTHM_LETTERS = 300
_MIN_VOWEL_SHARE, _MAX_VOWEL_SHARE = 0.24, 0.70
_MIN_ALTERNATION = 1.1
"""Bounds of the rhythm of a page. Measured: share of vowels 0.37 to 0.45 over the pages of 26 English papers, 0.29 to
0.62 over samples of 25 languages; alternation (see :attr:`Rhythm.alternation`) 1.37 and up in the papers, 1.16 (in
Vietnamese) and up in the samples; 200 shuffled alphabets: median 1.03. Of these, 173 fail a bound."""


@dataclass(frozen=True)
class Rhythm:
    """How vowels and consonants follow one another in the Latin words of a page."""

    letters: int
    vowels: int
    pairs: int
    """Neighbouring letters inside words."""
    changes: int
    """Pairs of a vowel and a consonant."""

    @property
    def vowel_share(self) -> float:
        """Share of vowels among the letters."""
        return self.vowels / self.letters if self.letters else 0.0

    @property
    def alternation(self) -> float:
        """Changes as a multiple of what a random order of the same letters would give."""
        expected = 2 * self.vowel_share * (1 - self.vowel_share) * self.pairs
        return self.changes / expected if expected else 0.0

    @property
    def natural(self) -> bool | None:
        """Whether the rhythm is that of a language; None for too few letters to say."""
        if self.letters < _RHYTHM_LETTERS:
            return None
        return _MIN_VOWEL_SHARE <= self.vowel_share <= _MAX_VOWEL_SHARE and self.alternation >= _MIN_ALTERNATION


@dataclass(frozen=True)
class TextQuality:
    """Counts over the text of a page."""

    characters: int
    """Characters that are not blank."""
    odd_characters: int
    """Of these, control, private-use, unassigned and replacement characters."""
    alphanumerics: int
    """Letters and digits."""
    signs: int
    """Characters that are neither letters, digits, nor fill lines (dot leaders, rules): punctuation and symbols."""
    words: int
    """Runs of at least three letters, and runs with an odd character in them."""
    implausible_words: int
    latin_share: float
    """Share of Latin letters among all letters: build and rhythm of words tell most about Latin script."""
    rhythm: Rhythm

    @property
    def odd_share(self) -> float:
        """Share of odd characters, 0 to 1."""
        return self.odd_characters / self.characters if self.characters else 0.0

    @property
    def sign_share(self) -> float:
        """Share of punctuation and symbols among all characters but fillers, 0 to 1."""
        return self.signs / (self.signs + self.alphanumerics) if self.signs else 0.0

    @property
    def implausible_share(self) -> float:
        """Share of implausible words, 0 to 1."""
        return self.implausible_words / self.words if self.words else 0.0


@dataclass(frozen=True)
class _Word:
    plausible: bool
    letters: int = 0
    """Latin letters of a word that has no others, else 0; likewise the next two."""
    vowels: int = 0
    changes: int = 0


def text_quality(text: str) -> TextQuality:
    """Count characters, odd characters, words and implausible words of a text."""
    characters = odd = alphanumerics = signs = 0
    judged: list[_Word] = []
    scripts: Counter[str] = Counter()
    for token in text.split():
        characters += len(token)
        scripts.update(map(_script, token))
        here = sum(map(str.isalnum, token))
        alphanumerics += here
        signs += len(token.translate(_FILLERS)) - here
        odd_here = 0 if token.isprintable() else sum(1 for char in token if _is_odd(char))
        odd += odd_here
        if odd_here and not _is_bullet(token):
            judged.append(_Word(plausible=False))
        else:
            judged.extend(word for part in _SEPARATORS.split(token) if (word := _judge(part)) is not None)
    latin = [word for word in judged if word.letters]
    rhythm = Rhythm(
        letters=sum(word.letters for word in latin),
        vowels=sum(word.vowels for word in latin),
        pairs=sum(word.letters - 1 for word in latin),
        changes=sum(word.changes for word in latin),
    )
    implausible = sum(1 for word in judged if not word.plausible)
    letters = scripts.total() - scripts[_NO_LETTER]
    latin_share = scripts["LATIN"] / letters if letters else 0.0
    return TextQuality(characters, odd, alphanumerics, signs, len(judged), implausible, latin_share, rhythm)


@lru_cache(maxsize=100_000)
def _judge(part: str) -> _Word | None:
    """Return what the build of a word says; None for what is too short, a number, or a sequence."""
    letters = [char for char in part if char.isalpha()]
    if len(letters) < 3 or _SEQUENCE.fullmatch(part):
        return None
    scripts = {_script(char) for char in letters}
    if (
        _has_inner_symbol(part)
        or (len(scripts) > 1 and scripts & _UNMIXED)
        or (scripts <= _CASED and _capitals_inside(letters) >= 3)
        or _mostly(letters, _is_modifier)
        or _mostly(letters, _is_rare_ideograph)
    ):
        plausible = False
    else:
        plausible = scripts != {"LATIN"} or _latin_build(letters)
    if scripts != {"LATIN"}:
        return _Word(plausible)
    vowels = [_base(char) in _VOWELS for char in letters]
    changes = sum(left != right for left, right in pairwise(vowels))
    return _Word(plausible, len(letters), sum(vowels), changes)


def _latin_build(letters: list[str]) -> bool:
    """Say whether Latin letters are put together as words are.

    Czech and Welsh words without a, e, i, o, u and German clusters fail now and then; they are few in any page.
    """
    count, marked = len(letters), sum(1 for char in letters if not char.isascii())
    vowels = [_base(char) in _VOWELS for char in letters]
    return not (
        (count >= 5 and not any(vowels))
        or (count >= 4 and marked > 0.8 * count)
        or _longest_run(vowels, of=False) > 6
        or _longest_run(vowels, of=True) > 5
        or (marked >= 2 and _capitals_inside(letters) >= 2)
    )


def _longest_run(flags: list[bool], *, of: bool) -> int:
    longest = run = 0
    for flag in flags:
        run = run + 1 if flag is of else 0
        longest = max(longest, run)
    return longest


def _capitals_inside(letters: list[str]) -> int:
    """Count steps from a small to a capital letter."""
    return sum(1 for left, right in pairwise(letters) if left.islower() and right.isupper())


def _has_inner_symbol(part: str) -> bool:
    """Say whether punctuation, a symbol or a fraction stands between two Latin letters."""
    return any(
        _is_symbol(char) and _script(left) == _script(right) == "LATIN"
        for left, char, right in zip(part, part[1:], part[2:], strict=False)
    )


def _mostly(letters: list[str], test: Callable[[str], bool]) -> bool:
    return sum(1 for char in letters if test(char)) > len(letters) / 2


@lru_cache(maxsize=20_000)
def _is_symbol(char: str) -> bool:
    if char == "·":  # stands between letters in Catalan, and as a product sign
        return False
    category = unicodedata.category(char)
    if category == "No":
        return "<fraction>" in unicodedata.decomposition(char)
    return category[0] in "PS" and category != "Sm"


@lru_cache(maxsize=20_000)
def _is_odd(char: str) -> bool:
    return char != HYPHEN_MARK and (char == "\ufffd" or unicodedata.category(char) in ("Cc", "Co", "Cn", "Cs"))


@lru_cache(maxsize=20_000)
def _is_modifier(char: str) -> bool:
    return unicodedata.category(char) == "Lm"


@lru_cache(maxsize=20_000)
def _is_rare_ideograph(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in _RARE_IDEOGRAPHS)


def _is_bullet(token: str) -> bool:
    """Say whether a token is a private-use sign or two, as list bullets and icons are."""
    return len(token) <= 2 and all(unicodedata.category(char) == "Co" for char in token)


@lru_cache(maxsize=20_000)
def _script(char: str) -> str:
    """Return the script of a letter, the first word of its Unicode name (``LATIN``, ``CJK``, ``HANGUL``)."""
    return unicodedata.name(char, "NAMELESS").partition(" ")[0] if char.isalpha() else _NO_LETTER


@lru_cache(maxsize=5_000)
def _base(char: str) -> str:
    """Return a letter in small form without its accents."""
    return unicodedata.normalize("NFD", char.lower())[0]
