"""What all commands share when they print: two consoles, exit codes, JSON, and names that are safe on a terminal."""

import contextlib
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from stackroom.identity import display_name

EXIT_FINE = 0
EXIT_CANNOT_RUN = 1
EXIT_FILES_FAILED = 2
EXIT_INTERRUPTED = 130

NARROWEST_TABLE = 120
"""Columns assumed when the output is not a terminal, where rich would fold everything into 80."""

WIDEST_NAME = 48
"""Columns of a table that a file name may take before it is folded."""


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output or standard error."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else max(NARROWEST_TABLE, int(os.environ.get("COLUMNS", "0") or 0))
    return Console(stderr=stderr, highlight=False, soft_wrap=False, width=width)


def print_error(message: str) -> None:
    """Print why the command could not run, on standard error."""
    console(stderr=True).print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def print_warning(message: str) -> None:
    """Print something the user should know but that did not stop the command, on standard error."""
    console(stderr=True).print(f"[yellow]warning:[/] {escape(message)}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output; nothing else may be printed there with ``--json``."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def safe(text: str) -> str:
    """Return text from a document or a file name so that it can neither style nor drive the terminal."""
    return escape(display_name(text))


@contextlib.contextmanager
def only_json_on_stdout() -> Iterator[None]:
    """Send whatever a library prints to standard error, so that standard output holds the answer and nothing else."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def print_wrapped(text: str, screen: Console, most: int, style: str | None = None) -> None:
    """Print the beginning of a passage from a document, indented and folded between words.

    Args:
        text: the passage.
        screen: where to.
        most: characters; what is longer ends in an ellipsis.
        style: rich's name of a style.
    """
    shown = display_name(textwrap.shorten(text, most, placeholder=" …"))
    for line in textwrap.wrap(shown, max(40, screen.width - 3)):
        screen.print(f"   {line}", style=style, markup=False, soft_wrap=True)


def name_column(names: Iterable[str]) -> int:
    """Return the least width of a column of names, so that rich folds the sentences beside them and not the names."""
    return min(max((len(display_name(name)) for name in names), default=0), WIDEST_NAME)


def print_not_ingested(name: str, screen: Console, command: str = "ingest") -> None:
    """Say that there is nothing to look at yet, and what makes something."""
    said = f"[bold]{name}[/]: nothing has been ingested yet; run `{escape(program())} {command} {name}`"
    screen.print(said, soft_wrap=True)


def program() -> str:
    """Return how this user can call the command: ``stackroom`` if it is on the path, else the path of the script."""
    script = Path(sys.argv[0]).absolute()
    if script.name != "stackroom":
        script = Path(sys.executable).parent / "stackroom"
    found = shutil.which("stackroom")
    if found is not None and Path(found).resolve() == script.resolve():
        return "stackroom"
    with contextlib.suppress(ValueError):
        script = script.relative_to(Path.cwd())
    return str(script)


def shown_uri(uri: str) -> str:
    """Return a store URI with its password, if it holds one, made unreadable."""
    hidden = re.sub(r"(?<=://)([^:@/]*):[^@/]*@", r"\1:***@", uri)
    return re.sub(r"(?i)(password=)[^&]*", r"\1***", hidden)
