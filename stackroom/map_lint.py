"""Checks of metadata entries and of whole maps; nothing is changed.

Every finding has a code that programs can rely on; the wording is for people and free to change.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from stackroom.biblio.doi_text import is_doi, is_placeholder, normalize_doi, without_url_tail
from stackroom.biblio.junk import is_junk_author, is_junk_title
from stackroom.metadata_map.curated import DEFAULT, value_problem
from stackroom.stores.metadata import DOCUMENT_KEYS, MACHINE_KEYS
from stackroom.words import are, count

FIRST_YEAR = 1800
YEARS_AHEAD = 2
"""A year up to next year + 1 is plausible: volumes are dated ahead."""
MAX_URL_KEYS = 5
_UNSURE = "found, but not with certainty; compare it with the document"
_DIGITS = re.compile(r"\d{4}")
_FALLBACK_TITLES = frozenset({"untitled", "untitled document", "no title", "unknown"})


class Issue(str):
    """One finding of an entry: its text, and its ``code``."""

    code: str

    def __new__(cls, code: str, message: str) -> "Issue":
        """Return a finding.

        Args:
            code: stable name, followed by ``:`` and details where there are some.
            message: for people.
        """
        issue = super().__new__(cls, message)
        issue.code = code
        return issue


def lint_file_metadata(file_name: str, entry: Mapping[str, Any]) -> list[Issue]:
    """Return what is wrong with the metadata of one source, in a fixed order.

    Args:
        file_name: source id or file name; title and year are compared with its stem.
        entry: heading chain (or ``DEFAULT``) to fields.
    """
    if DEFAULT not in entry and any(not isinstance(value, Mapping) for value in entry.values()):
        message = f'the entry is flat; put its fields into {{"{DEFAULT}": {{…}}}}'
        return [Issue("flat_format", message)]
    default = entry.get(DEFAULT)
    fields: Mapping[str, Any] = default if isinstance(default, Mapping) else {}
    stem = PurePosixPath(file_name).stem
    return [
        *_missing(fields),
        *_title(fields, stem),
        *_doi(fields),
        *_year(fields, stem),
        *_keys(fields),
        *_people(fields),
        *_types(entry),
        *(Issue("lookup", str(problem)) for problem in fields.get("_problems") or ()),
    ]


def _missing(fields: Mapping[str, Any]) -> list[Issue]:
    missing = [key for key in sorted(DOCUMENT_KEYS) if key not in fields]
    return [Issue(f"missing:{','.join(missing)}", f"no {', '.join(missing)}")] if missing else []


def _title(fields: Mapping[str, Any], stem: str) -> list[Issue]:
    title = fields.get("title")
    if not isinstance(title, str):
        return []
    folded = title.strip().casefold()
    if folded in _FALLBACK_TITLES:
        return [Issue("suspicious_title", f"the title {title!r} is a placeholder")]
    if folded == stem.casefold():
        return [Issue("title_is_filename_stem", "the title is the file's name; none was found in the document")]
    if is_junk_title(title):
        return [Issue("suspicious_title", f"the title {title!r} looks like a file name or a label")]
    return []


def _doi(fields: Mapping[str, Any]) -> list[Issue]:
    doi = fields.get("doi")
    if not isinstance(doi, str) or not doi:
        return []
    if is_placeholder(doi):
        return [Issue("suspicious_doi", f"the DOI {doi!r} is a template's")]
    if not is_doi(normalize_doi(doi)):
        return [Issue("suspicious_doi", f"{doi!r} is not a DOI")]
    shorter = without_url_tail(normalize_doi(doi))
    if shorter:
        message = f"the end of the DOI {doi!r} may belong to an address; perhaps it is {shorter[-1]!r}"
        return [Issue("suspicious_doi", message)]
    return []


def last_plausible_year() -> int:
    """Return the last year that a work can bear."""
    return dt.datetime.now(tz=dt.UTC).year + YEARS_AHEAD


def year_in_name(stem: str) -> int | None:
    """Return the year in a file's stem: four figures, read from the left without overlap, the first plausible ones."""
    years = (int(match.group()) for match in _DIGITS.finditer(stem))
    return next((year for year in years if FIRST_YEAR <= year <= last_plausible_year()), None)


def _year(fields: Mapping[str, Any], stem: str) -> list[Issue]:
    year = fields.get("year")
    if year is None:
        return []
    if isinstance(year, bool) or not isinstance(year, int):
        return [Issue("invalid_year", f"the year {year!r} is not a whole number")]
    if not FIRST_YEAR <= year <= last_plausible_year():
        return [Issue("implausible_year", f"the year {year} is not between {FIRST_YEAR} and {last_plausible_year()}")]
    named = year_in_name(stem)
    if named is not None and named != year:
        return [Issue(f"year_filename_mismatch:{year}!={named}", f"the year is {year}, the file's name says {named}")]
    return []


def _keys(fields: Mapping[str, Any]) -> list[Issue]:
    issues = []
    if "venue" in fields and "journal" not in fields:
        issues.append(Issue("stale_venue_key", "the key `venue` is now called `journal`"))
    urls = sum(key.startswith("url") for key in fields)
    if urls > MAX_URL_KEYS:
        issues.append(Issue("too_many_urls", f"{urls} address keys; addresses of references may have got in"))
    reserved = sorted(set(fields) & set(MACHINE_KEYS))
    if reserved:
        issues.append(Issue(f"reserved:{','.join(reserved)}", f"{', '.join(reserved)}: set by the machine, ignored"))
    return issues


