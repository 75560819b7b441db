"""``stackroom status``: what has become of every file."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from stackroom.cli.outdated import outdated_in_words, outdated_sources
from stackroom.cli.output import (
    EXIT_FILES_FAILED,
    EXIT_FINE,
    console,
    name_column,
    print_json,
    print_warning,
    program,
    safe,
)
from stackroom.cli.project import Options
from stackroom.cli.record_status import RecordSetLine, print_record_sets, record_set_line
from stackroom.cli.store_status import StoreLine, building_line, print_stores, store_line
from stackroom.config import Config
from stackroom.errors import ConfigError, EmbeddingError, SourceError
from stackroom.identity import display_name
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.ledger import SourceState
    from stackroom.sources import Scan, SourceFile

STATES = ("searchable", "partial", "quarantined", "pending")
COLOURS = {"searchable": "green", "partial": "yellow", "quarantined": "red", "pending": "cyan"}
MOST_ROWS = 40
"""Files of a corpus up to which all are shown; above, only those that are not searchable, unless ``--all``."""

CLOCK_SLACK_SECONDS = 2.0
"""A file changed less than this before it was processed may have changed afterwards: file systems round time stamps."""


@dataclass(frozen=True)
class SourceLine:
    """One file as ``status`` shows it; the fields are those of ``--json``."""

    corpus: str
    source_id: str
    state: str
    reason: str | None = None
    message: str | None = None
    remedy: str | None = None
    chunks: int | None = None
    pages: int | None = None
    missing_pages: tuple[int, ...] = ()
    content_hash: str | None = None
    present: bool = True
    """False if the file has gone from the folder and the next ingestion will remove it from the stores."""
    updated_at: str | None = None
    """When it was last processed, ISO 8601 in UTC."""
    outdated: bool = False
    """True if settings, curated metadata or content have changed since, so that the next ingestion takes it again."""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""
        return {**vars(self), "name": display_name(self.source_id), "missing_pages": list(self.missing_pages)}


@dataclass
class Status:
    """All that is shown."""

    sources: list[SourceLine] = field(default_factory=list)
    stores: list[StoreLine] = field(default_factory=list)
    record_sets: list[RecordSetLine] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Which folders cannot be read, and what to do."""
    warnings: list[str] = field(default_factory=list)
    """What else could not be looked at."""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""
        return {
            "sources": [line.to_json() for line in self.sources],
            "stores": [vars(store) for store in self.stores],
            "record_sets": [line.to_json() for line in self.record_sets],
            "warnings": [*self.missing, *dict.fromkeys(self.warnings)],
        }


