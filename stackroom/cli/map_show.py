"""How ``stackroom map`` shows differences, findings, conflicts and problems of map files."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from stackroom.cli.output import name_column, print_warning, program, safe

if TYPE_CHECKING:
    from stackroom.metadata_map import Conflict, MapProblem
    from stackroom.metadata_map.differences import Difference
    from stackroom.stages.map_view import MapLint

COLOURS = {"corrected": "green", "added": "green", "removed": "yellow", "conflict": "red"}


def print_differences(rows: "Sequence[Difference]", screen: Console) -> None:
    """Print where the curated map departs from what was found."""
    if not rows:
        screen.print("The curated map changes nothing of what is found.")
        return
    table = Table(show_edge=False, box=None, padding=(0, 2, 0, 0))
    table.add_column("file", overflow="fold", min_width=name_column(row.source_id for row in rows))
    table.add_column("field", overflow="fold")
    table.add_column("state", no_wrap=True)
    table.add_column("found", overflow="fold")
    table.add_column("curated", overflow="fold")
    for row in rows:
        field = row.key if row.chain == "DEFAULT" else f"{row.chain}: {row.key}"
        state = f"[{COLOURS[row.state]}]{row.state}[/]"
        table.add_row(safe(row.source_id), safe(field), state, value(row.generated), value(row.curated))
    screen.print(table)


def print_lint(corpus: str, found: "MapLint", screen: Console) -> None:
    """Print the findings about the map of a corpus."""
    from stackroom.map_lint import format_metadata_lint_report

    screen.print(f"[bold]{corpus}[/]", soft_wrap=True)
    for line in format_metadata_lint_report(found.report).splitlines():
        screen.print(f"  {safe(line)}".rstrip(), soft_wrap=True)
    if found.conflicts:
        screen.print("\n  Conflicts between the curated map and what is found now:")
        print_conflicts(found.conflicts, screen)
        screen.print(f"  `{program()} map accept FILE` keeps the map's values, `--take generated` the found ones.")
    if found.problems:
        screen.print("\n  The curated map files:")
        for problem in found.problems:
            screen.print(f"  [red]{safe(str(problem))}[/]", soft_wrap=True)


def print_conflicts(conflicts: "Sequence[tuple[str, Conflict]]", screen: Console) -> None:
    """Print open conflicts, one a line."""
    for source, conflict in conflicts:
        screen.print(f"    {safe(source)}: {safe(str(conflict))}", soft_wrap=True)


def warn_of_problems(problems: "Sequence[MapProblem]") -> None:
    """Print problems of map files on standard error."""
    for problem in problems:
        print_warning(str(problem))


def problem_json(problem: "MapProblem") -> dict[str, Any]:
    """Return a problem as plain values."""
    return {**vars(problem), "file": str(problem.file)}


def lint_json(corpus: str, found: "MapLint") -> dict[str, Any]:
    """Return the findings about the map of a corpus as plain values."""
    report = found.report
    return {
        "corpus": corpus,
        "files": report.files,
        "complete": report.complete,
        "incomplete": list(report.incomplete),
        "issues": [
            {"source_id": source, "code": issue.code, "message": str(issue)}
            for source, issues in report.issues.items()
            for issue in issues
        ],
        "placeholders": dict(report.placeholders),
        "missing": list(report.missing_keys),
        "conflicts": [{"source_id": source, **conflict.to_json()} for source, conflict in found.conflicts],
        "problems": [problem_json(problem) for problem in found.problems],
    }


def value(content: Any) -> str:
    """Return a value of the map as a person reads it, safe on a terminal."""
    if content is None:
        return "[dim]nothing[/]"
    if isinstance(content, list) and all(isinstance(item, str) for item in content):
        return safe("; ".join(content))
    return safe(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
