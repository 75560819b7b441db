"""``stackroom eval``: how well a corpus is searched, by questions whose answers are known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from stackroom.cli.output import EXIT_FILES_FAILED, EXIT_FINE, console, only_json_on_stdout, print_json, print_warning
from stackroom.cli.source_argument import only_corpus
from stackroom.config import Config
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.retrieval.question_files import QualityReport


def evaluate(
    context: typer.Context,
    corpus: Annotated[str | None, typer.Option("--corpus", "-c", help="Corpus (default: the only one).")] = None,
    queries: Annotated[
        Path | None, typer.Option(help="Questions, JSON lines with _id and text (default: those of stackroom.yaml).")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="Judgements: question, document, grade (default: those of stackroom.yaml).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Measure nDCG@10, recall@100, reciprocal rank and latency of each side and of both together."""
    config: Config = context.obj.load()
    name = only_corpus(config, corpus)
    with only_json_on_stdout():
        from stackroom.retrieval.question_files import measure

        report = measure(config, name, queries, qrels)
    for warning in report.evaluation.warnings:
        print_warning(warning)
    if as_json:
        print_json(report.to_json())
    else:
        print_report(report, console())
    return EXIT_FINE if report.passed else EXIT_FILES_FAILED


def print_report(report: "QualityReport", screen: Console) -> None:
    """Print the measures of every side for a person."""
    table = Table(show_edge=False, box=None, padding=(0, 2, 0, 0))
    for heading in ("side", "nDCG@10", "recall@100", "MRR", "p50 ms", "p95 ms"):
        table.add_column(heading, justify="left" if heading == "side" else "right")
    for side in report.evaluation.sides:
        table.add_row(
            side.side,
            f"{side.ndcg_at_10:.4f}",
            f"{side.recall_at_100:.4f}",
            f"{side.mrr:.4f}",
            f"{side.latency_ms_p50:.1f}",
            f"{side.latency_ms_p95:.1f}",
        )
    asked = report.evaluation.side("hybrid").questions
    screen.print(f"[bold]{report.corpus}[/]: {count(asked, 'question')} with known answers")
    screen.print(table)
    if report.min_ndcg is not None:
        colour = "green" if report.passed else "red"
        screen.print(f"[{colour}]{report.in_words}[/]")
