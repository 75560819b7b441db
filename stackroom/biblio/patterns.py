"""Labelled metadata in plain text, as the reference finds it: keywords, authors, DOI and address."""

import re
from typing import Any

from stackroom.biblio.doi_text import clean_doi, find_dois

LIMIT = 3000
KEYWORDS_LIMIT = 8000
"""Keywords stand after the abstract and so are looked for further on."""

_KEYWORDS = re.compile(
    r"^\s*(?:additional\s+)?(?:key\s?-?words?(?:\s+and\s+phrases?)?|key\s+terms?|index\s+terms?)\b"
    r"\s*[:—–.-]?[ \t]*(?:\n\s*)?(\S[^\n]*)",  # noqa: RUF001
    re.IGNORECASE | re.MULTILINE,
)
_AUTHORS = re.compile(r"^\s*author(?:s|\(s\))?\s*:\s*([^\n]{3,500})$", re.IGNORECASE | re.MULTILINE)
_BY = re.compile(r"^\s*by\s*:\s*([^\n]{3,500})$", re.IGNORECASE | re.MULTILINE)
_DOI = re.compile(r"^\s*doi\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_URL = re.compile(r"^\s*(?:url|website|homepage|webpage)\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_SPLIT = re.compile(r"[,;\n·•]")


def extract_regex_metadata(text: str, limit: int = LIMIT) -> dict[str, Any]:
    """Return the labelled metadata in a text; only the keys that were found.

    Args:
        text: the text.
        limit: characters in which everything but keywords is looked for.
    """
    head = text[:limit]
    found = {
        "keywords": _split(_first(_KEYWORDS, text[:KEYWORDS_LIMIT])),
        "authors": _split(_first(_AUTHORS, head) or _first(_BY, head)),
        "doi": _doi(head),
        "url": _url(_first(_URL, head)),
    }
    return {key: value for key, value in found.items() if value}


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1).strip() if match else ""


def _split(text: str) -> list[str]:
    parts = (part.strip().rstrip(".").strip() for part in _SPLIT.split(text))
    return [part for part in parts if part]


def _doi(text: str) -> str:
    labelled = clean_doi(_first(_DOI, text))
    return labelled or next((doi for _, doi in find_dois(text)), "")


def _url(text: str) -> str:
    text = text.rstrip(".,;:)]}")
    match = re.search(r"https?://\S+", text)
    if match:
        return match.group()
    return text if text.startswith("www.") else ""
