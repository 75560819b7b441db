# ruff: noqa: RUF001 - names contain letters and signs that look like others
"""Person names: the forms under which a name can be searched, and how expanded lists are shown.

A filter on ``authors`` is answered from a shadow list field, ``authors__names``. It holds *keys*: folded forms of every
stored name (surname, given name and surname, initials and surname, …). A query's operand becomes exactly one key, by
:func:`filter_key`; it matches when that key is in the list. So "Sinha", "sinha", "A. Sinha", "Sinha A", "Sinha, Ankur"
and "Ankur Sinha" all find a stored "Ankur Sinha", and "Müller", "Mueller" and "Muller" find one another as far as the
stored spelling allows.
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

SHADOW_SUFFIX = "__names"
PERSON_FIELDS = frozenset({"authors"})
"""Fields whose values are names of people."""

_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
_PARTICLES = frozenset(
    {"van", "von", "der", "den", "de", "da", "del", "della", "di", "du", "la", "le", "dos", "el", "al"}
)
_PLAIN = str.maketrans({"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d"})
_GERMAN = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_DIGRAPHS = {"ae": "a", "oe": "o", "ue": "u", "aa": "a"}
_APOSTROPHES = re.compile(r"['’ʼ`´‘]")
_SEPARATORS = re.compile(r"[\s.\-‐‑‒–·]+")
_INITIALS = re.compile(r"[A-Z]{2,3}")
_MAX_TOKENS = 8
"""Longer than any person's name: what has more words is an organisation, searchable by its words and as a whole."""


def shadow_field(field: str) -> str:
    """Return the name of the shadow field that answers filters on a person field."""
    return field + SHADOW_SUFFIX


def filter_key(name: str) -> str:
    """Return the one key by which a name given in a filter is looked up; empty for a name without any letter."""
    return " ".join(_plain(token) for token in _tokens(name))


def shadow_keys(names: Iterable[Any]) -> list[str]:
    """Return all keys under which the given names can be found, in order, without repetition.

    Args:
        names: names as stored; elements that are not text are skipped.
    """
    keys: dict[str, None] = {}
    for name in names:
        if isinstance(name, str):
            keys.update(dict.fromkeys(_keys_of_name(name)))
    keys.pop("", None)
    return list(keys)


@functools.lru_cache(maxsize=4096)  # all chunks of a document bear the same names
def _keys_of_name(name: str) -> list[str]:
    tokens = _tokens(name)
    if not tokens:
        return []
    if len(tokens) > _MAX_TOKENS:
        return [*_spellings(tokens), *(key for token in tokens for key in _spellings([token]))]
    forms = [*_name_forms(tokens), *([token] for token in tokens if len(token) > 1 and token not in _PARTICLES)]
    return [key for form in forms for key in _spellings(form)]


def _name_forms(tokens: list[str]) -> list[list[str]]:
    """Return the ways in which people write a name: each ending of it alone, after the first name, after initials."""
    forms = [tokens]
    first = tokens[0]
    for start in range(1, len(tokens)):
        ending = tokens[start:]
        initials = [token[0] for token in tokens[:start]]
        forms += [ending, [first, *ending], [first[0], *ending], [*initials, *ending]]
    return forms


def _tokens(name: str) -> list[str]:
    """Return the words of a name in lower case, given names first; initials apart, generation suffixes left out."""
    text = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", name)).replace("*", " ")
    parts = [part.strip() for part in text.split(",") if part.strip(" .")]
    parts = [part for part in parts if part.strip(". ").casefold() not in _SUFFIXES] or parts
    surname_first = len(parts) == 2
    words = _words(f"{parts[1]} {parts[0]}" if surname_first else " ".join(parts))
    if not surname_first:
        words = _initials_to_front(words)
    shouted = all(word == word.upper() for word in words)
    tokens: list[str] = []
    for word in words:
        apart = _INITIALS.fullmatch(word) and not shouted
        tokens += list(word.casefold()) if apart else [unicodedata.normalize("NFC", word).lower()]
    kept = [token for token in tokens if token not in _SUFFIXES]
    return kept or tokens


def _words(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text) if any(char.isalnum() for char in word)]


def _initials_to_front(words: list[str]) -> list[str]:
    """Return "Iskandar DT" and "Sinha A" as given names first; other names as they are."""
    end = len(words)
    while end > 1 and (len(words[end - 1]) == 1 or _INITIALS.fullmatch(words[end - 1])):
        end -= 1
    plain_surname = all(len(word) > 1 and word != word.upper() for word in words[:end])
    return [*words[end:], *words[:end]] if end < len(words) and plain_surname else words


def _plain(token: str) -> str:
    decomposed = unicodedata.normalize("NFD", token.translate(_PLAIN))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _spellings(tokens: Sequence[str]) -> list[str]:
    """Return the key of some words, and those of its other spellings ("müller": also "mueller"; "boehm": "bohm")."""
    choices = [_token_spellings(token) for token in tokens[:_MAX_TOKENS]]
    rest = [_plain(token) for token in tokens[_MAX_TOKENS:]]
    combined = itertools.islice(itertools.product(*choices), 8)
    return [" ".join([*words, *rest]) for words in combined]


def _token_spellings(token: str) -> list[str]:
    plain = _plain(token)
    german = _plain("".join(_GERMAN.get(char, char) for char in token))
    collapsed = plain
    for digraph, vowel in _DIGRAPHS.items():
        collapsed = collapsed.replace(digraph, vowel)
    return list(dict.fromkeys([plain, german, collapsed]))


def expand_person_names(names: Sequence[Any]) -> list[str]:
    """Return names with their words and lower-case forms, as the reference stores them in the field itself.

    Stackroom keeps ``authors`` as it is and searches the shadow field; this function serves its library users.

    Args:
        names: names; elements that are not text are skipped.
    """
    expanded: dict[str, None] = {}
    for name in names:
        if isinstance(name, str):
            words = name.split()
            expanded.update(dict.fromkeys([name, name.lower(), *words, *(word.lower() for word in words)]))
    return list(expanded)


def display_person_names(names: Sequence[Any]) -> list[str]:
    """Return an expanded list without the forms that were added for searching.

    Left out are single words that belong to a longer name, and lower-case copies of another entry. A name that its
    bearer writes in lower case stays.
    """
    texts = [name for name in names if isinstance(name, str)]
    words = {word for name in texts if len(name.split()) > 1 for word in name.split()}
    copies = {name.lower() for name in texts if name != name.lower()}
    return [
        name
        for name in dict.fromkeys(texts)
        if not (name == name.lower() and name in copies) and not (len(name.split()) == 1 and name in words)
    ]
