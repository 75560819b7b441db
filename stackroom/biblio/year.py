"""Candidates for the year of publication, from dates that are labelled, cited, stamped or copyrighted."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackroom.biblio.byline import bylines
from stackroom.biblio.candidates import Candidate
from stackroom.biblio.evidence import Evidence
from stackroom.biblio.journal_text import mentions
from stackroom.biblio.packets import packets
from stackroom.biblio.self_citation import SelfCitation
from stackroom.biblio.view import DocumentView, TextLine

_YEAR = r"((?:18|19|20)\d{2})"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DASH = "[-\u2013]"
_SIGNS: tuple[tuple[str, float, re.Pattern[str]], ...] = (
    (
        "published",
        0.85,
        re.compile(
            r"(?:published(?: online)?|publication date|available online|first published|version posted)"
            rf"\W{{0,3}}[^.;]{{0,30}}?\b{_YEAR}\b",
            re.IGNORECASE,
        ),
    ),
    ("copyright", 0.75, re.compile(rf"(?:©|\(c\)|copyright(?: c)?)\W{{0,12}}{_YEAR}\b", re.IGNORECASE)),
    (
        "holder",
        0.6,
        re.compile(
            rf"\b{_YEAR}\s+(?:the authors?|[A-Z][\w\u2019'-]+ et al\.?|elsevier|springer|ieee|association)",
            re.IGNORECASE,
        ),
    ),
    (
        "conference",
        0.8,
        re.compile(rf"{_MONTH}\s+\d{{1,2}}\s*(?:{_DASH}\s*(?:{_MONTH}\s*)?\d{{1,2}})?,?\s+{_YEAR}\b", re.IGNORECASE),
    ),
    (
        "accepted",
        0.45,
        re.compile(rf"\b(?:accepted|acceptance date)\W{{0,3}}[^.;/|]{{0,25}}?\b{_YEAR}\b", re.IGNORECASE),
    ),
    (
        "received",
        0.2,
        re.compile(rf"\b(?:received|submitted|submission date)\W{{0,3}}[^.;/|]{{0,25}}?\b{_YEAR}\b", re.IGNORECASE),
    ),
)
_ARXIV_STAMP = re.compile(rf"arxiv:\S+\s+(?:\[[\w.-]+\]\s+)?\d{{1,2}}\s+{_MONTH}\s+{_YEAR}", re.IGNORECASE)
_CITED = re.compile(r"\(?" + _YEAR + r"[a-z]?\)?")
_NOT_OF_THIS = re.compile(
    r"commons|licen[cs]e|permission|trademark|all rights|previous|first published|version 1\b", re.IGNORECASE
)
_UNPUBLISHED = re.compile(r"published\s*:\s*unpublished|under review|unpublished draft|10\.x{4,}/draft", re.IGNORECASE)


def is_unpublished(view: DocumentView) -> bool:
    """Whether the document says that it is a draft: what it prints as year, journal and DOI is then a template's."""
    return any(_UNPUBLISHED.search(page.text) for page in view.front[:1])


def plausible(year: int) -> bool:
    """Whether a work can bear a year: 1800 to next year."""
    return 1800 <= year <= dt.datetime.now(tz=dt.UTC).year + 1


def year_candidates(view: DocumentView, citations: list[SelfCitation]) -> list[Candidate]:
    """Return the candidates for the year of publication."""
    evidence = Evidence()
    for line in _dated_lines(view):
        _add_line(evidence, line)
    for row in view.repeated:
        text = str(row["text"])
        found = re.search(rf"\({_YEAR}\)", text)
        years = [str(year) for year in _issue_years(text)] or ([found.group(1)] if found else [])
        for year in years:
            where = {"page": row["pages"][0], "key": "running line"}
            _add(evidence, year, 0.6, "layout", where, "running line")
    for citation in citations:
        found = _CITED.search(citation.text)
        if found:
            _add(evidence, found.group(1), 0.8, "layout", citation.lines[0].where, "self-citation")
    for byline in bylines(view):
        if byline.year is not None:
            _add(evidence, str(byline.year), 0.8, "docling", {"key": "first", "item": byline.item}, "byline")
    _add_metadata(view, evidence)
    factor = 0.4 if is_unpublished(view) else 1.0
    candidates = _first_appearance(evidence.candidates())
    return [Candidate(c.value, c.source, c.where, c.confidence * factor, c.note) for c in candidates]


def _first_appearance(candidates: list[Candidate]) -> list[Candidate]:
    """Lower the year of an issue when the article appeared online the year before: accepted and copyrighted then."""
    online = {c.value for c in candidates if "copyright" in c.note and "accepted" in c.note}
    return [
        Candidate(c.value, c.source, c.where, c.confidence * 0.8, f"{c.note}, in print later")
        if c.value - 1 in online and "copyright" not in c.note
        else c
        for c in candidates
    ]


def _add_line(evidence: Evidence, line: TextLine) -> None:
    for note, weight, pattern in _SIGNS:
        for match in pattern.finditer(line.text):
            if note not in ("copyright", "published") or not _NOT_OF_THIS.search(line.text[: match.end()]):
                _add(evidence, match.group(1), weight, "layout", line.where, note)
    for year in _issue_years(line.text):
        _add(evidence, str(year), 0.7, "layout", line.where, "issue")
    stamp = _ARXIV_STAMP.search(line.text)
    if stamp:
        _add(evidence, stamp.group(1), 0.8, "layout", line.where, "arXiv stamp")


def _issue_years(text: str) -> list[int]:
    """Return the years that stand beside a journal's volume."""
    return [mention.year for mention in mentions(text) if mention.year]


def _dated_lines(view: DocumentView) -> Iterator[TextLine]:
    """Yield the lines of the first page, the edges of the second, and the copyright lines of the last."""
    for page in view.front[:2]:
        for line in page.lines:
            if page.number == 1 or line.top < 0.1 * page.height or line.bottom > 0.9 * page.height:
                yield line
    for line in view.last.lines if view.last is not None else ():
        if "©" in line.text:
            yield line


def _add(evidence: Evidence, text: str, weight: float, source: str, where: Mapping[str, Any], note: str) -> None:
    year = int(text)
    if plausible(year):
        evidence.add(year, weight, source, where, note)


def _add_metadata(view: DocumentView, evidence: Evidence) -> None:
    info = view.pdf.get("info") or {}
    for year in _issue_years(str(info.get("Subject", ""))):
        _add(evidence, str(year), 0.5, "pdf-info", {"key": "Subject"}, "PDF information")
    for packet in packets(view):
        for key in ("prism:coverDate", "prism:publicationDate", "prism:coverDisplayDate"):
            _add_dates(evidence, packet.get(key), 0.7 * packet.trust, "xmp", key)
    weight = 0.8 if view.embedded_is_published else 0.3
    _add_dates(evidence, view.embedded.get("date", ())[:1], weight, "embedded", "date")
    created = re.match(rf"D:{_YEAR}", str(info.get("CreationDate", "")))
    if created:
        _add(evidence, created.group(1), 0.3, "pdf-info", {"key": "CreationDate"}, "file created")


def _add_dates(evidence: Evidence, values: Iterable[str], weight: float, source: str, key: str) -> None:
    for value in values:
        found = re.search(_YEAR, value)
        if found:
            _add(evidence, found.group(), weight, source, {"key": key}, key)