def _people(fields: Mapping[str, Any]) -> list[Issue]:
    authors = fields.get("authors")
    names = authors if isinstance(authors, list) else []
    odd = [name for name in names if isinstance(name, str) and is_junk_author(name) and len(name) > 1]
    return [Issue("suspicious_author", f"not names of people: {', '.join(map(repr, odd[:5]))}")] if odd else []


def _types(entry: Mapping[str, Any]) -> list[Issue]:
    issues = []
    for chain, fields in entry.items():
        if not isinstance(fields, Mapping):
            issues.append(Issue("invalid_type", f"{chain}: not an object"))
            continue
        reasons = [value_problem(key, value) for key, value in fields.items() if key != "year"]
        issues += [Issue("invalid_type", f"{chain}: {reason}") for reason in reasons if reason]
    return issues


@dataclass(frozen=True)
class MapReport:
    """What is to be said of a whole map."""

    files: int
    complete: int
    issues: Mapping[str, Sequence[Issue]] = field(default_factory=dict)
    """Sources with findings only."""
    incomplete: tuple[str, ...] = ()
    """Sources whose entry is not complete, with findings or without."""
    placeholders: Mapping[str, int] = field(default_factory=dict)
    """Source to the number of heading chains still empty; only those that have any."""
    missing_keys: tuple[str, ...] = ()
    """Sources without an entry."""
    unknown_keys: tuple[str, ...] = ()
    """Keys that are no source."""


def lint_metadata_map(data: Mapping[str, Any], source_files: Iterable[str] | None = None) -> MapReport:
    """Check a whole map.

    Args:
        data: source id (or base name) to entry.
        source_files: ids of the sources there are; None skips the comparison with them.
    """
    entries = {key: entry for key, entry in data.items() if not key.startswith("$")}
    issues = {key: _lint_entry(key, entry) for key, entry in sorted(entries.items())}
    sources = None if source_files is None else sorted(source_files)
    names = Counter(_base(source) for source in sources or ())
    unique = {name for name, count in names.items() if count == 1}
    known = set(sources or ()) | unique
    covered = {source for source in sources or () if source in entries or _base(source) in unique & entries.keys()}
    return MapReport(
        files=len(entries),
        complete=sum(_is_complete(entry) for entry in entries.values()),
        issues={key: found for key, found in issues.items() if found},
        incomplete=tuple(sorted(key for key, entry in entries.items() if not _is_complete(entry))),
        placeholders={key: count for key, entry in sorted(entries.items()) if (count := _placeholders(entry))},
        missing_keys=tuple(source for source in sources or () if source not in covered),
        unknown_keys=() if sources is None else tuple(key for key in sorted(entries) if key not in known),
    )


def _base(source: str) -> str:
    return PurePosixPath(source).name


def _lint_entry(key: str, entry: Any) -> list[Issue]:
    if not isinstance(entry, Mapping):
        return [Issue("invalid_type", "the entry is not an object")]
    return lint_file_metadata(key, entry)


def _is_complete(entry: Any) -> bool:
    default = entry.get(DEFAULT) if isinstance(entry, Mapping) else None
    return isinstance(default, Mapping) and bool(default.get("_metadata_complete"))


def _placeholders(entry: Any) -> int:
    if not isinstance(entry, Mapping):
        return 0
    return sum(chain != DEFAULT and fields == {} for chain, fields in entry.items())


def format_metadata_lint_report(report: MapReport) -> str:
    """Return the report of a map in words."""
    incomplete = set(report.incomplete)
    remarked = [key for key in sorted(report.issues) if key not in incomplete]
    remarks = f" ({len(remarked)} of them with remarks)" if remarked else ""
    need = "needs" if len(incomplete) == 1 else "need"
    lines = [f"{count(report.files, 'file')}: {report.complete} complete{remarks}, {len(incomplete)} {need} review"]
    if report.missing_keys:
        missing = len(report.missing_keys)
        lines += ["", f"Source files without an entry ({missing}); storing fails until they have one:"]
        lines += [f"  - {key}" for key in report.missing_keys]
    if report.unknown_keys:
        lines += ["", f"Entries that belong to no source file ({len(report.unknown_keys)}):"]
        lines += [f"  - {key}" for key in report.unknown_keys]
    for heading, keys in (("Needs review:", report.incomplete), ("Complete, with remarks:", remarked)):
        lines += ["", heading] if keys else []
        for key in keys:
            findings: Sequence[str] = report.issues.get(key) or [_UNSURE]
            lines += [f"  {key}", *(f"    - {finding}" for finding in findings)]
    if report.placeholders:
        most = max(report.placeholders, key=lambda key: (report.placeholders[key], key))
        total = sum(report.placeholders.values())
        summary = f"{count(total, 'heading chain')} in {count(len(report.placeholders), 'file')} {are(total)} empty"
        lines += ["", f"{summary} (most in {most}: {report.placeholders[most]}); filling them is optional"]
    return "\n".join(lines)
