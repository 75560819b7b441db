"""``stackroom records``: ingest, search, lint and forget record sets (the ``records:`` of stackroom.yaml)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from stackroom.cli.forget import forget_records
from stackroom.cli.ingest import ingest_corpus
from stackroom.cli.lint import SEVERITIES
from stackroom.cli.output import (
    EXIT_CANNOT_RUN,
    EXIT_FILES_FAILED,
    EXIT_FINE,
    console,
    name_column,
    only_json_on_stdout,
    print_json,
    print_warning,
    program,
    safe,
)
from stackroom.cli.project import Options, check_code_location, check_writable
from stackroom.cli.search import parse_filter, ranks_in_words
from stackroom.config import Config
from stackroom.errors import ConfigError
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.records.search import RecordHit

app = typer.Typer(help="Ingest, search, lint and forget JSONL files of records.", no_args_is_help=True)

app.command("forget")(forget_records)

MOST_REFUSED_SHOWN = 40
"""Refused lines of a record set that are shown; `--all` and `--json` give all."""

SetOption = Annotated[
    str | None, typer.Option("--set", "-s", help="Record set (default: the only one there is, or all).")
]


@app.command()
def ingest(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Record set to ingest (default: every one).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Process every file again, also unchanged ones.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Also try quarantined files that have not changed.")] = False,
    confirm_deletions: Annotated[
        bool, typer.Option("--confirm-deletions", help="Accept that more than half of the files have been deleted.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> int:
    """Bring record collections up to date with their JSONL files."""
    options: Options = context.obj
    config = options.load()
    check_code_location(config)
    check_writable(config)
    chosen = {
        "--force": force,
        "--retry": retry,
        "--confirm-deletions": confirm_deletions,
        "--dry-run": dry_run,
    }
    switches = [switch for switch, on in chosen.items() if on]
    screen = console()
    results = [ingest_corpus(config, one, switches, screen, kind="records") for one in _names(config, name)]
    codes = {result.exit_code for result in results}
    return EXIT_CANNOT_RUN if EXIT_CANNOT_RUN in codes else max(codes)


@app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    record_set: SetOption = None,
    doc_type: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Document type; may be repeated (default: all).")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Number of hits.")] = 8,
    component: Annotated[
        list[str] | None, typer.Option("--component", help="Only records that name this component; may be repeated.")
    ] = None,
    where: Annotated[
        str | None, typer.Option("--filter", help='Filter, as JSON: \'{"doc_ids": ["WO-7"], "unit": 2}\'.')
    ] = None,
    weight: Annotated[float, typer.Option("--weight", help="Weight of meaning against words, 0 to 1.")] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Search records by meaning and by words together, over one or several document types."""
    options: Options = context.obj
    config = options.load()
    names = _names(config, record_set)
    if len(names) > 1:
        raise ConfigError(f"there are several record sets; name one with --set: {', '.join(names)}")
    filter_meta = dict(parse_filter(where) or {})
    if component:
        filter_meta["component_ids"] = component
    with only_json_on_stdout():
        from stackroom.records.search import RecordSearcher
        from stackroom.records.snippet import select_processed_snippet

        with RecordSearcher(config, names[0]) as searcher:
            result = searcher.query_doc_types(doc_type or None, query, k, filter_meta or None, weight)
            whole = searcher.whole_records(result.hits)
    for warning in result.warnings:
        print_warning(warning)
    snippets = {hit.record_id: select_processed_snippet(whole.get(hit.record_id)) or hit.text for hit in result.hits}
    if as_json:
        hits = [{**hit.to_json(), "snippet": snippets[hit.record_id]} for hit in result.hits]
        print_json({"hits": hits, "warnings": list(result.warnings)})
    else:
        _print_hits(result.hits, snippets, console())
    return EXIT_FINE


