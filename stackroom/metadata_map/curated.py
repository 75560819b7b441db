"""The curated map: a person's corrections, kept beside the documents and never overwritten by the machine.

It is one file ``metadata-map.json`` in the corpus folder, or one per subfolder. Keys are source ids (in a subfolder:
paths from there); a base name alone serves where only one source has it. A file that cannot be used is reported with
line and remedy, and what it last said when it could be used goes on serving.
"""

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from stackroom.atomic import write_text
from stackroom.errors import SourceError
from stackroom.identity import source_id
from stackroom.metadata_map.json_source import MapProblem, ParsedJson, kind_in_words, parse_json_file
from stackroom.text import normalize_text

CURATED_NAME = "metadata-map.json"
DEFAULT = "DEFAULT"

Entry = Mapping[str, Mapping[str, Any]]
"""Heading chain (or ``DEFAULT``) to fields."""

_SKIPPED_FOLDERS = frozenset({".git", ".stackroom", ".klea-cache", "node_modules"})


@dataclass(frozen=True)
class CuratedMap:
    """Everything that curated map files of a corpus say."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """Key (source id, or base name) to entry."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Key to the file it stands in."""
    problems: tuple[MapProblem, ...] = ()
    """What is wrong with the files; for a file with problems its last good state is in ``entries``."""

    def entry(self, source: str) -> Entry | None:
        """Return what the map says of a source: under its id, else under its base name; None when it says nothing."""
        key = self.key(source)
        return None if key is None else self.entries[key]

    def key(self, source: str) -> str | None:
        """Return the key under which the map speaks of a source: its id, or its base name; None for neither."""
        if not self.entries:  # asked for every file at every look
            return None
        whole = normalize_text(source)
        if whole in self.entries:
            return whole
        name = normalize_text(_base_name(source))
        return name if name in self.entries else None

    def for_sources(self, sources: Iterable[str], renamed: Mapping[str, Sequence[str]] | None = None) -> "CuratedMap":
        """Return the map as it holds for the sources there are.

        A base name counts only where one source has it: otherwise it is left out, and so listed as a problem. Keys
        that belong to no source are problems too; they stay, for the file may come back.

        Args:
            sources: all source ids of the corpus.
            renamed: keys whose file is gone, with the sources that now have its content.
        """
        ids = {normalize_text(source) for source in sources}
        names = Counter(map(_base_name, ids))
        ambiguous = {key for key in self.entries if key not in ids and names[key] > 1}
        unknown = {key for key in self.entries if key not in ids and not names[key]}
        parsed = {file: parse_json_file(file) for file in {self.files[key] for key in ambiguous | unknown}}
        problems = [
            self._problem(key, parsed, "is the name of several files", "give the path of each") for key in ambiguous
        ]
        problems += [self._problem(key, parsed, *self._lost(key, (renamed or {}).get(key, ()))) for key in unknown]
        kept = {key: entry for key, entry in self.entries.items() if key not in ambiguous}
        ordered = sorted(problems, key=lambda problem: (problem.file, problem.message))
        return CuratedMap(kept, self.files, (*self.problems, *ordered))

    def _lost(self, key: str, places: Sequence[str]) -> tuple[str, str]:
        """Return what is wrong with an entry without a file, and what to do; ``places`` have the file's content."""
        if not places:
            return "is no file of this corpus", "correct or remove the entry"
        what = f"is no file of this corpus any more; what it held is now in {', '.join(map(repr, places[:3]))}"
        if self.entry(places[0]) is not None:
            return f"{what}, which has an entry of its own", "remove the entry of the old name"
        command = f"stackroom map rename {shlex.quote(key)} {shlex.quote(places[0])}"
        return f"{what}, for which the entry does not count", f"`{command}` carries it over"

    def _problem(self, key: str, parsed: Mapping[Path, ParsedJson | MapProblem], what: str, remedy: str) -> MapProblem:
        file = self.files[key]
        read = parsed[file]
        line = None if isinstance(read, MapProblem) else read.line(key) or read.line(PurePosixPath(key).name)
        return MapProblem(file, line, f"{key!r} {what}", remedy)


def _base_name(source: str) -> str:
    return source.rpartition("/")[2]  # a tenth of the time of a PurePosixPath, and asked of every file


def load_curated(folder: Path, last_good: Path | None = None, *, remember: bool = True) -> CuratedMap:
    """Read the curated map files of a corpus folder.

    Args:
        folder: the corpus folder.
        last_good: where to keep what files said when they could last be used; written whenever all of it can be.
        remember: False only reads ``last_good``.

    Returns:
        The map; files that cannot be used are listed in its ``problems``, nothing is raised.
    """
    remembered = _read_last_good(last_good)
    merged = _Collected()
    current: dict[str, Any] = {}
    for file in map_files(folder):
        relative = file.relative_to(folder).as_posix()
        parsed, problems = _usable(file, remembered.get(relative))
        merged.problems += problems
        current[relative] = dict(parsed.data)
        merged.add(file, PurePosixPath(relative).parent, parsed)
    if remember and last_good is not None and current != remembered:
        write_text(last_good, json.dumps(current, ensure_ascii=False) + "\n")
    return CuratedMap(merged.entries, merged.files, tuple(merged.problems))


