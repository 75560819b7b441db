"""Checks of what is stored: one source's rows, a whole store, and what only shows across the sources of a corpus."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from stackroom.artefacts import StoredRow
from stackroom.biblio.doi_text import doi_key
from stackroom.biblio.folding import similarity, squash
from stackroom.biblio.names import surname
from stackroom.metadata_map.curated import DEFAULT
from stackroom.words import count

LINT_VERSION = 1
"""Raised whenever the findings for the same rows change."""

MIN_CHUNK_CHARACTERS = 20
REQUIRED_KEYS = ("file_name", "title", "year", "doi")
LOST_TEXT_WARNING = 0.05
"""Share of a source's words that may be missing from its chunks before it is worth a warning."""
MAX_LISTED = 20
SAME_TITLE = 0.8
"""Similarity from which two titles are taken for one."""

COMPARED_FIELDS = ("doi", "title", "authors", "_problems")
"""Fields of a map entry that :func:`lint_corpus` looks at."""

_Document = TypeVar("_Document")


@dataclass(frozen=True)
class Finding:
    """Something wrong or odd."""

    rule: str
    severity: Literal["error", "warning", "info"]
    message: str
    chunk_index: int | None = None
    source_id: str | None = None


class Doc(Protocol):
    """What the reference's users hand in: text and metadata under these names."""

    page_content: Any
    metadata: Mapping[str, Any]


def lint_source(rows: Sequence[StoredRow], report: Mapping[str, Any]) -> list[Finding]:
    """Return the findings about one source as the stores see it.

    Args:
        rows: of the source, in order.
        report: summary of its conversion: ``max_tokens``, ``longest_chunk_tokens``, ``lost_text_ratio``,
            ``missing_pages``, ``state``; what is absent is not judged.
    """
    findings = [finding for row in rows for finding in _lint_row(row)]
    findings += _missing_keys(rows)
    findings += _lint_report(report)
    if not rows:
        findings.append(Finding("no_chunks", "error", "the source has no chunks; nothing of it can be found"))
    return findings


def _lint_row(row: StoredRow) -> list[Finding]:
    index = row.metadata.get("chunk_index")
    at = index if isinstance(index, int) else None
    findings = []
    length = len(row.text.strip())
    if length < MIN_CHUNK_CHARACTERS:
        findings.append(Finding("short_chunk", "warning", f"{length} characters: {row.text.strip()!r}", at))
    if not isinstance(row.metadata.get("file_name"), str) or not row.metadata["file_name"]:
        findings.append(Finding("no_file_name", "error", "the chunk does not say which file it is from", at))
    year = row.metadata.get("year")
    if year is not None and (isinstance(year, bool) or not isinstance(year, int)):
        findings.append(Finding("invalid_year", "error", f"the year {year!r} is not a whole number", at))
    findings += [
        Finding("invalid_type", "error", f"{key!r} holds {type(value).__name__}", at)
        for key, value in row.metadata.items()
        if not _is_storable(value)
    ]
    return findings


def _is_storable(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool)) or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _missing_keys(rows: Sequence[StoredRow]) -> list[Finding]:
    """Return one finding per key that chunks lack: the same gap in every chunk of a file is one thing to mend."""
    findings = []
    for key in REQUIRED_KEYS[1:]:
        lacking = sum(key not in row.metadata for row in rows)
        if lacking:
            message = f"no {key}" if lacking == len(rows) else f"no {key} in {lacking} of {len(rows)} chunks"
            # Many documents have no DOI; a title and a year most should have.
            findings.append(Finding(f"missing_{key}", "info" if key == "doi" else "warning", message))
    return findings


def _lint_report(report: Mapping[str, Any]) -> list[Finding]:
    findings = []
    longest, limit = report.get("longest_chunk_tokens"), report.get("max_tokens")
    if isinstance(longest, int) and isinstance(limit, int) and longest > limit:
        message = f"the longest chunk has {longest} tokens, the limit is {limit}; its end is not embedded"
        findings.append(Finding("over_token_limit", "error", message))
    lost = report.get("lost_text_ratio")
    if isinstance(lost, (int, float)) and lost > LOST_TEXT_WARNING:
        findings.append(Finding("lost_text", "warning", f"{lost:.1%} of the words of the source are in no chunk"))
    missing = report.get("missing_pages") or ()
    if missing:
        pages = ", ".join(map(str, list(missing)[:MAX_LISTED]))
        findings.append(Finding("missing_pages", "warning", f"pages that could not be read: {pages}"))
    return findings


