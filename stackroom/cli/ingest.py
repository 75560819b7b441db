"""``stackroom ingest``: bring corpora up to date, through the same Dagster instance the UI shows."""

import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, assert_never

import typer
from rich.console import Console
from rich.table import Table

from stackroom.cli.child import Child, Command
from stackroom.cli.events import DoneEvent, ErrorEvent, Event, FileEvent, NoteEvent, PlanEvent
from stackroom.cli.output import (
    EXIT_CANNOT_RUN,
    EXIT_FILES_FAILED,
    EXIT_FINE,
    console,
    name_column,
    print_error,
    print_warning,
    program,
    safe,
)
from stackroom.cli.progress import Display, display
from stackroom.cli.project import Options, check_code_location, check_writable, process_environment
from stackroom.config import Config
from stackroom.errors import ConfigError
from stackroom.outcome import REMEDIES, ReasonCode
from stackroom.remembered import add_corpus, forget_corpus
from stackroom.words import count

KINDS = "PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, web pages, Markdown, text, CSV, e-mail and pictures"
"""What a folder without documents was searched for, in words."""

MOST_FAILURES_SHOWN = 40
"""Rows of the table of failed files; `stackroom status` lists all of them."""


@dataclasses.dataclass
class CorpusResult:
    """What the ingestion of one corpus came to."""

    corpus: str
    dry_run: bool = False
    looked_for: str = ""
    """Where documents were looked for, and which."""
    done: DoneEvent | None = None
    error: str | None = None
    refused: str | None = None
    """Why files that have gone were not removed."""
    planned: bool = False
    """The folder could be looked at."""

    @property
    def exit_code(self) -> int:
        """Exit code this result alone would give."""
        if self.done is None:
            return EXIT_CANNOT_RUN
        if self.dry_run:
            return EXIT_FINE
        if self.refused is not None or self.done.failed or self.done.quarantined or self.done.pending:
            return EXIT_FILES_FAILED
        return EXIT_FINE if self.done.ok else EXIT_CANNOT_RUN


