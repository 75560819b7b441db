"""What each DOI service is asked and how its answer reads: one address and one table of fields per service.

No request is made here; see :mod:`stackroom.biblio.doi_client`.
"""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from stackroom.biblio.doi_text import normalize_doi
from stackroom.biblio.lookup import Record

_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class Service:
    """A DOI service."""

    name: str
    base_url: str
    path: str
    """Path of a DOI, which stands for ``{doi}``, percent-encoded."""
    parse: Callable[[Mapping[str, Any]], Record | None]
    min_interval_seconds: float
    """Least time between two requests; what the services ask of anonymous users, with a margin."""
    params: Mapping[str, str]
    polite_param: str | None = None
    """Name of the parameter that carries the address of whoever asks."""

    def url(self, doi: str) -> str:
        """Return the address at which the service describes a DOI."""
        return f"{self.base_url.rstrip('/')}{self.path.format(doi=quote(doi, safe=''))}"


def _plain(value: Any) -> str:
    """Return a text without markup, words one blank apart; empty for anything but text."""
    return " ".join(html.unescape(_TAG.sub("", value)).split()) if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _first(value: Any) -> str:
    return next((text for item in _list(value) if (text := _plain(item))), "")


def _year(value: Any) -> int | None:
    if isinstance(value, str) and value[:4].isdecimal():
        return int(value[:4])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _record(title: str, authors: Sequence[str], year: Any, journal: Any, abstract: Any, doi: Any) -> Record | None:
    """Return a record, or None without a title: nothing could then be checked against the document."""
    if not title:
        return None
    return Record(
        title=title,
        authors=tuple(name for name in authors if name),
        year=_year(year),
        journal=_plain(journal) or None,
        doi=doi if isinstance(doi, str) else "",
        abstract=_plain(abstract) or None,
    )


def parse_crossref(answer: Mapping[str, Any]) -> Record | None:
    """Return the record in an answer of Crossref."""
    message = _mapping(answer.get("message"))
    title, subtitle = _first(message.get("title")), _first(message.get("subtitle"))
    if title and subtitle and subtitle.casefold() not in title.casefold():
        title = f"{title}: {subtitle}"
    return _record(
        title,
        [_crossref_name(_mapping(author)) for author in _list(message.get("author"))],
        _crossref_year(message),
        _first(message.get("container-title")),
        message.get("abstract"),
        message.get("DOI"),
    )


def _crossref_name(author: Mapping[str, Any]) -> str:
    name = f"{_plain(author.get('given'))} {_plain(author.get('family'))}".strip()
    return name or _plain(author.get("name"))


def _crossref_year(message: Mapping[str, Any]) -> Any:
    for key in ("issued", "published", "published-online", "published-print"):
        parts = _list(_mapping(message.get(key)).get("date-parts"))
        if parts and _list(parts[0]) and parts[0][0]:
            return parts[0][0]
    return None


def parse_openalex(answer: Mapping[str, Any]) -> Record | None:
    """Return the record in an answer of OpenAlex."""
    authors = [_mapping(_mapping(item).get("author")).get("display_name") for item in _list(answer.get("authorships"))]
    source = _mapping(_mapping(answer.get("primary_location")).get("source"))
    return _record(
        _plain(answer.get("title") or answer.get("display_name")),
        [_plain(name) for name in authors],
        answer.get("publication_year"),
        source.get("display_name"),
        _from_inverted_index(_mapping(answer.get("abstract_inverted_index"))),
        normalize_doi(answer["doi"]) if isinstance(answer.get("doi"), str) else "",
    )


def _from_inverted_index(index: Mapping[str, Any]) -> str:
    words = {place: word for word, places in index.items() for place in _list(places) if isinstance(place, int)}
    return " ".join(words[place] for place in sorted(words))


def parse_semantic_scholar(answer: Mapping[str, Any]) -> Record | None:
    """Return the record in an answer of Semantic Scholar."""
    return _record(
        _plain(answer.get("title")),
        [_plain(_mapping(author).get("name")) for author in _list(answer.get("authors"))],
        answer.get("year"),
        answer.get("venue"),
        answer.get("abstract"),
        _mapping(answer.get("externalIds")).get("DOI"),
    )


def parse_datacite(answer: Mapping[str, Any]) -> Record | None:
    """Return the record in an answer of DataCite."""
    fields = _mapping(_mapping(answer.get("data")).get("attributes"))
    abstracts = [
        _mapping(item).get("description")
        for item in _list(fields.get("descriptions"))
        if _mapping(item).get("descriptionType") == "Abstract"
    ]
    return _record(
        next((text for item in _list(fields.get("titles")) if (text := _plain(_mapping(item).get("title")))), ""),
        [_datacite_name(_mapping(creator)) for creator in _list(fields.get("creators"))],
        fields.get("publicationYear"),
        _mapping(fields.get("container")).get("title"),
        next(iter(abstracts), None),
        fields.get("doi"),
    )


def _datacite_name(creator: Mapping[str, Any]) -> str:
    name = f"{_plain(creator.get('givenName'))} {_plain(creator.get('familyName'))}".strip()
    return name or _plain(creator.get("name"))


SERVICES = {
    service.name: service
    for service in (
        Service("crossref", "https://api.crossref.org", "/works/{doi}", parse_crossref, 0.1, {}, "mailto"),
        Service("openalex", "https://api.openalex.org", "/works/doi:{doi}", parse_openalex, 0.15, {}, "mailto"),
        Service(
            "semantic_scholar",
            "https://api.semanticscholar.org",
            "/graph/v1/paper/DOI:{doi}",
            parse_semantic_scholar,
            1.1,
            {"fields": "title,authors,abstract,year,venue,externalIds"},
        ),
        Service("datacite", "https://api.datacite.org", "/dois/{doi}", parse_datacite, 0.2, {}),
    )
}
"""The services there are; no other host is ever asked."""
