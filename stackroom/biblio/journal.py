"""Candidates for the journal: from running lines, self-citations and metadata, told by the volume that follows it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stackroom.biblio.candidates import Candidate
from stackroom.biblio.evidence import CEILING, Evidence
from stackroom.biblio.folding import fold, squash
from stackroom.biblio.junk import SECTION_LABELS
from stackroom.biblio.packets import packets
from stackroom.biblio.self_citation import SelfCitation
from stackroom.biblio.view import DocumentView
from stackroom.biblio.year import is_unpublished

_NAME = r"([A-Z][\w&\u2019':.,\- ]{1,85}?[\w)]\.?)"
_VOLUME = r"\d{1,4}\s*(?:\([\w\s-]{1,9}\))?\s*[:,.]\s*(?:pp?\.?\s*)?e?\d+"
_PATTERNS = (
    # Journal of Things 2010, 4:1 · Journal (2023) 28:132 · Softw: Pract Exper. 2023;53:790
    re.compile(_NAME + r",?\s*\(?(?:18|19|20)\d{2}\)?\s*[,;:.]?\s*(?:vol\.?\s*)?" + _VOLUME),
    # PLoS ONE 9(12): e115884 · R. Soc. open sci. 2: 150395 · PeerJ Comput. Sci. 3:e118
    re.compile(_NAME + r",?\s+(?:vol\.?\s*)?" + _VOLUME),
)
_ET_AL = re.compile(r"^.*?\bet al\.?,?\s*(?:\(\d{4}\)\s*,?)?\s*", re.IGNORECASE)
_WITH_DOI = re.compile(r"\bet al\.? \(\d{4}\),\s*([A-Z][\w&:.\- ]{2,60}?),\s*doi\b", re.IGNORECASE)
_PUBLISHED_BY = re.compile(r"(?:the authors?|author\(s\))\.\s+([A-Z][\w&:,\- ]{3,80}?)\s+published by", re.IGNORECASE)
_NOT_JOURNALS = re.compile(
    r"^(?:proceedings|conference|arxiv|biorxiv|medrxiv|published|received|accepted|submitted|page|pages|copyright|vol"
    r"|volume|issue|figure|table|section|chapter|doi|http|www|citation|and|in|the authors?)\b|workshop|symposium"
    r"|\bconference\b|@|\bvol\b|licen[cs]ed|stra(?:ss|ß)e"
    r"|^(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?\b",
    re.IGNORECASE,
)


def journal_candidates(view: DocumentView, citations: list[SelfCitation], title: str | None) -> list[Candidate]:
    """Return the candidates for the journal.

    Args:
        view: the document.
        citations: its self-citations.
        title: its title, which precedes the journal in a self-citation.
    """
    evidence = Evidence()
    for row in view.repeated:
        where = {"page": row["pages"][0], "key": f"running {row['where']} line"}
        _add_from_text(evidence, str(row["text"]), 0.75, where, "running line")
    for page in view.front[:2]:
        for line in page.lines:
            margin = line.top < 0.12 * page.height or line.bottom > 0.85 * page.height
            if not line.rotated and (margin or page.number == 1):
                _add_from_text(evidence, line.text, 0.65 if margin else 0.3, line.where, "margin" if margin else "page")
    for citation in citations:
        text = _after_title(citation.text, title)
        _add_from_text(evidence, text, 0.8, citation.lines[0].where, "self-citation")
    _add_metadata(view, evidence)
    _add_display_heads(view, evidence)
    factor = 0.4 if is_unpublished(view) else 1.0
    candidates = _spelt_out(evidence.candidates())
    return [Candidate(c.value, c.source, c.where, c.confidence * factor, c.note) for c in candidates]


def _spelt_out(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates with what speaks for an abbreviation counted for the full name, where both are there."""
    merged = []
    for candidate in candidates:
        short = [other for other in candidates if is_abbreviation(str(other.value), str(candidate.value))]
        doubt = 1.0 - candidate.confidence
        for other in short:
            doubt *= 1.0 - other.confidence
        full = any(is_abbreviation(str(candidate.value), str(other.value)) for other in candidates)
        confidence = candidate.confidence * 0.5 if full else min(CEILING, 1.0 - doubt)
        merged.append(Candidate(candidate.value, candidate.source, candidate.where, confidence, candidate.note))
    return merged


