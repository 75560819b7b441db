"""``stackroom lint``: what the checks found in the stored chunks and metadata, worst first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from stackroom.cli.output import (
    EXIT_FILES_FAILED,
    EXIT_FINE,
    console,
    name_column,
    print_json,
    print_not_ingested,
    safe,
)
from stackroom.cli.project import Options
from stackroom.config import Config
from stackroom.words import count

SEVERITIES = {"error": "red", "warning": "yellow", "info": "dim"}
"""Severities, worst first, with their colours."""
PLURALS = {"error": "errors", "warning": "warnings", "info": "info"}
"""What several findings of a severity are called."""

MOST_ROWS = 60
"""Findings of a corpus that are shown; `--all` and `--json` give all."""


@dataclass(frozen=True)
class CorpusLint:
    """The findings about one corpus."""

    corpus: str
    sources: int = 0
    """Files that have been linted."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    """The documented JSON form, worst first."""
    samples: list[dict[str, Any]] = field(default_factory=list)
    """Windows of neighbouring chunks, to look at: corpus, source id, and the chunks' ids and texts."""
    known: int = 0
    """Files on record; none before the first ingestion."""

    def count(self, severity: str) -> int:
        """Return how many findings there are of a severity."""
        return sum(finding["severity"] == severity for finding in self.findings)


def lint(
    context: typer.Context,
    corpus: Annotated[
        list[str] | None, typer.Option("--corpus", "-c", help="Corpus to show; may be repeated (default: all).")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every finding.")] = False,
    samples: Annotated[bool, typer.Option("--samples", help="Show sample chunks of every file, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Show what the checks of the last ingestion found: lost text, missing titles, gibberish, duplicates."""
    options: Options = context.obj
    config = options.load()
    results = [read_lint(config, name) for name in corpus or sorted(config.corpora)]
    if as_json:
        print_json(
            {
                "sources": sum(result.sources for result in results),
                "errors": sum(result.count("error") for result in results),
                "warnings": sum(result.count("warning") for result in results),
                "findings": [finding for result in results for finding in result.findings],
                "not_ingested": [result.corpus for result in results if not result.known],
                **({"samples": [sample for result in results for sample in result.samples]} if samples else {}),
            }
        )
    else:
        print_lint(results, console(), every=every, samples=samples)
    return EXIT_FILES_FAILED if any(result.count("error") for result in results) else EXIT_FINE


def read_lint(config: Config, corpus: str) -> CorpusLint:
    """Return the findings that the last ingestion recorded about a corpus.

    Raises:
        ConfigError: there is no such corpus.
    """
    from stackroom.artefacts import read_json
    from stackroom.ledger import Ledger
    from stackroom.stages.corpus_lint import CORPUS_LINT_SCHEMA
    from stackroom.stages.lint_report import SCHEMA, STAGE
    from stackroom.state import StateFolder

    config.corpus(corpus)
    state = StateFolder(config.state_folder)
    if not state.ledger.exists():
        return CorpusLint(corpus)
    artefacts = state.artefacts(corpus)
    linted, findings, samples = 0, [], []
    known = Ledger(state.ledger).sources(corpus)
    for source in (row.source_id for row in known if row.present):
        report = read_json(artefacts.path(STAGE, source, "json"), SCHEMA)
        if report is None:
            continue
        linted += 1
        findings += [_finding(corpus, source, entry) for entry in report.data["findings"]]
        samples += [{"corpus": corpus, "source_id": source, "chunks": window} for window in report.data["windows"]]
    whole = read_json(artefacts.root / "corpus_lint_report.json", CORPUS_LINT_SCHEMA)
    if whole is not None:
        findings += [_finding(corpus, _owner(entry), entry) for entry in whole.data["across"]]
    order = list(SEVERITIES)
    findings.sort(key=lambda one: (order.index(one["severity"]), one["source_id"] or "", one["chunk_index"] or 0))
    return CorpusLint(corpus, linted, findings, samples, len(known))


def _owner(entry: dict[str, Any]) -> str | None:
    """Return the file that a finding of the whole corpus is about; None where it is about several."""
    source: str | None = entry.get("source_id") if entry["rule"] == "lookup" else None
    return source


def _finding(corpus: str, source: str | None, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "corpus": corpus,
        "source_id": source,
        "severity": entry["severity"],
        "rule": entry["rule"],
        "message": entry["message"],
        "chunk_index": entry.get("chunk_index"),
    }


def print_lint(results: Sequence[CorpusLint], screen: Console, *, every: bool, samples: bool) -> None:
    """Print the findings for a person."""
    for result in results:
        if not result.known:
            print_not_ingested(result.corpus, screen)
            continue
        counts = ", ".join(
            f"[{colour}]{count(result.count(name), name, PLURALS[name])}[/]" for name, colour in SEVERITIES.items()
        )
        screen.print(f"[bold]{result.corpus}[/]: {count(result.sources, 'file')} linted; {counts}")
        marked = [finding for finding in result.findings if every or finding["severity"] != "info"]
        shown = marked if every else marked[:MOST_ROWS]
        if shown:
            screen.print(_table(shown))
        if len(shown) < len(marked):
            screen.print(f"  … and {len(marked) - len(shown)} more; --all lists them")
        remarks = Counter(finding["rule"] for finding in result.findings if finding["severity"] == "info")
        if remarks and not every:
            said = ", ".join(f"{rule} ({number})" for rule, number in remarks.most_common())
            screen.print(f"  [dim]info: {safe(said)}; --all lists them[/]", soft_wrap=True)
        if samples:
            _print_samples(result.samples, screen)


def _table(findings: Sequence[dict[str, Any]]) -> Table:
    table = Table(show_edge=False, box=None, padding=(0, 2, 0, 2))
    table.add_column("severity", no_wrap=True)
    table.add_column("file", overflow="fold", min_width=name_column(str(one["source_id"]) for one in findings))
    table.add_column("rule", no_wrap=True)
    table.add_column("finding", overflow="fold")
    for finding in findings:
        place = "" if finding["chunk_index"] is None else f"#{finding['chunk_index']}"
        table.add_row(
            f"[{SEVERITIES[finding['severity']]}]{finding['severity']}[/]",
            safe(f"{finding['source_id'] or '(whole corpus)'}{place}"),
            safe(finding["rule"]),
            safe(finding["message"]),
        )
    return table


def _print_samples(samples: Sequence[dict[str, Any]], screen: Console) -> None:
    for window in samples:
        screen.print(f"\n  [bold]{safe(window['source_id'])}[/]", soft_wrap=True)
        for chunk in window["chunks"]:
            screen.print(
                f"    [dim]{safe(str(chunk['id']))}[/] {safe(' '.join(chunk['text'].split()))}", soft_wrap=True
            )
