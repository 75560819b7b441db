"""A corpus's bibliography as BibTeX (written by bibtexparser) and as CSL JSON, the format of citation processors."""

import re
from collections.abc import Mapping
from typing import Any

from stackroom.biblio.folding import fold
from stackroom.biblio.names import surname

_SPECIAL = re.compile(r"(?<!\\)([&%#$_])")
_NAME = re.compile(r"\b\w+[A-ZÀ-ÖØ-Þ]\w*")
"""Words with a capital letter inside (DNA, mRNA, LongEval), which many styles would write small."""
_STOP_WORDS = frozenset("a an the on of in for to and with from by at is are do does how what why".split())  # noqa: SIM905
_VERBATIM = frozenset({"doi", "url", "file", "eprint"})
"""Fields that readers take literally; nothing in them is escaped."""


def citation_keys(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return a key for every source: surname of the first author, year, first word of the title; unique, ASCII.

    Args:
        entries: source id to fields.
    """
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for source, fields in sorted(entries.items()):
        authors = fields.get("authors") or ()
        words = [word for word in fold(str(fields.get("title") or "")).split() if word not in _STOP_WORDS]
        parts = (fold(surname(str(authors[0]))) if authors else "", str(fields.get("year") or ""), *words[:1])
        base = re.sub(r"[^a-z0-9]", "", "".join(parts)) or "source"
        key, number = base, 1
        while key in taken:
            number += 1
            key = f"{base}_{number}"
        taken.add(key)
        keys[source] = key
    return keys


def to_bibtex(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the entries of a corpus as BibTeX, in UTF-8.

    Args:
        entries: source id to fields (what holds without headings).
    """
    from bibtexparser.entrypoint import write_string
    from bibtexparser.library import Library
    from bibtexparser.model import Entry, Field

    keys = citation_keys(entries)
    library = Library()
    for source in sorted(entries):
        fields = _bibtex_fields(source, entries[source])
        kind = "article" if "journal" in fields else "misc"
        library.add(Entry(kind, keys[source], [Field(name, _escaped(name, value)) for name, value in fields.items()]))
    return str(write_string(library))


def _bibtex_fields(source: str, fields: Mapping[str, Any]) -> dict[str, str]:
    authors = [str(name) for name in fields.get("authors") or ()]
    arxiv = fields.get("arxiv")
    values: dict[str, Any] = {
        "title": fields.get("title"),
        "author": " and ".join(_braced(name) for name in authors),
        "year": fields.get("year"),
        "journal": fields.get("journal"),
        "doi": fields.get("doi"),
        "eprint": arxiv,
        "archiveprefix": "arXiv" if arxiv else None,
        "url": fields.get("url") or fields.get("url_doi"),
        "keywords": ", ".join(str(word) for word in fields.get("keywords") or ()),
        "abstract": fields.get("_abstract"),
        "file": source,
    }
    return {name: str(value) for name, value in values.items() if value}


def _braced(name: str) -> str:
    """Return a name that BibTeX does not take apart wrongly: organisations as one unit, "and" not as a separator."""
    return f"{{{name}}}" if _is_organisation(name) else name


def _is_organisation(name: str) -> bool:
    return bool(re.search(r"\band\b", name)) or len(name.split()) > 6


def _escaped(name: str, value: str) -> str:
    if name in _VERBATIM:
        return value
    balanced = value if value.count("{") == value.count("}") else value.replace("{", "(").replace("}", ")")
    escaped = _SPECIAL.sub(r"\\\1", balanced)
    return _NAME.sub(r"{\g<0>}", escaped) if name == "title" and "{" not in escaped else escaped


def to_csl(entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of a corpus as CSL JSON items.

    Args:
        entries: source id to fields (what holds without headings).
    """
    keys = citation_keys(entries)
    return [_csl_item(keys[source], entries[source]) for source in sorted(entries)]


def _csl_item(key: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        "id": key,
        "type": "article-journal" if fields.get("journal") else "article" if fields.get("arxiv") else "document",
        "title": fields.get("title"),
        "author": [_csl_name(str(name)) for name in fields.get("authors") or ()],
        "issued": {"date-parts": [[fields["year"]]]} if fields.get("year") else None,
        "container-title": fields.get("journal"),
        "DOI": fields.get("doi"),
        "URL": fields.get("url") or fields.get("url_doi"),
        "keyword": ", ".join(str(word) for word in fields.get("keywords") or ()),
        "abstract": fields.get("_abstract"),
        "number": f"arXiv:{fields['arxiv']}" if fields.get("arxiv") else None,
    }
    return {name: value for name, value in values.items() if value}


def _csl_name(name: str) -> dict[str, str]:
    if _is_organisation(name):
        return {"literal": name}
    family = surname(name)
    given = name.removesuffix(family).strip()
    return {"family": family, "given": given} if given else {"literal": name}
