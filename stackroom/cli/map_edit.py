"""Values given on the command line for the curated map, and the editor for those who would rather see the file."""

import difflib
import json
import os
import shlex
import subprocess
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from stackroom.errors import ConfigError

LISTS = frozenset({"authors", "keywords"})
TEXTS = frozenset({"title", "journal", "doi", "arxiv"})
"""Fields whose value is taken as it is, also when it looks like a number."""

ALIKE = 0.75
"""Similarity (0 to 1) from which an unknown field is taken for a misspelt one."""

EDITORS_WITH_GOTO = frozenset({"code", "code-insiders", "codium", "cursor"})
"""Editors that take ``--goto file:line``; the others take ``+line file``."""


def read_values(assignments: Iterable[str], unset: Iterable[str], known: Collection[str] = ()) -> dict[str, Any]:
    """Return field to value; None for fields that are to be left out.

    Args:
        assignments: each ``FIELD=VALUE``; authors and keywords are a JSON list, or parted by ``;``.
        unset: names of fields.
        known: fields that there are besides those of every bibliography.

    Raises:
        ConfigError: an assignment has no ``=`` or no field, a list is no JSON list of texts, or a field looks misspelt.
    """
    values: dict[str, Any] = {check_field(name, "--unset", known): None for name in unset}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set {assignment!r}: give FIELD=VALUE, for example --set year=2004")
        values[check_field(name.strip(), "--set", known)] = _value(name.strip(), value.strip())
    return values


def check_field(name: str, option: str, known: Collection[str] = ()) -> str:
    """Return the name of a field, unless it looks like a misspelt one; fields of one's own are allowed.

    Raises:
        ConfigError: it does.
    """
    names = [*LISTS, *TEXTS, "year", *known]
    if name in names or name.startswith("_"):
        return name
    by_folded = {one.casefold(): one for one in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=ALIKE)
    if close:
        raise ConfigError(
            f"{option} {name!r}: did you mean {by_folded[close[0]]!r}? A field of your own that is called so has to be "
            "written into the map file itself"
        )
    return name


def _value(name: str, value: str) -> Any:
    if name in LISTS:
        return _json_list(name, value) if value.startswith("[") else _parts(value)
    if name in TEXTS or name.startswith("url"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _parts(value: str) -> list[str]:
    return [item.strip() for item in value.split(";") if item.strip()]


def _json_list(name: str, value: str) -> list[str]:
    try:
        items = json.loads(value)
    except ValueError as error:
        raise ConfigError(
            f'--set {name}={value}: not a JSON list ({error}); write --set \'{name}=["A B", "C D"]\', or part them by ;'
        ) from error
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ConfigError(f"--set {name}={value}: only texts may stand in the list")
    return [item.strip() for item in items if item.strip()]


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
