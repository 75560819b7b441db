"""Lines of authors as lists of names: what is a person's name, and where one ends and the next begins."""

import re
import unicodedata

from stackroom.biblio.pdf_lines import MARK_CLOSE, MARK_OPEN


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MARK = re.compile(f"{MARK_OPEN}[^{MARK_CLOSE}]*{MARK_CLOSE}")
_SIGNS = re.compile(r"[*∗†‡§¶#$+✉♠♢♡♣◇□⋄⋆★☆■●○△▲▽‖|•·⊥⊕¹²³⁴⁵⁶⁷⁸⁹⁰]+|\d+(?:\s*,\s*\d+)*")  # noqa: RUF001
_ORDINAL = re.compile(r"\b\d+\s?(?:st|nd|rd|th)\b")
"""One conference template numbers its authors: "1st Ana Ruiz"."""
_EMAIL = re.compile(r"[({<\[]?\s*[\w.+-]+@[\w.-]+\s*[)}>\]]?|[({]\s*[\w.,\s-]+\s*[)}]\s*@\S+")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_SEPARATOR = re.compile(r"\s*(?:[,;|·•]|\band\b|\bund\b|\bet\b|&)\s*", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:authors?|by|written by)\s*:?\s+", re.IGNORECASE)
_DEGREES = _words(
    "md phd msc bsc ma ba mph frcp frcs rn mbbs mbchb dphil drph ms mba pharmd dds dvm dsc scd facs ieee jd mres"
)
_MEMBER = re.compile(r"\b(?:student |senior |life )?(?:member|fellow), ieee\b", re.IGNORECASE)
PARTICLES = _words(
    "van von der den de da das do dos del della di du la le el al bin ibn ben ter ten zu zur af av y e i o"
)
_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
_NOT_NAMES = _words(
    """
    fig referee referees status peer invited
    university universität université universidad universidade college school department dept institute institut
    instituto laboratory laboratories lab labs center centre hospital faculty division ministry foundation
    corporation company inc ltd gmbh ag academy council agency society association group team street road avenue
    city state province usa uk china germany france italy spain japan india canada australia brazil netherlands
    switzerland austria sweden norway denmark finland belgium ireland scotland england poland hungary portugal
    greece russia korea taiwan singapore israel kingdom republic states america africa europe asia abstract
    introduction keywords background summary the of for in on with to from by at as is are an or a we this that
    these our using based research science sciences technology engineering medicine medical health computer national
    international journal article review open access paper volume issue vol no doi received accepted published
    copyright editor editors reviewers corresponding author authors correspondence email e-mail mail address tel fax
    http https www com org edu march april june july august september october november december january february
    monday tuesday wednesday thursday friday proceedings conference workshop symposium annual meeting association
    press springer elsevier wiley ieee acm data analysis study model models method methods results system systems
    software learning language network networks neural design theory introduction conclusion figure table
    """
) - {"a", "august", "april", "june"}
_PLACES_AND_NAMES = _words("france china india israel japan georgia ireland england holland scotland paris jordan chad")
"""Places that are first names too, and rarely begin a line of places."""
_TOKEN = re.compile(r"^[^\W\d_](?:[^\W\d_]|['’`.\-‐‑])*$")  # noqa: RUF001
_MAX_TOKENS = 6


def parse_names(text: str) -> list[str] | None:
    """Return the names in a line of authors; None when the line is not one.

    Args:
        text: the line; raised marks may be enclosed in ``MARK_OPEN`` and ``MARK_CLOSE``.
    """
    pieces = split_names(text)
    names = [name for piece in pieces if (name := clean_name(piece))]
    if not names or len(names) < len(pieces):
        return None
    return names if all(is_name(name) for name in names) else None


def split_names(text: str) -> list[str]:
    """Return the pieces between separators, raised marks and footnote signs, empty ones left out."""
    text = _EMAIL.sub("|", unicodedata.normalize("NFC", text))
    text = _BRACKETS.sub("|", _MEMBER.sub(" ", _LABEL.sub("", text)))
    text = _SIGNS.sub("|", _ORDINAL.sub("|", _MARK.sub("|", text)))
    pieces = [piece.strip(" .:") for piece in _SEPARATOR.split(text)]
    return [piece for piece in pieces if piece and not _is_affiliation_letter(piece) and not _is_degree(piece)]


def _is_affiliation_letter(piece: str) -> bool:
    return len(piece) == 1 and not piece.isupper()


def _is_degree(piece: str) -> bool:
    words = [word.replace(".", "").casefold() for word in piece.split()]
    return all(word in _DEGREES for word in words)


def clean_name(piece: str) -> str:
    """Return a name without degrees and stray signs, words one blank apart."""
    words = [word.strip(",;:") for word in piece.split()]
    while len(words) > 2 and len(words[-1]) == 1 and words[-1].islower():  # the letter of an affiliation
        words.pop()
    while len(words) > 2 and words[-1].replace(".", "").casefold() in _DEGREES and not words[-1].istitle():
        words.pop()
    return " ".join(word for word in words if word)


def is_name(name: str) -> bool:
    """Whether a text can be the name of one person: two to six words, capitalised or particles, no other words."""
    words = name.split()
    if not 2 <= len(words) <= _MAX_TOKENS:
        return False
    if not all(_TOKEN.match(word) for word in words):
        return False
    checked = words[1:] if words[0].casefold() in _PLACES_AND_NAMES else words
    if any(word.casefold().strip(".") in _NOT_NAMES for word in checked):
        return False
    if not all(_is_name_word(word) for word in words):
        return False
    # At least one word is more than an initial, and the name does not end in a particle.
    return any(len(word.strip(".")) > 1 for word in words) and words[-1].casefold() not in PARTICLES


def is_open_name(name: str) -> bool:
    """Whether a text is the beginning of a name that goes on in the next line: "Ana Cristina Franco da"."""
    words = name.split()
    return len(words) > 1 and words[-1].casefold() in PARTICLES and is_name(f"{name} Xx")


def _is_name_word(word: str) -> bool:
    if word.casefold() in PARTICLES or word.casefold().strip(".") in _SUFFIXES:
        return True
    if word[:1].isupper() or (word[1:2] in "'\u2019" and word[2:3].isupper()):
        return True
    # Scripts without capitals: names in them are short.
    return word == word.swapcase() and len(word) <= 4


def surname(name: str) -> str:
    """Return the surname of a name in either order of writing, with its particles."""
    if "," in name:
        return name.split(",", 1)[0].strip()
    words = [word for word in name.split() if word.casefold().strip(".") not in _SUFFIXES]
    if not words:
        return name
    shouted = [word for word in words if len(word) > 2 and word == word.upper() and word.isalpha()]
    if len(shouted) == 1 and name != name.upper():
        return shouted[0]  # "RUIZ Ana": the surname is the word in capitals
    start = len(words) - 1
    while start > 1 and words[start - 1] in PARTICLES:
        start -= 1
    return " ".join(words[start:])


def as_written(name: str) -> str:
    """Return a name in capitals with capitals at the start of words only; other names as they are."""
    if name != name.upper() or not any(len(word.strip(".")) > 2 for word in name.split()):
        return name
    return " ".join(_capitalised(word) for word in name.split())


def _capitalised(word: str) -> str:
    if "." in word or len(word) == 1:
        return word
    return re.sub(r"[^\W\d_]+", lambda match: match.group()[0].upper() + match.group()[1:].lower(), word)