def ingest(
    context: typer.Context,
    corpus: Annotated[str | None, typer.Argument(help="Corpus to ingest (default: every corpus).")] = None,
    source: Annotated[
        Path | None,
        typer.Option(help="A folder to ingest; it becomes a corpus named after it and is remembered."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Process every file again, also unchanged ones.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Also try quarantined files that have not changed.")] = False,
    confirm_deletions: Annotated[
        bool,
        typer.Option("--confirm-deletions", help="Accept that more than half of a corpus has been deleted."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> int:
    """Bring corpora up to date with their folders: convert, embed and index what is new or has changed."""
    options: Options = context.obj
    config = options.load()
    check_code_location(config)
    check_writable(config)
    known = set(config.corpora)
    if source is not None:
        if corpus is not None:
            raise ConfigError("give either the name of a corpus or --source, not both")
        corpus = add_corpus(config, source)
        config = options.load()
        for note in overlaps(config, corpus):
            print_warning(note)
    names = [corpus] if corpus is not None else sorted(config.corpora)
    for name in names:
        config.corpus(name)  # an unknown name is refused before anything runs
    if not names:
        raise ConfigError(
            f"{config.file_in_words} names no corpus; add one under `corpora`, or give a folder with --source"
        )
    switches = [
        name
        for name, on in (
            ("--force", force),
            ("--retry", retry),
            ("--confirm-deletions", confirm_deletions),
            ("--dry-run", dry_run),
        )
        if on
    ]
    screen = console()
    results = [ingest_corpus(config, name, switches, screen) for name in names]
    failed = not results[0].planned and results[0].done is None
    if corpus is not None and corpus not in known and (dry_run or failed):
        forget_corpus(config.state_folder, corpus)  # nothing was done, so there is nothing to remember
    print_next_steps(config, results, screen)
    codes = {result.exit_code for result in results}
    return EXIT_CANNOT_RUN if EXIT_CANNOT_RUN in codes else max(codes)


def overlaps(config: Config, corpus: str) -> list[str]:
    """Return a sentence for every other corpus whose folder holds a corpus's folder, or lies in it."""
    folder = config.corpus(corpus).folder
    said = []
    for name, other in sorted(config.corpora.items()):
        if name == corpus or not (folder.is_relative_to(other.folder) or other.folder.is_relative_to(folder)):
            continue
        how = "lies inside" if folder.is_relative_to(other.folder) else "contains"
        said.append(f"{folder} {how} the folder of corpus {name}, {other.folder}; files of both are found twice")
    return said


def ingest_corpus(
    config: Config,
    name: str,
    switches: Sequence[str],
    screen: Console,
    arguments: Sequence[str] = (sys.executable, "-m", "assets.launch"),
    kind: Literal["corpus", "records"] = "corpus",
) -> CorpusResult:
    """Ingest one corpus or record set in a process of its own and show how it goes.

    Args:
        config: the project's settings.
        name: corpus, or record set.
        switches: options handed on to the process.
        screen: where progress and summary are shown.
        arguments: the program that ingests; it is called with ``ingest --corpus NAME`` and the switches.
        kind: what ``name`` names.
    """
    folder = config.corpus(name).folder if kind == "corpus" else config.records[name].folder
    screen.print(f"[bold]{name}[/] {safe(str(folder))}", soft_wrap=True)
    command = Command(
        arguments=[*arguments, "ingest", f"--{kind}", name, *switches],
        folder=config.project_folder,
        environment=process_environment(config),
        log=config.state_folder / "logs" / f"ingest-{kind}-{name}-{time.strftime('%Y%m%d-%H%M%S')}.log",
    )
    result = CorpusResult(name, dry_run="--dry-run" in switches, looked_for=looked_for(config, name, kind))
    # The process is started before the display, whose refreshing thread must not exist when it is forked.
    with Child(command) as child, display(screen, "chunk" if kind == "corpus" else "record") as shown:
        for event in child.events():
            _handle(event, result, shown)
    if result.error is not None:
        print_error(result.error)
    if result.refused is not None:
        print_warning(f"{name}: nothing was removed, and all of it can still be searched: {result.refused}")
    if result.done is not None and not result.dry_run:
        print_summary(result.done, screen, None if kind == "corpus" else name)
    return result


def _handle(event: Event, result: CorpusResult, shown: Display) -> None:
    match event:
        case PlanEvent():
            shown.plan(event)
            shown.note(plan_in_words(event) if event.found != 0 else nothing_found(event, result.looked_for))
            result.refused = event.refused
            result.planned = True
        case FileEvent():
            shown.file(event)
        case NoteEvent():
            shown.note(event.message)
        case DoneEvent():
            result.done = event
        case ErrorEvent():
            result.error = event.message
        case _:
            assert_never(event)


def plan_in_words(event: PlanEvent) -> str:
    """Return, for instance, ``3 files to do, 24 unchanged, 1 gone``."""
    parts = [f"{count(event.files, 'file')} to do" if event.files else "nothing to do", f"{event.unchanged} unchanged"]
    if event.held_back:
        parts.append(f"{event.held_back} quarantined and not tried again (`{program()} ingest --retry` does)")
    if event.delete:
        parts.append(f"{event.delete} gone")
    return ", ".join(parts)


def nothing_found(event: PlanEvent, where: str) -> str:
    """Return what is said of a folder without documents."""
    gone = f"; {event.delete} gone" if event.delete else ""
    return f"no documents found in {where}{gone}"


def looked_for(config: Config, name: str, kind: Literal["corpus", "records"]) -> str:
    """Return where documents of a corpus are looked for, and which, as in ``/docs (looked for PDF, …)``."""
    settings = config.corpus(name) if kind == "corpus" else config.records[name]
    kinds = [KINDS] if kind == "corpus" else []
    kinds += [] if settings.include == ("**/*",) else [f"names like {', '.join(settings.include)}"]
    kinds += [f"not {', '.join(settings.exclude)}"] if settings.exclude else []
    return f"{settings.folder} (looked for {'; '.join(kinds)})"


def print_summary(done: DoneEvent, screen: Console, record_set: str | None = None) -> None:
    """Print what has become of a corpus or record set, and a table of the files that failed."""
    parts = [f"[green]{done.searchable if record_set is None else count(done.searchable, 'file')} searchable[/]"]
    if done.partial:
        parts.append(f"[yellow]{done.partial} partial[/]")
    if done.quarantined:
        parts.append(f"[red]{done.quarantined} quarantined[/]")
    if done.pending:
        parts.append(f"[yellow]{done.pending} pending[/]")
    if done.chunks is not None:
        parts.append(count(done.chunks, "chunk" if record_set is None else "record"))
    if done.refused_lines:
        parts.append(f"[red]{count(done.refused_lines, 'line')} refused[/]")
    read = f"{done.converted} converted" if record_set is None else f"{count(done.converted, 'file')} read"
    screen.print(f"  {', '.join(parts)}; {read}, {count(done.embedded, 'text')} embedded; {done.seconds:.1f} s")
    if done.kept:
        them = "it is" if done.kept == 1 else "they are"
        screen.print(f"  {count(done.kept, 'file')} not found in the folder; {them} kept, and still searchable")
    if done.refused_lines and record_set is not None:
        screen.print(f"  `{program()} records lint {record_set}` lists the refused lines", soft_wrap=True)
    if done.failed:
        screen.print(failed_table(done.failed))
        if len(done.failed) > MOST_FAILURES_SHOWN:
            rest = len(done.failed) - MOST_FAILURES_SHOWN
            screen.print(f"  … and {rest} more; `{program()} status` lists all")


def failed_table(failed: Sequence[FileEvent]) -> Table:
    """Return a table of failed files with the reason and what to do about each."""
    shown = failed[:MOST_FAILURES_SHOWN]
    table = Table(show_edge=False, pad_edge=False, box=None, padding=(0, 2, 0, 2))
    table.add_column("failed file", overflow="fold", min_width=name_column(file.source_id for file in shown))
    table.add_column("reason", no_wrap=True)
    table.add_column("what is wrong", overflow="fold")
    table.add_column("what to do", overflow="fold")
    for file in shown:
        remedy = file.remedy or (REMEDIES[ReasonCode(file.reason)] if file.reason in set(ReasonCode) else "")
        table.add_row(
            safe(file.source_id), f"[red]{safe(file.reason or file.state)}[/]", safe(file.message or ""), safe(remedy)
        )
    return table


def print_next_steps(config: Config, results: Sequence[CorpusResult], screen: Console) -> None:
    """Print what the user can do now."""
    usable = [one for one in results if one.done and not one.dry_run and one.done.searchable + one.done.partial]
    if not usable:
        return
    command = program()
    project = config.project_folder
    sample = any(config.corpus(result.corpus).folder == project / "library" for result in usable)
    query = "how do I switch on the nightly schedule" if sample else "words you expect in a document"
    screen.print("\n[bold]Next[/]")
    screen.print(f'  {command} search "{query}"', soft_wrap=True)
    screen.print(f"  {command} status", soft_wrap=True)
    screen.print(f"  {command} ui     [dim]# every file and stage, in the browser[/]", soft_wrap=True)
    if sample:
        screen.print(f"  {command} ingest --source /path/to/your/folder", soft_wrap=True)
