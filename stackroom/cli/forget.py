"""``stackroom forget``: delete everything that was made of a corpus; its documents stay."""

import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from stackroom.cli.output import EXIT_FINE, console, print_json, program
from stackroom.cli.project import Options, check_code_location
from stackroom.cli.tidy import run_module
from stackroom.errors import ConfigError
from stackroom.words import count


def forget(
    context: typer.Context,
    corpus: Annotated[str, typer.Argument(help="Corpus to forget; one of stackroom.yaml is removed from there first.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    leave_unreachable: Annotated[
        bool, typer.Option("--leave-unreachable", help="Leave the rows in stores that cannot be reached.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Delete collections, keyword index, artefacts, records and partitions of a corpus, never its documents."""
    options: Options = context.obj
    config = options.load()
    check_code_location(config)
    found = run_module(config, "assets.forget", [corpus, "--dry-run"])
    screen = console()
    if not dry_run:
        if not yes:
            _ask(found, screen)
        switches = ["--leave-unreachable"] if leave_unreachable else []
        found = run_module(config, "assets.forget", [corpus, *switches])
    if as_json:
        print_json(found)
    else:
        _print(found, screen)
    return EXIT_FINE


def _ask(found: dict[str, Any], screen: Console) -> None:
    """Show what would go and ask.

    Raises:
        ConfigError: the answer is no, or there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise ConfigError(f"give --yes to forget {found['corpus']}, or --dry-run to see what would be deleted")
    _print({**found, "dry_run": True}, screen)
    if not typer.confirm("Delete all this?"):
        raise ConfigError("nothing was deleted")


def _print(found: dict[str, Any], screen: Console) -> None:
    verb = "would delete" if found["dry_run"] else "deleted"
    screen.print(f"[bold]{found['corpus']}[/]: {verb} what was made of {count(found['sources'], 'file')}")
    for one in found["collections"]:
        rows = "not reachable" if one["rows"] is None else count(one["rows"], "row")
        screen.print(f"  {one['collection']} in {one['vector_store']} ({rows})", markup=False, soft_wrap=True)
    if found["keyword_index"]:
        screen.print("  the keyword index")
    screen.print(f"  {count(found['artefacts'], 'artefact')}, {count(found['partitions'], 'partition')}")
    screen.print("The documents themselves are left alone.")
    if not found["dry_run"]:
        screen.print(f"Caches are kept; `{program()} tidy` deletes what nothing uses any more in time.")
