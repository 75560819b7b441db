"""``stackroom doctor``: do the stores hold what the artefacts say? With ``--repair``, make them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from stackroom.cli.output import (
    EXIT_FILES_FAILED,
    EXIT_FINE,
    console,
    name_column,
    only_json_on_stdout,
    print_json,
    print_not_ingested,
    program,
    safe,
)
from stackroom.cli.project import Options
from stackroom.config import Config
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.doctor import Problem

MOST_ROWS = 60
"""Problems of a corpus that are shown; `--json` gives all."""


@dataclass(frozen=True)
class Diagnosis:
    """What was found wrong with the stores of one corpus."""

    corpus: str
    sources: int
    """Sources that should be in the stores."""
    problems: "tuple[Problem, ...]" = ()
    left: "tuple[Problem, ...]" = ()
    """Problems that are still there: all of them, unless they were repaired."""
    missing: str | None = None
    """The command that ingests it, if nothing has been ingested yet."""


def doctor(
    context: typer.Context,
    corpus: Annotated[
        str | None, typer.Argument(help="Corpus or record set to examine (default: all of both).")
    ] = None,
    mend: Annotated[
        bool, typer.Option("--repair", help="Write damaged sources again from their artefacts; nothing is embedded.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare stores, manifest and keyword index with the artefacts, and mend them if asked."""
    options: Options = context.obj
    config = options.load()
    everything = [*sorted(config.corpora), *sorted(config.records)]
    with only_json_on_stdout():
        found = [
            diagnose_records(config, name, mend=mend)
            if name in config.records and name not in config.corpora
            else diagnose(config, name, mend=mend)
            for name in ([corpus] if corpus is not None else everything)
        ]
    if as_json:
        print_json(
            {
                "repaired": mend,
                "problems": [{"corpus": one.corpus, **problem.to_json()} for one in found for problem in one.problems],
                "left": [{"corpus": one.corpus, **problem.to_json()} for one in found for problem in one.left],
                "not_ingested": [one.corpus for one in found if one.missing is not None],
            }
        )
    else:
        print_diagnoses(found, console(), mended=mend)
    return EXIT_FILES_FAILED if any(one.left for one in found) else EXIT_FINE


def diagnose(config: Config, corpus: str, *, mend: bool = False) -> Diagnosis:
    """Examine a corpus, and repair it if asked. A corpus that was never ingested has no problems.

    Raises:
        ConfigError: there is no such corpus.
        StoreError: the vector store cannot be reached.
    """
    from stackroom.doctor import examine, repair
    from stackroom.stages.bench import Bench, BenchSettings

    settings = BenchSettings.of(config, corpus)
    if not settings.state.ledger.exists():  # opening a ledger creates it
        return Diagnosis(corpus, 0, missing="ingest")
    with Bench(settings) as bench:
        known = bench.ledger.sources(corpus)
        stored = sum(state.state in ("searchable", "partial") for state in known)
        if not known:
            return Diagnosis(corpus, 0, missing="ingest")
        problems = examine(bench)
        if not problems or not mend:
            return Diagnosis(corpus, stored, tuple(problems), tuple(problems))
        unmended = repair(bench, problems)
        named = {problem.source_id for problem in unmended}
        # What a repair claims is looked at again; of what it gave up on, its own reason is the better one.
        left = [*unmended, *(problem for problem in examine(bench) if problem.source_id not in named)]
    return Diagnosis(corpus, stored, tuple(problems), tuple(left))


def diagnose_records(config: Config, record_set: str, *, mend: bool = False) -> Diagnosis:
    """Examine a record set, and repair it if asked.

    Raises:
        ConfigError: its settings collide with those of another one.
        StoreError: a store cannot be reached.
    """
    from stackroom.records.bench import RecordBench, RecordBenchSettings
    from stackroom.records.doctor import examine_records, repair_records

    settings = RecordBenchSettings.of(config, record_set)
    if not settings.state.ledger.exists():
        return Diagnosis(record_set, 0, missing="records ingest")
    with RecordBench(settings) as bench:
        known = bench.ledger.sources(bench.name)
        if not known:
            return Diagnosis(record_set, 0, missing="records ingest")
        stored = sum(state.state == "searchable" for state in known)
        problems = examine_records(bench)
        if not problems or not mend:
            return Diagnosis(record_set, stored, tuple(problems), tuple(problems))
        unmended = repair_records(bench, problems)
        named = {problem.source_id for problem in unmended}
        left = [*unmended, *(problem for problem in examine_records(bench) if problem.source_id not in named)]
    return Diagnosis(record_set, stored, tuple(problems), tuple(left))


def print_diagnoses(found: Sequence[Diagnosis], screen: Console, *, mended: bool) -> None:
    """Print what was found for a person."""
    for one in found:
        if one.missing is not None:
            print_not_ingested(one.corpus, screen, one.missing)
            continue
        screen.print(f"[bold]{one.corpus}[/]: {count(one.sources, 'file')} in the stores, {_verdict(one, mended)}")
        if one.problems:
            screen.print(_table(one.problems[:MOST_ROWS], "dim" if mended else "red"))
        if len(one.problems) > MOST_ROWS:
            screen.print(f"  … and {len(one.problems) - MOST_ROWS} more; --json lists all")
        for problem in one.left if mended else ():
            screen.print(f"  [red]left:[/] {safe(problem.message)}", soft_wrap=True)
    left = [one.corpus for one in found if one.left]
    if left and not mended:
        screen.print(f"\nRun `{program()} doctor{_only(left)} --repair` to write what is damaged again.")
    elif left:
        screen.print(f"\nWhat is left needs its files processed again: `{program()} ingest{_only(left)} --force`.")


def _verdict(one: Diagnosis, mended: bool) -> str:
    if not one.problems:
        return "[green]no problems[/]"
    if not mended:
        return f"[red]{count(len(one.problems), 'problem')}[/]"
    rest = f"[red]{len(one.left)} left[/]" if one.left else "[green]all repaired[/]"
    return f"{count(len(one.problems), 'problem')}, {rest}"


def _only(corpora: Sequence[str]) -> str:
    return f" {corpora[0]}" if len(corpora) == 1 else ""


def _table(problems: "Sequence[Problem]", colour: str) -> Table:
    table = Table(show_edge=False, box=None, padding=(0, 2, 0, 2))
    table.add_column("check", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("file", overflow="fold", min_width=name_column(one.source_id or "" for one in problems))
    table.add_column("problem", overflow="fold")
    for problem in problems:
        table.add_row(
            problem.check, f"[{colour}]{problem.kind}[/]", safe(problem.source_id or "(whole corpus)"),
            safe(problem.message),
        )  # fmt: skip
    return table