@app.command()
def lint(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Record set (default: every one).")] = None,
    every: Annotated[bool, typer.Option("--all", help="List every refused line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Show every refused line with its reason, and what is odd about the records that were stored."""
    options: Options = context.obj
    config = options.load()
    reports = {one: read_reports(config, one) for one in _names(config, name)}
    if as_json:
        print_json({"record_sets": reports})
    else:
        for one, report in reports.items():
            _print_report(one, report, console(), every=every)
    return EXIT_FILES_FAILED if any(report["refused"] or report["failed"] for report in reports.values()) else EXIT_FINE


def read_reports(config: Config, record_set: str) -> dict[str, Any]:
    """Return what the last ingestion reported about a record set: counts, refused lines, findings, failed files.

    Raises:
        ConfigError: there is no such record set.
    """
    from stackroom.ledger import Ledger
    from stackroom.records.bench import RecordBench, RecordBenchSettings, RecordWork
    from stackroom.records.ingest import failed_files
    from stackroom.records.lint import as_json as finding_as_json
    from stackroom.records.lint import lint_set
    from stackroom.records.record_file import read_report

    settings = RecordBenchSettings.of(config, record_set)
    found: dict[str, Any] = {"files": 0, "records": 0, "refused": [], "findings": [], "failed": []}
    if not settings.state.ledger.exists():
        return found
    with RecordBench(settings) as bench:
        states = [state for state in Ledger(settings.state.ledger).sources(bench.name) if state.present]
        for state in states:
            report = read_report(RecordWork(bench, state.source_id))
            if report is None:
                continue
            found["files"] += 1
            found["records"] += report.data["records"]
            found["refused"] += [{**line, "file": state.source_id} for line in report.data["refused"]]
            found["findings"] += [{"file": state.source_id, **one} for one in report.data["findings"]]
        across = lint_set(bench.registry.shared(record_set))
        found["findings"] += [{"file": finding.source_id, **finding_as_json(finding)} for finding in across]
        found["failed"] = failed_files(states)
    order = list(SEVERITIES)
    found["findings"].sort(key=lambda one: (order.index(one["severity"]), one["file"]))
    return found


def _names(config: Config, name: str | None) -> list[str]:
    from stackroom.records.bench import check_record_sets, record_settings

    check_record_sets(config)
    if name is not None:
        record_settings(config, name)
        return [name]
    if not config.records:
        raise ConfigError(
            f"{config.file_in_words} names no record set; add one under `records` (docs/records.md shows how)"
        )
    return sorted(config.records)


def _print_hits(hits: "Sequence[RecordHit]", snippets: dict[str, str], screen: Console) -> None:
    if not hits:
        screen.print("Nothing found. Try other words, or a wider filter.")
    for number, hit in enumerate(hits, start=1):
        screen.print(
            f"[bold]{number}. {safe(hit.record_id)}[/] [dim]{safe(hit.doc_type)} in {safe(hit.file)}[/]", soft_wrap=True
        )
        similarity = "" if hit.similarity is None else f" · similarity {hit.similarity:.3f}"
        screen.print(f"   [dim]score {hit.score:.4f}{similarity} · {ranks_in_words(hit.ranks)}[/]", soft_wrap=True)
        screen.print(f"   {safe(' '.join(snippets[hit.record_id].split())[:480])}\n", soft_wrap=True)


def _print_report(name: str, report: dict[str, Any], screen: Console, *, every: bool) -> None:
    if not report["files"]:
        screen.print(f"{name}: nothing has been read yet; run `{program()} records ingest`.")
        return
    refused = report["refused"] if every else report["refused"][:MOST_REFUSED_SHOWN]
    screen.print(
        f"[bold]{name}[/]: {count(report['records'], 'record')} in {count(report['files'], 'file')}; "
        f"[red]{count(len(report['refused']), 'line')} refused[/]"
    )
    lines = [("error", f"{line['file']}:{line['line']}", line["record_id"] or "", line["reason"]) for line in refused]
    findings = [(one["severity"], one["file"], one["rule"], one["message"]) for one in report["findings"]]
    failed = [("error", one["source_id"], one["reason"], one["message"] or "") for one in report["failed"]]
    rows = [*failed, *lines, *(row for row in findings if row[2] != "refused_lines")]
    if rows:
        table = Table(show_edge=False, box=None, padding=(0, 2, 0, 2))
        table.add_column("severity", no_wrap=True)
        table.add_column("where", overflow="fold", min_width=name_column(row[1] for row in rows))
        table.add_column("what", overflow="fold")
        table.add_column("reason", overflow="fold")
        for severity, *cells in rows:
            table.add_row(f"[{SEVERITIES[severity]}]{severity}[/]", *(safe(str(cell)) for cell in cells))
        screen.print(table)
    if len(refused) < len(report["refused"]):
        screen.print(f"  … and {len(report['refused']) - len(refused)} more refused lines; --all lists them")
