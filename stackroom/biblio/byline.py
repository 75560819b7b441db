"""Bylines of documents without pages: "By Ana Ruiz and Ben Ito, 2004" below the title of a note or a web page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stackroom.biblio.names import parse_names
from stackroom.biblio.view import DocumentView

_LINES_BELOW_TITLE = 4
_LONGEST = 300
"""Characters; longer paragraphs are no bylines, whatever they begin with."""
_YEAR = r"(?:18|19|20)\d\d"
_DAY = rf"(?:{_YEAR}-\d\d-\d\d|(?:\d{{1,2}}\.?\s+)?[A-Z][a-z]{{2,8}}\.?\s+(?:\d{{1,2}},?\s+)?{_YEAR})"
"""2004-05-01, 1 May 2004, May 1, 2004, May 2004."""
_BY = re.compile(
    rf"^(?:[Ww]ritten\s+)?[Bb]y[:\s]+(?P<names>.+?)(?:[\s,;|·(\u2013\u2014-]+(?P<date>{_DAY}|{_YEAR})\)?)?\.?$"
)
_AUTHORS = re.compile(r"^(?:Authors?|Author\(s\))\s*:\s*(?P<names>.+?)\.?$", re.IGNORECASE)
_DATED = re.compile(
    rf"^(?:(?:Date|Published|Posted|Updated)(?:\s+on)?:?\s+(?P<date>{_DAY}|{_YEAR})|(?P<day>{_DAY}))\.?$"
)

_LABEL = re.compile(
    r"^(?:(?:written\s+)?by:?|(?:authors?|author\(s\)|date|published|posted|updated)(?:\s+on)?:)$", re.IGNORECASE
)
_JOINS = re.compile(r"^(?:,|;|&|and|,\s*and)$")


@dataclass(frozen=True)
class Byline:
    """Who wrote a document, and when, as far as one of its first lines says so."""

    names: tuple[str, ...]
    year: int | None
    item: int
    """Place of the line among the texts of the document, from 0."""


def bylines(view: DocumentView) -> Iterator[Byline]:
    """Yield what the lines right below the title say; nothing for documents with pages, whose layout says more."""
    if view.pages:
        return
    for number, text in _below_title(view):
        if len(text) > _LONGEST:
            continue
        match = _BY.match(text) or _AUTHORS.match(text) or _DATED.match(text)
        if match is None:
            continue
        found = match.groupdict()
        names = parse_names(found["names"]) if found.get("names") else []
        if names is None:  # "By the river stands a heron": no names, so no date either
            continue
        year = re.search(_YEAR, found.get("date") or found.get("day") or "")
        yield Byline(tuple(names), None if year is None else int(year.group()), number)


def _below_title(view: DocumentView) -> Iterator[tuple[int, str]]:
    """Yield the first texts below the title, or below the first heading where there is none."""
    items = list(view.docling.get("first") or ())
    labels = [str(item["label"]) for item in items]
    heading = next((labels.index(label) for label in ("title", "section_header") if label in labels), None)
    if heading is None or heading >= _LINES_BELOW_TITLE:
        return
    texts = [str(item["text"]) for item in items]
    number = heading + 1
    for _ in range(_LINES_BELOW_TITLE):
        if number >= len(items) or labels[number] == "section_header":
            return
        end = _end_of_line(texts, number)
        yield number, " ".join(texts[number:end])
        number = end


def _end_of_line(texts: Sequence[str], first: int) -> int:
    """Return the place after a line's last piece: words in bold and links are texts of their own."""
    end = first + 1
    while end < len(texts) and (
        _LABEL.match(texts[end - 1]) or _JOINS.match(texts[end - 1]) or _JOINS.match(texts[end])
    ):
        end += 1
    return end