def lint_curated(problems: Iterable[object]) -> list[Finding]:
    """Return what is wrong with the curated map files, as findings.

    Args:
        problems: of a :class:`~stackroom.metadata_map.CuratedMap`; each says in words where, what and what to do.
    """
    return [Finding("curated_map", "error", str(problem)) for problem in problems]


def lint_corpus(entries: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Return what only shows across sources: one DOI in two of them, or one paper in two files.

    Args:
        entries: source id to its merged map entry.
    """
    fields = {source: dict(entry.get(DEFAULT) or {}) for source, entry in sorted(entries.items())}
    by_doi = _groups(fields, _doi_of)
    findings = [_shared_doi(doi, sources, fields) for doi, sources in by_doi.items()]
    seen = {tuple(sources) for sources in by_doi.values()}
    for sources in _groups(fields, _paper_key).values():
        dois = {doi for source in sources if (doi := _doi_of(fields[source]))}
        if tuple(sources) not in seen and len(dois) <= 1:
            title = fields[sources[0]].get("title")
            findings.append(_across("same_paper", "info", f"the same paper in several files: {title!r}", sources))
    for source, values in fields.items():
        findings += [Finding("lookup", "warning", str(text), None, source) for text in values.get("_problems") or ()]
    return findings


def _doi_of(values: Mapping[str, Any]) -> str:
    return doi_key(str(values.get("doi") or ""))


def _shared_doi(doi: str, sources: Sequence[str], fields: Mapping[str, Mapping[str, Any]]) -> Finding:
    titles = [str(fields[source].get("title", "")) for source in sources]
    if all(similarity(titles[0], title) >= SAME_TITLE for title in titles[1:]):
        return _across("same_paper", "info", f"DOI {doi}: the same paper in several files", sources)
    message = f"DOI {doi}: different titles under one DOI; one of them is wrong"
    return _across("duplicate_doi", "warning", message, sources)


def _across(rule: str, severity: Any, message: str, sources: Sequence[str]) -> Finding:
    listed = ", ".join(sources[:MAX_LISTED])
    return Finding(rule, severity, f"{message}: {listed}", source_id=sources[0])


def _groups(fields: Mapping[str, Mapping[str, Any]], key: Any) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for source, values in fields.items():
        groups.setdefault(key(values), []).append(source)
    groups.pop("", None)
    return {value: sources for value, sources in groups.items() if len(sources) > 1}


def _paper_key(values: Mapping[str, Any]) -> str:
    """Return what two files of one paper share: the title and the first author's surname; empty when unknown."""
    title, authors = squash(str(values.get("title") or "")), values.get("authors") or ()
    if len(title) < 20 or not authors:
        return ""
    return f"{title}/{squash(surname(str(authors[0])))}"


@dataclass
class StoreReport:
    """Figures and findings of a whole store, as the reference gives them."""

    total: int = 0
    files: int = 0
    chunks_per_file: dict[str, float] = field(default_factory=dict)
    total_chars: int = 0
    empty: list[tuple[str, int]] = field(default_factory=list)
    """(file name or "?", length) of texts shorter than 20 characters after trimming, or no texts at all."""
    missing_metadata: dict[str, list[str]] = field(default_factory=dict)
    no_file_name: int = 0
    invalid_content: int = 0
    invalid_year: int = 0


def lint_store(docs: Iterable[Doc]) -> StoreReport:
    """Return figures and findings of a store's documents.

    Args:
        docs: objects with ``page_content`` and ``metadata``.
    """
    report = StoreReport()
    per_file: dict[str, int] = {}
    for doc in docs:
        report.total += 1
        name = doc.metadata.get("file_name")
        label = name if isinstance(name, str) and name else "?"
        if label == "?":
            report.no_file_name += 1
        else:
            per_file[label] = per_file.get(label, 0) + 1
        _count_content(report, label, doc.page_content)
        missing = [key for key in REQUIRED_KEYS if key not in doc.metadata]
        if missing:
            report.missing_metadata.setdefault(label, []).extend(missing)
        year = doc.metadata.get("year", 0)
        report.invalid_year += isinstance(year, bool) or not isinstance(year, int)
    report.files = len(per_file)
    if per_file:
        counts = per_file.values()
        average = round(sum(counts) / len(counts), 2)
        report.chunks_per_file = {"min": min(counts), "max": max(counts), "avg": average}
    return report


def _count_content(report: StoreReport, label: str, content: Any) -> None:
    if not isinstance(content, str):
        report.invalid_content += 1
        report.empty.append((label, 0))
        return
    report.total_chars += len(content)
    if len(content.strip()) < MIN_CHUNK_CHARACTERS:
        report.empty.append((label, len(content)))


def select_sample_windows(docs: Sequence[_Document], anchors: int, per_anchor: int = 3) -> list[list[_Document]]:
    """Return windows of neighbouring documents, spread evenly: at 25, 50 and 75 % for three anchors.

    Args:
        docs: documents or rows in order.
        anchors: number of windows; none for zero or less.
        per_anchor: documents in a window; the last window may hold fewer.
    """
    if anchors <= 0 or not docs:
        return []
    if len(docs) <= per_anchor:
        return [list(docs)]
    starts = [round(len(docs) * number / (anchors + 1)) for number in range(1, anchors + 1)]
    return [list(docs[start : start + per_anchor]) for start in starts]


def format_chunk_sample(doc: Doc, width: int = 200) -> str:
    """Return a document on two lines: the beginning of its text, then where it is from.

    Args:
        doc: the document.
        width: characters of text shown.
    """
    text = doc.page_content if isinstance(doc.page_content, str) else repr(doc.page_content)
    shown = f"{text[:width]}..." if len(text) > width else text
    values = [str(doc.metadata.get(key, "?")) for key in REQUIRED_KEYS]
    headings = doc.metadata.get("headings") or ()
    if headings:
        values.append(" > ".join(map(str, headings)))
    return f"{' '.join(shown.split())}\n    [{' | '.join(values)}]"


def format_store_lint_report(report: StoreReport, samples: Sequence[Sequence[Doc]] = ()) -> str:
    """Return the report of a store in words, with sample windows.

    Args:
        report: figures and findings.
        samples: windows of documents, as :func:`select_sample_windows` gives them.
    """
    figures = ""
    if report.chunks_per_file:
        figures = "; chunks per file: {min:g} to {max:g}, {avg:g} on average".format(**report.chunks_per_file)
    lines = [
        ", ".join(
            (
                count(report.total, "chunk"),
                count(report.files, "file"),
                count(report.total_chars, "character") + figures,
            )
        )
    ]
    clean = len(lines)
    if report.empty:
        lines += ["", f"Short chunks ({len(report.empty)}):"]
        lines += [f"  - {name}: {length} characters" for name, length in report.empty[:MAX_LISTED]]
    if report.missing_metadata:
        lines += ["", f"Missing metadata ({count(len(report.missing_metadata), 'file')}):"]
        for name, keys in sorted(report.missing_metadata.items())[:MAX_LISTED]:
            lines.append(f"  - {name}: {', '.join(sorted(set(keys)))}")
    counts = (
        (report.no_file_name, "without a file name"),
        (report.invalid_content, "whose content is not text"),
        (report.invalid_year, "whose year is not a whole number"),
    )
    lines += [f"{count(number, 'chunk')} {what}" for number, what in counts if number]
    found = len(lines) > clean
    for place, window in enumerate(samples, 1):
        lines += ["", f"Sample {place} of {len(samples)}:"]
        lines += [f"  [{place}.{index}] {format_chunk_sample(doc)}" for index, doc in enumerate(window, 1)]
    if not found:
        lines += ["", "No issues found."]
    return "\n".join(lines)
