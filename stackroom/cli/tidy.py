"""``stackroom tidy``: delete what is too old and not needed any more."""

import json
import subprocess
import sys
from typing import Annotated, Any

import typer

from stackroom.cli.output import EXIT_FINE, console, print_json, print_warning, safe
from stackroom.cli.project import Options, check_code_location, process_environment
from stackroom.config import Config
from stackroom.errors import ConfigError

NAMES = {
    "runs": ("superseded run", "superseded runs"),
    "artefacts": ("artefact of a file that is gone", "artefacts of files that are gone"),
    "conversions": ("conversion of content that is gone", "conversions of content that is gone"),
    "logs": ("old log", "old logs"),
    "vectors": ("vector of a text that is gone", "vectors of texts that are gone"),
}
"""What is deleted, in words: one, and several."""


def tidy(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Delete superseded runs, orphaned artefacts, old logs and what the caches hold that nothing uses any more."""
    options: Options = context.obj
    config = options.load()
    check_code_location(config)
    deleted = run_module(config, "assets.tidy", ["--dry-run"] if dry_run else [])["deleted"]
    if as_json:
        print_json({"dry_run": dry_run, "deleted": deleted})
        return EXIT_FINE
    screen = console()
    found = [one for one in deleted if one["count"]]
    if not found:
        screen.print("Nothing to tidy.")
        return EXIT_FINE
    for one in found:
        screen.print(
            f"{one['count']:>7} {NAMES[one['kind']][one['count'] != 1]} ({one['megabytes']:.1f} MB)", soft_wrap=True
        )
        for example in one["examples"] if dry_run else ():
            screen.print(f"          [dim]{safe(example)}[/]", soft_wrap=True)
    screen.print("Nothing was deleted (--dry-run)." if dry_run else "Deleted.")
    return EXIT_FINE


def run_module(config: Config, module: str, arguments: list[str]) -> dict[str, Any]:
    """Run a module that works with Dagster, which this process never imports, and return the object it prints.

    Raises:
        ConfigError: it could not do its work; the message says why.
    """
    config.state_folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", module, *arguments],
        cwd=config.project_folder,
        env=process_environment(config),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise ConfigError(
            f"{module} ended unexpectedly (exit code {done.returncode}):\n{done.stderr[-2000:]}"
        ) from None
    for warning in answer.get("warnings", ()):
        print_warning(warning)
    if "error" in answer:
        raise ConfigError(answer["error"])
    return answer
