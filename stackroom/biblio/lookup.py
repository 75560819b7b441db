"""What a DOI service's record means for an entry: it is adopted only if its title is the document's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, assert_never

from rapidfuzz import fuzz

from stackroom.biblio.candidates import CHOSEN_FROM, Candidate, ranked
from stackroom.biblio.doi_text import doi_key, without_url_tail
from stackroom.biblio.folding import similarity, squash
from stackroom.biblio.view import DocumentView
from stackroom.config import MetadataSettings

MAX_LOOKUPS = 6
"""DOIs tried for one document, shortened forms included."""
_TRIED_FROM = 0.3
"""Confidence from which a printed DOI is worth asking about."""
_MIN_CONTAINED = 24
"""Letters a title must have to be accepted because the first pages contain it; shorter ones occur by chance."""


@dataclass(frozen=True)
class Record:
    """What a service knows of a work."""

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    journal: str | None = None
    doi: str = ""
    abstract: str | None = None


@dataclass(frozen=True)
class Found:
    """A service knows the DOI."""

    record: Record
    service: str


@dataclass(frozen=True)
class NotFound:
    """Every service that answered says that there is no such DOI."""

    services: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unavailable:
    """No service gave an answer that settles it; trying later may."""

    reason: str = ""


Answer = Found | NotFound | Unavailable


class Resolver(Protocol):
    """Answers what is known of a DOI."""

    def resolve(self, doi: str) -> Answer:
        """Return the answer for a DOI; never raises for what a service does."""
        ...


@dataclass
class Lookup:
    """What the look-ups for one document gave."""

    record: Record | None = None
    candidates: dict[str, list[Candidate]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    mismatched: dict[str, str] = field(default_factory=dict)
    """DOI key to the title that its record has, when that is not the document's."""
    unknown: set[str] = field(default_factory=set)
    unanswered: bool = False
    """A service did not answer; asking again later may help."""

    def judged(self, candidate: Candidate) -> Candidate:
        """Return a DOI candidate as the look-ups leave it."""
        key = doi_key(str(candidate.value))
        if candidate.source == "doi-service":
            return candidate
        if key in self.mismatched:
            note = f"registered for {self.mismatched[key]!r}"
            return replace(candidate, confidence=candidate.confidence * 0.6, note=note)
        if key in self.unknown:
            return replace(candidate, confidence=candidate.confidence * 0.8, note="not registered")
        return candidate


def lookup_candidates(
    candidates: Mapping[str, Sequence[Candidate]], view: DocumentView, settings: MetadataSettings, resolver: Resolver
) -> Lookup:
    """Ask about the likeliest DOIs until a record's title is the document's.

    Args:
        candidates: of all fields, from the document itself.
        view: the document.
        settings: ``title_similarity`` is the threshold.
        resolver: whom to ask.
    """
    lookup = Lookup()
    titles = [str(item.value) for item in ranked(candidates["title"]) if item.confidence >= CHOSEN_FROM][:4]
    for doi in _to_try(candidates["doi"]):
        answer = resolver.resolve(doi)
        match answer:
            case Found():
                if title_matches(answer.record.title, titles, view, settings.title_similarity):
                    lookup.record = answer.record
                    lookup.candidates = _as_candidates(answer, doi)
                    return lookup
                lookup.mismatched[doi_key(doi)] = answer.record.title
                lookup.problems.append(
                    f"DOI {doi} is registered for {answer.record.title!r}, which is not this document's title"
                )
            case NotFound():
                lookup.unknown.add(doi_key(doi))
                lookup.problems.append(f"DOI {doi} is not registered")
            case Unavailable(reason=""):  # only the cache was asked, and does not know it
                continue
            case Unavailable():
                lookup.unanswered = True
                lookup.problems.append(
                    f"DOI {doi} could not be looked up ({answer.reason}); the next ingestion tries again"
                )
            case _:
                assert_never(answer)
    return lookup


def _to_try(candidates: Sequence[Candidate]) -> list[str]:
    """Return the DOIs to ask about: likeliest first, each followed by what it is without the tail of an address."""
    order: dict[str, str] = {}
    for candidate in ranked(candidates):
        if candidate.confidence >= _TRIED_FROM:
            for doi in (str(candidate.value), *without_url_tail(str(candidate.value))):
                order.setdefault(doi_key(doi), doi)
    return list(order.values())[:MAX_LOOKUPS]


def title_matches(title: str, titles: Sequence[str], view: DocumentView, threshold: float) -> bool:
    """Whether a record's title is the document's: like one found in it, or standing whole on its first pages.

    Args:
        title: of the record.
        titles: candidates for the document's title.
        view: the document.
        threshold: least similarity, 0 to 1.
    """
    if any(similarity(title, own) >= threshold for own in titles):
        return True
    squashed = squash(title)
    if len(squashed) < _MIN_CONTAINED or not view.front_squashed:
        return False
    return fuzz.partial_ratio(squashed, view.front_squashed[:6000]) / 100 >= max(threshold, 0.92)


def _as_candidates(found: Found, doi: str) -> dict[str, list[Candidate]]:
    record = found.record
    values = {
        "title": record.title,
        "authors": list(record.authors),
        "year": record.year,
        "journal": record.journal,
        "doi": record.doi or doi,
        "abstract": record.abstract,
    }
    where = {"service": found.service, "doi": doi}
    return {name: [Candidate(value, "doi-service", where, 0.99)] for name, value in values.items() if value}
