"""JSON of people: parsed with the line of every key, bounds on size and nesting, and no key lost twice over."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_BYTES = 64_000_000
"""A map of 100,000 sources is about 40 MB."""
MAX_DEPTH = 12
"""A map needs four levels; a file of nested brackets must not exhaust the parser's stack."""

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
    """A JSON object and the line of every key, down to the third level."""

    data: Mapping[str, Any]
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def line(self, *path: str) -> int | None:
        """Return the line of a key, or of the nearest key above it that has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
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
    deep = _too_deep(text)
    if deep is not None:
        return MapProblem(
            file, deep, f"more than {MAX_DEPTH} levels of brackets", "a map has four levels; remove the rest"
        )
    duplicates: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        duplicates.extend(key for key in set(keys) if keys.count(key) > 1)
        return dict(pairs)

    try:
        data = json.loads(text, object_pairs_hook=unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return MapProblem(file, error.lineno, f"not valid JSON: {error.msg}", _json_remedy(error.msg))
    except (ValueError, RecursionError) as error:
        return MapProblem(file, None, f"not valid JSON: {error}", "correct the file, or restore an earlier version")
    lines, repeated = _key_lines(text)
    if duplicates:
        key = duplicates[0]
        return MapProblem(file, repeated.get(key), f"the key {key!r} stands twice in one object", "merge the two")
    if not isinstance(data, dict):
        return MapProblem(file, 1, f"the file holds {_kind(data)}, not an object", "begin it with { and end it with }")
    return ParsedJson(data, lines)


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
            if len(path) < 3:
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
