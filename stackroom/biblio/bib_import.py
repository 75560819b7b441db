"""A ``.bib`` file as curated values: read by bibtexparser, matched with sources by file, DOI or title."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from stackroom.biblio.doi_text import clean_doi, doi_key
from stackroom.biblio.folding import similarity

SAME_TITLE = 0.92
"""Similarity from which an entry without DOI and file is taken for a source's; the best match must also be the only."""
_YEAR = re.compile(r"(?:18|19|20)\d{2}")


@dataclass(frozen=True)
class BibImport:
    """What a ``.bib`` file gives for the sources of a corpus."""

    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Source id to the fields to be curated."""
    unmatched: tuple[str, ...] = ()
    """Citation keys that belong to no source, or to more than one."""
    problems: tuple[str, ...] = ()
    """Blocks that are not valid BibTeX, with their line."""


def read_bibtex(text: str) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Return the entries of a ``.bib`` file as metadata fields, and what in it is not valid.

    Args:
        text: content of the file.

    Returns:
        Citation key to fields (``file`` among them where given), and one line per invalid block.
    """
    from bibtexparser import middlewares
    from bibtexparser.entrypoint import parse_string

    stack = [middlewares.SeparateCoAuthors(), middlewares.SplitNameParts()]
    library = parse_string(text, append_middleware=stack)
    problems = tuple(_problem(block) for block in library.failed_blocks)
    raw = {entry.key: {item.key.lower(): item.value for item in entry.fields} for entry in library.entries}
    return {key: _fields(fields) for key, fields in raw.items()}, problems


def _problem(block: Any) -> str:
    error = getattr(block, "error", None)
    reason = " ".join(str(getattr(error, "abort_reason", None) or error or "not a valid entry").split())
    return f"line {(block.start_line or 0) + 1}: {reason}"


def _fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    year = _YEAR.search(str(raw.get("year") or raw.get("date") or ""))
    keywords = re.split(r"\s*[,;]\s*", _decoded(raw.get("keywords")))
    values = {
        "title": _decoded(raw.get("title")),
        "authors": [name for parts in raw.get("author") or () if (name := _name(parts))],
        "year": int(year.group()) if year else None,
        "journal": _decoded(raw.get("journal") or raw.get("journaltitle")),
        "doi": clean_doi(str(raw.get("doi") or "")) or "",
        "keywords": [word for word in keywords if word],
        "url": str(raw.get("url") or ""),
        "arxiv": str(raw.get("eprint") or "") if str(raw.get("archiveprefix", "")).lower() == "arxiv" else "",
        "file": str(raw.get("file") or ""),
    }
    return {key: value for key, value in values.items() if value}


def _name(parts: Any) -> str:
    if isinstance(parts, str):
        return _decoded(parts)
    words = [*parts.first, *parts.von, *parts.last, *parts.jr]
    return _decoded(" ".join(words))


def _decoded(value: Any) -> str:
    """Return LaTeX as plain text: accents, braces and escapes resolved."""
    from pylatexenc.latex2text import LatexNodes2Text

    text = str(value or "")
    if "\\" in text or "{" in text or "~" in text or "$" in text:
        text = LatexNodes2Text(keep_comments=True, strict_latex_spaces=True).latex_to_text(text)
    return " ".join(text.split())


def import_bibtex(text: str, generated: Mapping[str, Mapping[str, Any]]) -> BibImport:
    """Match the entries of a ``.bib`` file with the sources of a corpus.

    Args:
        text: content of the file.
        generated: source id to the fields found in the source (or merged).
    """
    entries, problems = read_bibtex(text)
    matched: dict[str, str] = {}
    unmatched = []
    for key, fields in entries.items():
        sources = _match(fields, generated)
        if len(sources) == 1 and sources[0] not in matched:
            matched[sources[0]] = key
        else:
            unmatched.append(key)
    for key in matched.values():
        entries[key].pop("file", None)
    values = {source: entries[key] for source, key in matched.items()}
    return BibImport(values, tuple(unmatched), problems)


def _match(fields: Mapping[str, Any], generated: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the sources an entry may belong to: those of its file, else of its DOI, else of its title."""
    named = _file_names(str(fields.get("file", "")))
    by_file = [source for source in generated if source in named]
    names = {PurePosixPath(path).name for path in named}
    by_file = by_file or [source for source in generated if PurePosixPath(source).name in names]
    if by_file:
        return by_file
    doi = doi_key(str(fields.get("doi", "")))
    by_doi = [source for source, own in generated.items() if doi and doi_key(str(own.get("doi") or "")) == doi]
    if by_doi:
        return by_doi
    return list(_by_title(fields, generated))


def _by_title(fields: Mapping[str, Any], generated: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    title = str(fields.get("title", ""))
    for source, own in generated.items():
        alike = similarity(title, str(own.get("title", ""))) >= SAME_TITLE
        if title and alike and _years_agree(fields.get("year"), own.get("year")):
            yield source


def _years_agree(first: Any, second: Any) -> bool:
    """Whether two years can be of one work: an article appears online the year before it appears in print."""
    return not isinstance(first, int) or not isinstance(second, int) or abs(first - second) <= 1


def _file_names(value: str) -> list[str]:
    r"""Return the paths in a ``file`` field: plain, or ``description:path:type`` with ``\:`` and ``;`` as in JabRef."""
    paths = []
    for part in re.split(r"(?<!\\);", value):
        pieces = re.split(r"(?<!\\):", part)
        path = pieces[1] if len(pieces) == 3 else part
        paths.append(path.replace("\\:", ":").replace("\\;", ";").replace("\\", "/").strip())
    return [path for path in paths if path]