def _usable(file: Path, remembered: Mapping[str, Any] | None) -> tuple[ParsedJson, list[MapProblem]]:
    """Return what of a file can be used, and what is wrong: a bad entry gives way to the last good one of its key."""
    remembered = remembered or {}
    parsed = parse_json_file(file)
    if isinstance(parsed, MapProblem):
        return ParsedJson(remembered), [parsed]
    problems: list[MapProblem] = []
    data: dict[str, Any] = {}
    for key, entry in parsed.data.items():
        found = check_entry(file, key, parsed)
        problems += found
        if not found:
            data[key] = entry
        elif key in remembered:
            data[key] = remembered[key]
    return ParsedJson(data, parsed.text), problems


def map_files(folder: Path) -> list[Path]:
    """Return the curated map files of a folder and its subfolders, sorted; hidden folders are left out."""
    found = []
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith("."))
        if CURATED_NAME in files:
            found.append(Path(root) / CURATED_NAME)
    return sorted(found)


class _Collected:
    """Entries of several files, while they are being gathered."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.files: dict[str, Path] = {}
        self.problems: list[MapProblem] = []

    def add(self, file: Path, prefix: PurePosixPath, parsed: ParsedJson) -> None:
        for raw, entry in parsed.data.items():
            if raw.startswith("$"):
                continue
            key = self._key(file, prefix, raw, parsed)
            if key is None:
                continue
            if key in self.entries:
                message = f"{raw!r} also stands in {self.files[key]}"
                self.problems.append(MapProblem(file, parsed.line(raw), message, "keep one of the two"))
                continue
            self.entries[key] = entry
            self.files[key] = file

    def _key(self, file: Path, prefix: PurePosixPath, raw: str, parsed: ParsedJson) -> str | None:
        try:
            return normalize_text(source_id(prefix / raw))
        except SourceError as error:
            problem = MapProblem(file, parsed.line(raw), str(error), "give the path of a file below this folder")
            self.problems.append(problem)
            return None


def check_entry(file: Path, key: str, parsed: ParsedJson) -> list[MapProblem]:
    """Return what is wrong with the structure of an entry: the entry, a chain or a value of the wrong kind."""
    entry = parsed.data[key]
    if key.startswith("$"):
        return []
    if not isinstance(entry, dict):
        message = f"the entry of {key!r} is {kind_in_words(entry)}, not an object"
        return [MapProblem(file, parsed.line(key), message, f'write {{"{DEFAULT}": {{…}}}}')]
    problems = []
    for chain, fields in entry.items():
        if not isinstance(fields, dict):
            message = f"{key!r}: {chain!r} is {kind_in_words(fields)}, not an object"
            remedy = f'put the fields into "{DEFAULT}": {{…}} or under a heading'
            problems.append(MapProblem(file, parsed.line(key, chain), message, remedy))
            continue
        for name, value in fields.items():
            reason = value_problem(name, value)
            if reason:
                line = parsed.line(key, chain, name)
                problems.append(MapProblem(file, line, f"{key!r}: {chain!r}: {reason}", "correct the value"))
    return problems


def value_problem(name: str, value: Any) -> str:
    """Return why a value cannot stand in a map, empty when it can.

    Allowed are text, numbers, true and false, null (which removes the field) and lists of texts; ``year`` must be a
    whole number, ``authors`` and ``keywords`` lists of texts. Fields that begin with an underscore may hold anything.
    """
    if name.startswith("_") or value is None:
        return ""
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name == "year" and (isinstance(value, bool) or not isinstance(value, int)):
        return f"'year' is {json.dumps(value, ensure_ascii=False)[:60]}, not a whole number"
    if name in ("authors", "keywords") and not is_list:
        return f"{name!r} is {kind_in_words(value)}, not a list of texts"
    if name in ("title", "doi", "journal") and not isinstance(value, str):
        return f"{name!r} is {kind_in_words(value)}, not a text"
    if isinstance(value, (str, int, float)) or is_list:
        return ""
    return f"{name!r} is {kind_in_words(value)}; allowed are text, numbers, true/false, null and lists of texts"


def _read_last_good(path: Path | None) -> dict[str, Any]:
    if path is None or not path.is_file():
        return {}
    parsed = parse_json_file(path)
    return {} if isinstance(parsed, MapProblem) else dict(parsed.data)
