"""Candidates for the journal: from running lines, self-citations and metadata, told by the volume that follows it."""

from collections.abc import Mapping
from typing import Any

from stackroom.biblio.candidates import Candidate
from stackroom.biblio.evidence import CEILING, Evidence
from stackroom.biblio.folding import fold, squash
from stackroom.biblio.journal_text import is_journal_name, journals_in
from stackroom.biblio.packets import packets
from stackroom.biblio.self_citation import SelfCitation
from stackroom.biblio.view import DocumentView
from stackroom.biblio.year import is_unpublished


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
    factor = 0.4 if is_unpublished(view) else 1.0 if view.reads_like_a_paper else 0.6
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
            if is_journal_name(name):
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
        if not plate or not is_journal_name(line.text):
            continue
        mentions = sum(line.text.casefold() in other.text.casefold() for other in page.lines)
        weight = 0.55 if mentions > 1 else 0.3
        evidence.add(line.text, weight, "layout", line.where, "nameplate", squash(line.text))
