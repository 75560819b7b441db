"""``stackroom forget`` and ``stackroom records forget``: delete what was made of documents or records; they stay."""

import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from stackroom.cli.output import EXIT_FINE, console, print_json, program
from stackroom.cli.project import Options, check_code_location
from stackroom.cli.tidy import run_module
from stackroom.errors import ConfigError
from stackroom.words import count

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
LeaveUnreachable = Annotated[
    bool, typer.Option("--leave-unreachable", help="Leave the rows in stores that cannot be reached.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def forget(
    context: typer.Context,
    corpus: Annotated[str, typer.Argument(help="Corpus to forget; one of stackroom.yaml is removed from there first.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    leave_unreachable: LeaveUnreachable = False,
    as_json: AsJson = False,
) -> int:
    """Delete collections, keyword index, artefacts, records and partitions of a corpus, never its documents."""
    switches = ["--leave-unreachable"] if leave_unreachable else []
    return _forget(context.obj, [corpus], switches, dry_run=dry_run, yes=yes, as_json=as_json)


def forget_records(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Record set to forget, once it is removed from stackroom.yaml.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    leave_unreachable: LeaveUnreachable = False,
    as_json: AsJson = False,
) -> int:
    """Delete collections, keyword indexes, artefacts and partitions of a record set, never its files."""
    switches = ["--leave-unreachable"] if leave_unreachable else []
    return _forget(context.obj, [name, "--records"], switches, dry_run=dry_run, yes=yes, as_json=as_json)


def _forget(options: Options, what: list[str], switches: list[str], *, dry_run: bool, yes: bool, as_json: bool) -> int:
    config = options.load()
    check_code_location(config)
    found = run_module(config, "assets.forget", [*what, "--dry-run"])
    screen = console()
    if not dry_run:
        if not yes:
            _ask(found, screen)
        found = run_module(config, "assets.forget", [*what, *switches])
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
        raise ConfigError(f"give --yes to forget {_name(found)}, or --dry-run to see what would be deleted")
    _print({**found, "dry_run": True}, screen)
    if not typer.confirm("Delete all this?"):
        raise ConfigError("nothing was deleted")


def _print(found: dict[str, Any], screen: Console) -> None:
    verb = "would delete" if found["dry_run"] else "deleted"
    screen.print(f"[bold]{_name(found)}[/]: {verb} what was made of {count(found['sources'], 'file')}")
    for one in found["collections"]:
        rows = "not reachable" if one["rows"] is None else count(one["rows"], "row")
        screen.print(f"  {one['collection']} in {one['vector_store']} ({rows})", markup=False, soft_wrap=True)
    if found["keyword_index"]:
        screen.print("  the keyword index" if "corpus" in found else "  the keyword indexes")
    screen.print(f"  {count(found['artefacts'], 'artefact')}, {count(found['partitions'], 'partition')}")
    screen.print(f"The {'documents' if 'corpus' in found else 'files'} themselves are left alone.")
    if not found["dry_run"]:
        screen.print(f"Caches are kept; `{program()} tidy` deletes what nothing uses any more in time.")


def _name(found: dict[str, Any]) -> str:
    return str(found["corpus"] if "corpus" in found else found["record_set"])
