"""Candidates for the document's own DOI, told from cited ones by place, label, repetition and metadata."""

import itertools
import re
from collections.abc import Iterable, Iterator

from stackroom.biblio.candidates import Candidate
from stackroom.biblio.doi_text import clean_doi, doi_key, ends_open, find_dois
from stackroom.biblio.evidence import Evidence
from stackroom.biblio.packets import packets
from stackroom.biblio.self_citation import SelfCitation
from stackroom.biblio.title import is_cover
from stackroom.biblio.view import DocumentView, PageView, TextLine

_LABELLED = re.compile(
    r"(?:\bdoi\b\s*[:.]?\s*|digital object identifier\s*:?\s*|doi\.org/|article url\s*:?\s*\S*)$", re.IGNORECASE
)
_OTHER_WORK = re.compile(
    r"first published|previous version|original(?:ly)? published|version 1\b"
    r"|data(?:set|base)?s? (?:availab|access|are|is)|data availability|dryad|zenodo|figshare|dataverse|osf\.io"
    r"|supplementary (?:data|material)|source code|software avail|correction to|erratum|comment on|reply to|response to"
    r"|companion|see also|available (?:at|from|in|on)|archived|et al\.?,? \d{4}|\bin:\s|\[\d+\]",
    re.IGNORECASE,
)
_THIS_WORK = re.compile(
    r"latest (?:published|version)|this (?:article|paper|version)|article (?:doi|url)|published online", re.IGNORECASE
)
_REPOSITORY = re.compile(r"10\.(?:5281|5061|6084|17605|7910|5063|6073|24433|17632|17863)/", re.IGNORECASE)
"""Prefixes under which data and software are archived."""
_XMP_KEYS = ("prism:doi", "crossmark:DOI", "pdfx:doi", "dc:identifier", "prism:url", "pdfx:WPS-ARTICLEDOI")
_HEADER, _FOOTER = 0.12, 0.85


def doi_candidates_of(view: DocumentView, citations: list[SelfCitation]) -> list[Candidate]:
    """Return the candidates for the document's own DOI with the confidence that they are its own."""
    evidence = Evidence()
    for page in view.pages:
        for line, doi, context in _printed(page):
            weight, note = _weight(view, page, line, doi, context)
            if weight > 0:
                evidence.add(doi, weight, "layout" if "label" in note else "pattern", line.where, note, doi_key(doi))
    for row in view.repeated:
        for _, doi in find_dois(str(row["text"])):
            where = {"page": row["pages"][0], "key": f"running {row['where']} line"}
            evidence.add(doi, 0.85, "layout", where, "running line", doi_key(doi))
    for citation in citations:
        for _, doi in itertools.islice(find_dois(citation.text), 1):  # further ones are of other versions
            evidence.add(doi, 0.85, "layout", citation.lines[0].where, "self-citation", doi_key(doi))
    _add_metadata(view, evidence)
    return evidence.candidates()


def _printed(page: PageView) -> Iterator[tuple[TextLine, str, str]]:
    """Yield (line, DOI, text around it) for every DOI printed on a page, those broken over a line joined."""
    lines = [line for line in page.lines if not line.rotated]
    for index, line in enumerate(lines):
        previous = lines[index - 1].text if index else ""
        for start, doi in find_dois(line.text):
            whole = doi
            after = lines[index + 1] if index + 1 < len(lines) else None
            if (
                after is not None
                and line.text.rstrip().endswith(_as_printed(line.text, start))
                and _goes_on(line, start)
            ):
                whole = clean_doi(_as_printed(line.text, start) + after.text.split(" ", 1)[0]) or doi
            yield line, whole, f"{previous} {line.text[:start]}"


def _as_printed(text: str, start: int) -> str:
    return text[start:].strip().split(" ", 1)[0]


def _goes_on(line: TextLine, start: int) -> bool:
    """Whether the DOI that begins at a place is the last thing on its line and looks cut off."""
    rest = line.text[start:].strip()
    return " " not in rest and ends_open(rest)


def _weight(view: DocumentView, page: PageView, line: TextLine, doi: str, context: str) -> tuple[float, str]:
    """Return how much one printed DOI speaks for being the document's own, and what kind of sign it is."""
    before = context.rstrip()
    near = context[-90:]
    if _REPOSITORY.match(doi) or (_OTHER_WORK.search(near) and not _THIS_WORK.search(near)):
        return 0.12, "names another work"
    first = page.number == 1 or (page.number == 2 and is_cover(view.pages[0]))
    if not first:
        return (0.1, "in the text") if page.number <= 3 else (0.08, "last page")
    labelled = bool(_LABELLED.search(before)) or "doi" in line.text.lower()
    margin = line.top < _HEADER * page.height or line.bottom > _FOOTER * page.height
    weight = 0.35 + 0.25 * labelled + 0.2 * margin + 0.2 * bool(_THIS_WORK.search(near))
    return min(weight, 0.85), f"first page{', labelled' if labelled else ''}{', margin' if margin else ''}"


def _add_metadata(view: DocumentView, evidence: Evidence) -> None:
    info = view.pdf.get("info") or {}
    for key in ("doi", "DOI", "WPS-ARTICLEDOI", "Subject", "Title", "Keywords"):
        for _, doi in find_dois(str(info.get(key, ""))):
            evidence.add(doi, 0.6, "pdf-info", {"key": key}, "PDF information", doi_key(doi))
    for packet in packets(view):
        for key in _XMP_KEYS:
            _add_values(evidence, packet.get(key), 0.8 * packet.trust, "xmp", key, "XMP")
    _add_values(evidence, view.embedded.get("doi", ()), 0.9, "embedded", "doi", "embedded metadata")
    if not view.pages:
        _add_head(evidence, str(view.docling.get("head", ""))[:3000])


def _add_values(evidence: Evidence, values: Iterable[str], weight: float, source: str, key: str, note: str) -> None:
    for value in values:
        doi = clean_doi(value)
        if doi is not None:
            evidence.add(doi, weight, source, {"key": key}, note, doi_key(doi))


def _add_head(evidence: Evidence, head: str) -> None:
    """Add DOIs at the beginning of a document without pages; a label makes it its own more likely."""
    for position, doi in find_dois(head):
        weight = 0.55 if _LABELLED.search(head[:position]) else 0.2
        evidence.add(doi, weight, "docling", {"key": "head"}, "beginning of the text", doi_key(doi))
