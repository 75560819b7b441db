"""Values given on the command line for the curated map, and the editor for those who would rather see the file."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stackroom.errors import ConfigError

LISTS = frozenset({"authors", "keywords"})
TEXTS = frozenset({"title", "journal", "doi", "arxiv"})
"""Fields whose value is taken as it is, also when it looks like a number."""

EDITORS_WITH_GOTO = frozenset({"code", "code-insiders", "codium", "cursor"})
"""Editors that take ``--goto file:line``; the others take ``+line file``."""


def read_values(assignments: Iterable[str], unset: Iterable[str]) -> dict[str, Any]:
    """Return field to value; None for fields that are to be left out.

    Args:
        assignments: each ``FIELD=VALUE``; several authors or keywords are parted by ``;``.
        unset: names of fields.

    Raises:
        ConfigError: an assignment has no ``=`` or no field.
    """
    values: dict[str, Any] = dict.fromkeys(unset)
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {assignment!r}: give FIELD=VALUE, for example --set year=2004")
        values[name.strip()] = _value(name.strip(), value.strip())
    return values


def _value(name: str, value: str) -> Any:
    if name in LISTS:
        return [item.strip() for item in value.split(";") if item.strip()]
    if name in TEXTS or name.startswith("url"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def open_editor(file: Path, line: int) -> None:
    """Open the user's editor (``$VISUAL``, ``$EDITOR``, else ``vi``) at a line, and wait until it is closed.

    Raises:
        ConfigError: it cannot be started.
    """
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    if Path(command[0]).name in EDITORS_WITH_GOTO:
        place = ["--wait", "--goto", f"{file}:{line}"]
    else:
        place = [f"+{line}", str(file)]
    try:
        subprocess.run([*command, *place], check=False)  # noqa: S603 - the user's own editor
    except OSError as error:
        raise ConfigError(f"the editor {command[0]!r} cannot be started ({error}); set EDITOR") from error
