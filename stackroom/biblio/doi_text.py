"""DOIs in text: which strings are DOIs, how they are normalised, and what of them may belong to an address instead.

Every legal DOI is kept whole: several slashes, balanced brackets, ``+``, ``;`` and ``<…>`` occur in real ones. What
only looks like a tail of an address (``/abstract``, ``.pdf``) is legal too, and so is tried off only after a lookup
has failed.
"""

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

_PREFIX = re.compile(r"^\s*(?:https?://(?:dx\.|www\.)?doi\.org/|info:doi/|doi\s*:?\s*)", re.IGNORECASE)
_DOI = re.compile(r"(?<![\w.])10\.\d{4,9}(?:\.\d+)*/[^\s,\"“”|]+")
_WHOLE = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S+")
_NEXT_DOI = re.compile(r"[;,](?=10\.\d{4,9}/)")
_DASHES = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2212": "-", "\u00ad": None})
_CLOSERS = {")": "(", "]": "[", "}": "{", ">": "<"}
_PLACEHOLDER = re.compile(r"10\.\d*x+\d*/|10\.\d+/(?:.*(?:n{4,}|x{4,}|to be assigned|tbd))", re.IGNORECASE)
_TEMPLATE_DOIS = frozenset({"10.1145/1122445.1122456", "10.475/123_4", "10.1145/1234567890", "10.1145/8888888.7777777"})
"""Sample DOIs of widely used templates, left in many preprints."""
_TAILS = re.compile(
    r"(?:/(?:abstract|full|fulltext|pdf|epdf|epub|html|xml|meta|summary|references|supplemental|issuetoc|asset"
    r"|suppl(?:/.*)?|supp-\d+|-/dc\d+.*|figure/.*|table/.*|tables?|figures?)|\.pdf|\.full(?:\.pdf)?|\.html?|\.xml"
    r"|v\d+\.full.*|\.short|\.abstract|#.*|\?.*)$",
    re.IGNORECASE,
)


def normalize_doi(doi: str) -> str:
    """Return a DOI without address, label and trailing punctuation; its letters stay in the case given.

    Args:
        doi: a DOI, possibly as an address or with a label; empty text gives empty text.
    """
    text = unicodedata.normalize("NFKC", doi).translate(_DASHES)
    text = _PREFIX.sub("", text).strip()
    if "%" in text and re.search(r"%[0-9A-Fa-f]{2}", text):
        text = unquote(text)
    return _trim(text)


def _trim(text: str) -> str:
    """Strip trailing punctuation, and closing brackets that were never opened."""
    while text:
        last = text[-1]
        if last in ".,;:'’!*†‡" or (  # noqa: RUF001
            last in _CLOSERS and text.count(last) > text.count(_CLOSERS[last])
        ):
            text = text[:-1]
        else:
            break
    return text


def doi_key(doi: str) -> str:
    """Return the form under which DOIs are compared; they are not case-sensitive."""
    return normalize_doi(doi).lower()


def is_doi(text: str) -> bool:
    """Whether a whole text is a DOI (without label or address)."""
    return _WHOLE.fullmatch(text) is not None


def is_placeholder(text: str) -> bool:
    """Whether a text holds a template's DOI and not a real one: ``10.xxxxxx/draft``, ``10.1145/nnnnnnn``."""
    return bool(_PLACEHOLDER.search(text)) or doi_key(text) in _TEMPLATE_DOIS


def clean_doi(text: str) -> str | None:
    """Return one candidate as a DOI, or None when it is none (or a template's).

    Cut off are what follows an unopened closing bracket, and the fragment of an address.
    """
    doi = normalize_doi(text)
    doi = _cut_at_unopened(doi.split("#", 1)[0])
    doi = _trim(_NEXT_DOI.split(doi, maxsplit=1)[0])
    return doi if is_doi(doi) and not is_placeholder(doi) else None


def _cut_at_unopened(text: str) -> str:
    open_brackets: list[str] = []
    for index, char in enumerate(text):
        if char in "([{<":
            open_brackets.append(char)
        elif char in _CLOSERS:
            if not open_brackets or open_brackets[-1] != _CLOSERS[char]:
                return text[:index]
            open_brackets.pop()
    return text


def doi_candidates(text: str) -> list[str]:
    """Return the distinct DOIs in a text, in order."""
    return list(dict.fromkeys(doi for _, doi in find_dois(text)))


def find_dois(text: str) -> Iterator[tuple[int, str]]:
    """Yield (position, DOI) for every DOI in a text, repetitions included."""
    for match in _DOI.finditer(text.translate(_DASHES)):
        start = match.start()
        for part in _NEXT_DOI.split(match.group()):
            doi = clean_doi(part)
            if doi is not None:
                yield start, doi
            start += len(part) + 1


def ends_open(doi: str) -> bool:
    """Whether a DOI at the end of a line is likely to go on in the next one."""
    return doi.endswith((".", "-", "/", "_", ":")) or any(
        doi.count(left) > doi.count(right) for right, left in _CLOSERS.items()
    )


def without_url_tail(doi: str) -> list[str]:
    """Return what a DOI may be without the tail of an address, longest first; empty when it has none."""
    shorter: list[str] = []
    while True:
        cut = _trim(_TAILS.sub("", doi))
        if cut == doi or not is_doi(cut):
            return shorter
        shorter.append(cut)
        doi = cut