def status(
    context: typer.Context,
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", "-c", help="Corpus or record set to show; may be repeated (default: all of both)."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every file, also of large and of new corpora.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Show for every file whether it can be searched, and if not, why and what to do."""
    options: Options = context.obj
    config = options.load()
    wanted = corpus or [*sorted(config.corpora), *sorted(config.records)]
    sets = [name for name in wanted if name in config.records and name not in config.corpora]
    names = [name for name in wanted if name not in sets]
    found = Status()
    for name in names:
        look_at_corpus(config, name, found)
    found.record_sets += [record_set_line(config, name) for name in sets]
    found.missing += [line.problem for line in found.record_sets if line.problem is not None]
    for warning in found.to_json()["warnings"]:
        print_warning(warning)
    if as_json:
        print_json(found.to_json())
    else:
        if found.sources or not found.record_sets:
            print_status(found.sources, console(), every=every, settings=config.file_in_words)
        print_stores(found.stores, console())
        print_record_sets(found.record_sets, console())
    failed = any(line.state == "quarantined" for line in found.sources) or any(x.failed for x in found.record_sets)
    vanished = [name for name in names if print_vanished(name, found.sources)]
    return EXIT_FILES_FAILED if failed or vanished or found.missing else EXIT_FINE


def look_at_corpus(config: Config, corpus: str, found: Status) -> None:
    """Add what there is to show of a corpus.

    Raises:
        ConfigError: there is no such corpus.
    """
    scan = None
    try:
        scan = scan_corpus(config, corpus)
    except SourceError as error:
        found.missing.append(f"{corpus}: {error}")
    lines = source_lines(config, corpus, scan)
    outdated: frozenset[str] = frozenset()
    new = None
    try:
        # Without its folder neither the curated map nor the files are known.
        outdated = outdated_sources(config, corpus, scan) if scan is not None else outdated
        new = building_line(config, corpus)
    except (ConfigError, EmbeddingError) as error:
        found.warnings.append(f"{corpus}: {error}")
    found.sources += [replace(line, outdated=line.present and line.source_id in outdated) for line in lines]
    found.stores.append(store_line(config, corpus, new))


def scan_corpus(config: Config, corpus: str) -> "Scan":
    """Look into the folder of a corpus.

    Raises:
        ConfigError: there is no such corpus.
        SourceError: its folder cannot be read.
    """
    from stackroom.sources import scan_folder

    settings = config.corpus(corpus)
    return scan_folder(settings.folder, settings.include, settings.exclude, skip_folders=(config.state_folder,))


def source_lines(config: Config, corpus: str, scan: "Scan | None") -> list[SourceLine]:
    """Return a line for every file of a corpus: those on record, and those in the folder that are not yet.

    Args:
        config: the project's settings.
        corpus: name of the corpus.
        scan: what is in its folder; None if that cannot be read.
    """
    from stackroom.ledger import Ledger
    from stackroom.state import StateFolder

    ledger_path = StateFolder(config.state_folder).ledger
    # Opening a ledger creates it; asking for the status of a fresh project should leave no trace.
    known = {row.source_id: row for row in Ledger(ledger_path).sources(corpus)} if ledger_path.exists() else {}
    if scan is None:
        return [_recorded(row) for row in known.values()]
    files = {file.source_id: file for file in scan.files}
    lines = [_current(row, files.get(source)) for source, row in known.items()]
    lines += [SourceLine(corpus, source, "pending") for source in files if source not in known]
    return sorted(lines, key=lambda line: line.source_id)


def _recorded(row: "SourceState", *, present: bool | None = None) -> SourceLine:
    return SourceLine(
        corpus=row.corpus,
        source_id=row.source_id,
        state=row.state,
        reason=row.reason,
        message=row.message,
        remedy=row.remedy,
        chunks=row.chunks,
        pages=row.pages,
        missing_pages=row.missing_pages,
        content_hash=row.content_hash,
        present=row.present if present is None else present,
        updated_at=None if row.updated_at is None else _iso(row.updated_at),
    )


def _current(row: "SourceState", file: "SourceFile | None") -> SourceLine:
    """Return the recorded line, or a pending one if the file has changed since it was processed."""
    from stackroom.sources import content_hash

    if file is None or row.updated_at is None:
        return _recorded(row, present=file is not None)
    # Reading every file to see whether it changed would take minutes; only those touched since are read.
    touched = file.mtime_ns / 1e9 > row.updated_at - CLOCK_SLACK_SECONDS
    if touched and content_hash(file.path) != row.content_hash:
        return SourceLine(row.corpus, row.source_id, "pending", message="changed since it was last processed")
    return _recorded(row, present=True)


def _iso(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")


def print_status(lines: Sequence[SourceLine], screen: Console, *, every: bool, settings: str) -> None:
    """Print a table of files for every corpus; ``settings`` is how the settings file is called."""
    if not lines:
        screen.print(
            f"There are no files yet. Put documents into the folders that {safe(settings)} names, or run",
            soft_wrap=True,
        )
        screen.print(f"  {program()} ingest --source /path/to/your/folder", soft_wrap=True)
        return
    by_corpus: dict[str, list[SourceLine]] = {}
    for line in lines:
        by_corpus.setdefault(line.corpus, []).append(line)
    begun = {corpus for corpus, of in by_corpus.items() if every or any(line.updated_at for line in of)}
    for corpus in sorted(begun):
        _print_corpus(corpus, by_corpus[corpus], screen, every=every)
    if any(line.corpus in begun and (line.state == "pending" or not line.present) for line in lines):
        screen.print(f"\nRun `{program()} ingest` to bring the stores up to date.")
    for corpus in sorted(by_corpus.keys() - begun):
        files = count(len(by_corpus[corpus]), "file")
        screen.print(f"[bold]{corpus}[/]: {files}, not ingested yet; run `{program()} ingest {corpus}`")
    for corpus in sorted(by_corpus):
        outdated = sorted(line.source_id for line in by_corpus[corpus] if line.outdated)
        if outdated:
            screen.print(f"\n{safe(f'{corpus}: {outdated_in_words(corpus, outdated)}')}", soft_wrap=True)


def print_vanished(corpus: str, lines: Sequence[SourceLine]) -> bool:
    """Warn if so much of a corpus is gone that ingestion removes nothing; returns whether it is."""
    from stackroom.plan import refusal

    known = [line for line in lines if line.corpus == corpus and line.content_hash is not None]
    why = refusal(sum(not line.present for line in known), len(known))
    if why is not None:
        print_warning(f"{corpus}: nothing is removed: {why} (`{program()} ingest {corpus} --confirm-deletions`)")
    return why is not None


def _print_corpus(corpus: str, lines: Sequence[SourceLine], screen: Console, *, every: bool) -> None:
    counts = Counter(line.state for line in lines)
    summary = ", ".join(f"[{COLOURS[state]}]{counts[state]} {state}[/]" for state in STATES if counts[state])
    screen.print(f"[bold]{corpus}[/]: {count(len(lines), 'file')}, {summary}")
    shown = [line for line in lines if every or len(lines) <= MOST_ROWS or line.state != "searchable"]
    if not shown:
        return
    table = Table(show_edge=False, box=None, padding=(0, 2, 0, 2))
    table.add_column("file", overflow="fold", min_width=name_column(line.source_id for line in shown))
    table.add_column("state", no_wrap=True)
    table.add_column("pages", justify="right")
    table.add_column("chunks", justify="right")
    table.add_column("reason and remedy", overflow="fold")
    for line in shown:
        table.add_row(
            safe(line.source_id),
            f"[{COLOURS[line.state]}]{line.state}[/]",
            str(line.pages or ""),
            "" if line.chunks is None else str(line.chunks),
            _explanation(line),
        )
    screen.print(table)


def _explanation(line: SourceLine) -> str:
    parts = [f"[bold]{safe(line.reason)}[/]"] if line.reason else []
    parts += [safe(line.message)] if line.message else []
    parts += [f"[dim]→ {safe(line.remedy)}[/]"] if line.remedy else []
    if not line.present:
        parts.append("gone from the folder; the next ingestion removes it (with --confirm-deletions if most are gone)")
    return "; ".join(parts)
