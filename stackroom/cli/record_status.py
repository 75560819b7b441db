"""What ``stackroom status`` shows of record sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from stackroom.cli.output import program, safe
from stackroom.config import Config
from stackroom.words import count

STATES = {"searchable": "green", "quarantined": "red", "pending": "cyan"}


@dataclass(frozen=True)
class RecordSetLine:
    """A record set as ``status`` shows it; the fields are those of ``--json``."""

    record_set: str
    files: Mapping[str, int] = field(default_factory=dict)
    """Number of files by state; a file that is not on record yet is pending."""
    records: int = 0
    refused: int = 0
    """Lines that are no records; `stackroom records lint` lists them."""
    collections: Mapping[str, int] = field(default_factory=dict)
    """Records by collection."""
    failed: tuple[Mapping[str, Any], ...] = ()
    """Files that are not searchable, with reason and remedy."""
    problem: str | None = None
    """Why its folder cannot be read."""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""
        return {**vars(self), "failed": list(self.failed)}


def record_set_line(config: Config, record_set: str) -> RecordSetLine:
    """Return how a record set stands.

    Raises:
        ConfigError: its settings collide with those of another one.
    """
    from stackroom.errors import SourceError
    from stackroom.records.bench import RecordBench, RecordBenchSettings
    from stackroom.records.doctor import overview
    from stackroom.records.ingest import failed_files

    with RecordBench(RecordBenchSettings.of(config, record_set)) as bench:
        here: set[str] = set()
        problem = None
        try:
            here = {file.source_id for file in bench.scan.files}
        except SourceError as error:
            problem = f"{record_set}: {error}"
        if not bench.settings.state.ledger.exists():  # opening a ledger creates it
            return RecordSetLine(record_set, {"pending": len(here)} if here else {}, problem=problem)
        states = bench.ledger.sources(bench.name)
        found = overview(bench)
        new = len(here - {state.source_id for state in states})
        files = {**found.files, "pending": found.files.get("pending", 0) + new}
        failed = tuple(failed_files(states))
    return RecordSetLine(
        record_set,
        {state: number for state, number in files.items() if number},
        found.records,
        found.refused,
        found.collections,
        failed,
        problem,
    )


def print_record_sets(lines: Sequence[RecordSetLine], screen: Console) -> None:
    """Print a few lines for every record set."""
    for line in lines:
        parts = [count(sum(line.files.values()), "file")]
        parts += [
            f"[{colour}]{line.files[state]} {state}[/]" for state, colour in STATES.items() if state in line.files
        ]
        held = f"{count(line.records, 'record')}, {count(line.refused, 'line')} refused"
        screen.print(f"[bold]{line.record_set}[/] (records): {', '.join(parts)}; {held}", soft_wrap=True)
        for collection, records in line.collections.items():
            screen.print(f"  {collection}: {count(records, 'record')}", markup=False, soft_wrap=True)
        for file in line.failed:
            screen.print(
                f"  [red]{safe(file['reason'])}[/] {safe(file['source_id'])}: {safe(file['message'] or '')} "
                f"[dim]→ {safe(file['remedy'] or '')}[/]",
                soft_wrap=True,
            )
        if line.refused:
            screen.print(f"  `{program()} records lint {line.record_set}` lists the refused lines", soft_wrap=True)
