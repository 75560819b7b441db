"""Entries whose file has been renamed: what it held is remembered, so that it can be said where the file is now."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.atomic import write_text
from stackroom.errors import SourceError
from stackroom.metadata_map.curated import CuratedMap
from stackroom.metadata_map.json_source import MapProblem, parse_json_file
from stackroom.sources import SourceFile, content_hash


@dataclass(frozen=True)
class Content:
    """What tells a file by its content."""

    content_hash: str
    size: int
    """Bytes; files of another size need not be hashed."""


def remember_contents(path: Path, curated: CuratedMap, hashes: Mapping[str, str], files: Iterable[SourceFile]) -> None:
    """Note the content of every file that the curated map speaks of, and keep what was noted of files that are gone.

    Args:
        path: where it is kept; written if anything changed.
        curated: the map of the corpus.
        hashes: content hash by source id, of the files there are.
        files: the files there are.
    """
    before = _read(path)
    now = dict(before)
    for file in files:
        key = curated.key(file.source_id)
        if key is not None and file.source_id in hashes:
            now[key] = Content(hashes[file.source_id], file.size)
    kept = {key: content for key, content in now.items() if key in curated.entries}
    if kept != before:
        plain = {key: vars(content) for key, content in sorted(kept.items())}
        write_text(path, json.dumps(plain, ensure_ascii=False, indent=1) + "\n")


def find_renamed(path: Path, curated: CuratedMap, files: Sequence[SourceFile]) -> dict[str, tuple[str, ...]]:
    """Return the keys of a curated map whose file is gone, each with the sources that now have its content.

    Args:
        path: what :func:`remember_contents` wrote.
        curated: the map of the corpus.
        files: the files there are; only those of the size looked for are read.
    """
    claimed = {key for file in files if (key := curated.key(file.source_id)) is not None}
    lost = {key: content for key, content in _read(path).items() if key in curated.entries and key not in claimed}
    sizes = {content.size for content in lost.values()}
    candidates = {file.source_id: _hash(file) for file in files if file.size in sizes}
    found = {
        key: tuple(sorted(source for source, digest in candidates.items() if digest == content.content_hash))
        for key, content in lost.items()
    }
    return {key: sources for key, sources in found.items() if sources}


def _hash(file: SourceFile) -> str | None:
    try:
        return content_hash(file.path)
    except (OSError, SourceError):  # gone or unreadable since the folder was looked at: not the file looked for
        return None


def _read(path: Path) -> dict[str, Content]:
    if not path.is_file():
        return {}
    parsed = parse_json_file(path)
    if isinstance(parsed, MapProblem):
        return {}
    return {key: Content(**value) for key, value in parsed.data.items() if _is_content(value)}


def _is_content(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"content_hash", "size"}
