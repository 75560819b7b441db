"""The cascade: candidates per field from all signals, a look-up where a resolver is given, and one chosen entry.

Every field is a list of candidates with value, source, place and confidence. The entry shows the chosen values; the
rest is kept beside it, so that a person can see why a value was chosen and what else it might have been.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from stackroom.biblio.authors import author_candidates
from stackroom.biblio.candidates import Candidate, best, ranked
from stackroom.biblio.details import abstract_candidates, arxiv_candidates, keyword_candidates, url_candidates
from stackroom.biblio.folding import squash
from stackroom.biblio.journal import journal_candidates
from stackroom.biblio.lookup import Lookup, Resolver, lookup_candidates
from stackroom.biblio.own_doi import doi_candidates_of
from stackroom.biblio.self_citation import self_citations
from stackroom.biblio.title import TitleBlock, title_blocks, title_candidates
from stackroom.biblio.view import DocumentView, document_view
from stackroom.biblio.year import year_candidates
from stackroom.config import MetadataSettings

EXTRACTOR_VERSION = 2
"""Raised whenever the entry made from the same signals changes."""

ENTRY_FIELDS = ("title", "authors", "keywords", "year", "journal", "doi", "arxiv", "url")
_COMPLETE = 0.75
"""Confidence in title, authors and year from which an entry counts as complete without a look-up."""


@dataclass(frozen=True)
class Extracted:
    """What was made of a document's signals."""

    entry: Mapping[str, Any]
    """Chosen values, and ``_metadata_complete``, ``_sources`` (field to source), ``_problems``, ``_abstract``."""
    candidates: Mapping[str, Sequence[Candidate]] = field(default_factory=dict)
    """All candidates of every field, best first."""
    unanswered: bool = False
    """A service that was asked about a DOI did not answer, and no other settled the matter."""

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "entry": dict(self.entry),
            "candidates": {name: [item.to_json() for item in items] for name, items in self.candidates.items()},
        }


def extract_entry(
    signals: Mapping[str, Any],
    source_id: str,
    settings: MetadataSettings,
    resolver: Resolver | None = None,
) -> Extracted:
    """Return the bibliographic entry of a source with the evidence for it.

    Args:
        signals: what :func:`stackroom.biblio.signals.collect_signals` gathered.
        source_id: of the file; its stem is the title of last resort.
        settings: of metadata; the similarity that a looked-up record's title must reach.
        resolver: asks DOI services or their cache; None asks nobody.
    """
    stem = PurePosixPath(source_id).stem
    view = document_view(signals)
    candidates = offline_candidates(view, stem)
    lookup = Lookup() if resolver is None else lookup_candidates(candidates, view, settings, resolver)
    for name, found in lookup.candidates.items():
        candidates[name] = [*found, *candidates.get(name, [])]
    candidates["doi"] = [lookup.judged(candidate) for candidate in candidates["doi"]]
    ordered = {name: ranked(items)[:12] for name, items in candidates.items()}
    return Extracted(_entry(ordered, view, lookup, stem), ordered, lookup.unanswered and lookup.record is None)


def offline_candidates(view: DocumentView, stem: str) -> dict[str, list[Candidate]]:
    """Return the candidates of every field from the document itself."""
    blocks = title_blocks(view)
    titles = title_candidates(view, stem, blocks)
    title = best(titles)
    citations = self_citations(view)
    block = _block_of(blocks, title)
    return {
        "title": titles,
        "authors": author_candidates(view, block),
        "keywords": keyword_candidates(view),
        "year": year_candidates(view, citations),
        "journal": journal_candidates(view, citations, None if title is None else str(title.value)),
        "doi": doi_candidates_of(view, citations),
        "arxiv": arxiv_candidates(view),
        "url": url_candidates(view),
        "abstract": abstract_candidates(view),
    }


def _block_of(blocks: Sequence[TitleBlock], title: Candidate | None) -> TitleBlock | None:
    """Return the lines on which the chosen title is printed, the best-looking lines if it was not found."""
    if title is None:
        return None
    wanted = squash(str(title.value))
    return next((block for block in blocks if squash(block.text) == wanted), blocks[0] if blocks else None)


def _entry(
    candidates: Mapping[str, Sequence[Candidate]], view: DocumentView, lookup: Lookup, stem: str
) -> dict[str, Any]:
    chosen = {name: choice for name in ENTRY_FIELDS if (choice := best(candidates[name])) is not None}
    entry: dict[str, Any] = {name: choice.value for name, choice in chosen.items()}
    sources = {name: choice.source for name, choice in chosen.items()}
    if "title" not in entry:
        entry = {"title": stem, **entry}
        sources = {"title": "file-name", **sources}
    origin = view.docling.get("origin") or {}
    if view.docling.get("links"):
        entry["urls"] = list(view.docling["links"])
    if origin.get("mimetype"):
        entry["source_type"] = origin["mimetype"]
    if str(origin.get("uri", "")).startswith(("http://", "https://")):
        entry["source_url"] = origin["uri"]
    abstract = best(candidates["abstract"])
    if abstract is not None:
        entry["_abstract"] = abstract.value
    entry["_metadata_complete"] = is_complete(chosen, lookup)
    entry["_sources"] = sources
    if lookup.problems:
        entry["_problems"] = list(lookup.problems)
    return entry


def is_complete(chosen: Mapping[str, Candidate], lookup: Lookup) -> bool:
    """Whether an entry can be used without a person looking at it.

    True when an accepted record gives title, authors and year; when the PDF's own information gives title, authors
    and keywords (the reference's two rules); or when title, authors and year are each found with confidence 0.75.
    """
    if lookup.record is not None and lookup.record.title and lookup.record.authors and lookup.record.year:
        return True
    if all(name in chosen and chosen[name].source == "pdf-info" for name in ("title", "authors", "keywords")):
        return True
    return all(name in chosen and chosen[name].confidence >= _COMPLETE for name in ("title", "authors", "year"))


def merge_tiers(
    tiers: Sequence[tuple[str, Mapping[str, Any]]],
    stem: str,
    record: Mapping[str, Any] | None = None,
    pdf_info: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the reference's merge: tiers in order of trust, each filling only what is still missing.

    Args:
        tiers: (label, fields) in order of precedence.
        stem: title when no tier has one.
        record: of a DOI service, if there is one: it then alone decides on completeness.
        pdf_info: fields of the PDF's own information, which decide otherwise.

    Returns:
        The fields, ``_metadata_complete``, and ``_sources``: the labels of the tiers that gave at least one field.
    """
    merged: dict[str, Any] = {}
    used: list[str] = []
    for label, fields in tiers:
        new = {key: value for key, value in fields.items() if value and key not in merged and key != "abstract"}
        merged.update(new)
        if new:
            used.append(label)
    merged.setdefault("title", stem)
    judged, needed = (record, "year") if record is not None else (pdf_info or {}, "keywords")
    complete = all(judged.get(key) for key in ("title", "authors", needed))
    return {**merged, "_metadata_complete": complete, "_sources": used}