def is_abbreviation(short: str, full: str) -> bool:
    """Whether a name shortens another word by word: "Softw: Pract Exper" for "Software: Practice and Experience"."""
    words = [word for word in fold(full).split() if word not in ("and", "of", "the", "for", "in", "on")]
    short_words = [word for word in fold(short).split() if word not in ("and", "of", "the", "for", "in", "on")]
    if len(short_words) != len(words) or fold(short) == fold(full):
        return False
    return all(word.startswith(part) for part, word in zip(short_words, words, strict=True))


def _add_from_text(evidence: Evidence, text: str, weight: float, where: Mapping[str, Any], note: str) -> None:
    for name in journals_in(text):
        evidence.add(name, weight, "layout", where, note, squash(name))


def journals_in(text: str) -> Iterator[str]:
    """Yield the names in a text that are followed by a volume and a page, as a journal's is."""
    for pattern in (_WITH_DOI, _PUBLISHED_BY):
        match = pattern.search(text)
        if match:
            yield match.group(1).strip()
    rest = _ET_AL.sub("", text)
    for pattern in _PATTERNS:
        match = pattern.search(rest)
        if match:
            name = _clean(match.group(1))
            if name:
                yield name
            return


def _clean(name: str) -> str:
    """Return a journal's name without what stood before it: the end of a title, a label."""
    name = re.split(r"(?<=[a-z)?!])\.\s*(?=[A-Z])|[?!]\s+", name)[-1] if not _is_abbreviated(name) else name
    name = name.strip(" ,;:-").removeprefix("In ").strip()
    if name.endswith(".") and "." not in name[:-1]:
        name = name[:-1]
    words = fold(name).split()
    if not words or len(words) > 10 or squash(name) in SECTION_LABELS or _NOT_JOURNALS.search(name):
        return ""
    return name if sum(char.isalpha() for char in name) >= 3 else ""


def _is_abbreviated(name: str) -> bool:
    """Whether full stops in a name belong to abbreviated words: "R. Soc. open sci.", "PeerJ Comput. Sci."."""
    words = name.split()
    return len(words) <= 6 and all(len(word) <= 9 for word in words)


def _after_title(text: str, title: str | None) -> str:
    """Return what follows the title in a self-citation; the whole text when the title is not found in it."""
    if not title:
        return text
    wanted = squash(title)
    seen = ""
    for index, char in enumerate(text):
        seen += squash(char)
        if seen.endswith(wanted):
            return text[index + 1 :].lstrip(" .,;:")
    return text


def _add_metadata(view: DocumentView, evidence: Evidence) -> None:
    info = view.pdf.get("info") or {}
    for name in journals_in(str(info.get("Subject", ""))):
        evidence.add(name, 0.6, "pdf-info", {"key": "Subject"}, "PDF information", squash(name))
    for packet in packets(view):
        for name in packet.get("prism:publicationName"):
            if not _NOT_JOURNALS.search(name):
                evidence.add(name, 0.85 * packet.trust, "xmp", {"key": "prism:publicationName"}, "XMP", squash(name))
    for name in view.embedded.get("journal", ()):
        evidence.add(name, 0.9, "embedded", {"key": "journal"}, "embedded metadata", squash(name))


def _add_display_heads(view: DocumentView, evidence: Evidence) -> None:
    """Add a large line at the very top of the first page when other lines name it too: a journal's nameplate."""
    if not view.pages:
        return
    page = view.pages[0]
    for line in page.lines:
        words = fold(line.text).split()
        plate = line.top < 0.1 * page.height and line.size > 1.15 * view.body_size and 1 <= len(words) <= 6
        if not plate or squash(line.text) in SECTION_LABELS or _NOT_JOURNALS.search(line.text):
            continue
        mentions = sum(line.text.casefold() in other.text.casefold() for other in page.lines)
        weight = 0.55 if mentions > 1 else 0.3
        evidence.add(line.text, weight, "layout", line.where, "nameplate", squash(line.text))
