"""JSON of people: parsed with the line of every key, bounds on size and nesting, and no key lost twice over."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

MAX_BYTES = 64_000_000
"""A map of 100,000 sources is about 40 MB."""
MAX_DEPTH = 12
"""A map needs four levels. The parser gives up on nesting long before it harms; this is where the blame is put."""

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}\[\],:]|\n')


@dataclass(frozen=True)
class MapProblem:
    """What is wrong in a map file, where, and what to do."""

    file: Path
    line: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        """Return one line: place, what is wrong, what to do."""
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.message}; {self.remedy}"


@dataclass(frozen=True)
class ParsedJson:
    """A JSON object, and the line of every key down to the third level, worked out when first asked for."""

    data: Mapping[str, Any]
    text: str = ""

    @cached_property
    def _lines(self) -> dict[tuple[str, ...], int]:
        return _key_lines(self.text)[0]

    def line(self, *path: str) -> int | None:
        """Return the line of a key, or of the nearest key above it that has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._lines:
                return self._lines[path[:length]]
        return None


def parse_json_file(file: Path) -> ParsedJson | MapProblem:
    """Read a file that must hold a JSON object."""
    try:
        if file.stat().st_size > MAX_BYTES:
            return MapProblem(file, None, f"the file is larger than {MAX_BYTES // 1_000_000} MB", "split it by folder")
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        return MapProblem(file, None, f"the file cannot be read ({error.strerror})", "check its permissions")
    except UnicodeDecodeError as error:
        return MapProblem(file, None, f"the file is not UTF-8 (byte {error.start})", "save it as UTF-8")
    return _parse(file, text)


def _parse(file: Path, text: str) -> ParsedJson | MapProblem:
    duplicates: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        duplicates.extend(key for key in set(keys) if keys.count(key) > 1)
        return dict(pairs)

    try:
        data = json.loads(text, object_pairs_hook=unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return MapProblem(file, error.lineno, f"not valid JSON: {error.msg}", _json_remedy(error.msg))
    except ValueError as error:
        return MapProblem(file, None, f"not valid JSON: {error}", "correct the file, or restore an earlier version")
    except RecursionError:
        message = f"more than {MAX_DEPTH} levels of brackets"
        return MapProblem(file, _too_deep(text), message, "a map has four levels; remove the rest")
    if duplicates:
        key = duplicates[0]
        message = f"the key {key!r} stands twice in one object"
        return MapProblem(file, _key_lines(text)[1].get(key), message, "merge the two")
    if not isinstance(data, dict):
        return MapProblem(file, 1, f"the file holds {_kind(data)}, not an object", "begin it with { and end it with }")
    return ParsedJson(data, text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _json_remedy(message: str) -> str:
    if "delimiter" in message or "trailing comma" in message.lower():
        return "look for a missing or superfluous comma at or before this line"
    if "property name" in message:
        return "look for a superfluous comma before this line; keys need double quotes"
    return "correct this line, or restore an earlier version of the file"


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def kind_in_words(value: Any) -> str:
    """Return what a JSON value is, in words, for messages."""
    return "an object" if isinstance(value, dict) else _kind(value)


def _too_deep(text: str) -> int | None:
    """Return the line on which brackets nest too deeply, or None."""
    depth, line = 0, 1
    for match in _TOKEN.finditer(text):
        mark = match.group()
        if mark == "\n":
            line += 1
        elif mark in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                return line
        elif mark in "}]":
            depth -= 1
    return None


def _key_lines(text: str) -> tuple[dict[tuple[str, ...], int], dict[str, int]]:
    """Return the line of every key down to level three, and the last line of every key by its name."""
    lines: dict[tuple[str, ...], int] = {}
    by_name: dict[str, int] = {}
    path: list[str] = []
    pending: str | None = None
    last_string = ""
    line = 1
    for match in _TOKEN.finditer(text):
        mark = match.group()
        if mark == "\n":
            line += 1
        elif mark[0] == '"':
            last_string = mark
        elif mark == ":":
            pending = _unquoted(last_string)
            by_name[pending] = line
            if len(path) <= 3:
                lines.setdefault((*[part for part in path if part], pending), line)
        elif mark in "{[":
            path.append(pending or "")
            pending = None
        elif mark in "}]" and path:
            path.pop()
    return lines, by_name


def _unquoted(mark: str) -> str:
    try:
        value = json.loads(mark)
    except ValueError:
        return mark
    return str(value)
