"""What ``stackroom map edit|diff|accept`` do: the only functions that write a curated map, and only when asked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from stackroom.atomic import write_text
from stackroom.errors import MetadataMapError
from stackroom.metadata_map.curated import CURATED_NAME, DEFAULT, CuratedMap, Entry, value_problem
from stackroom.metadata_map.json_source import MapProblem, parse_json_file
from stackroom.metadata_map.merging import ACCEPTED, Conflict
from stackroom.metadata_map.resolving import normal_chain
from stackroom.text import normalize_text

EDITABLE = ("title", "authors", "year", "journal", "doi", "keywords")
"""Fields offered for editing even when nothing was found for them."""


@dataclass(frozen=True)
class Difference:
    """A field whose curated value is not the generated one."""

    source_id: str
    chain: str
    key: str
    generated: Any
    curated: Any
    state: Literal["corrected", "added", "removed", "conflict"]


def diff(
    source_id: str, generated: Entry, curated: Entry | None, conflicts: Sequence[Conflict] = ()
) -> list[Difference]:
    """Return where the curated map departs from what is found in the file.

    Args:
        source_id: of the source.
        generated: generated entry.
        curated: curated entry.
        conflicts: of the last merge.
    """
    by_chain = {normal_chain(chain): fields for chain, fields in generated.items() if chain != DEFAULT}
    open_conflicts = {(normal_chain(conflict.chain), conflict.key) for conflict in conflicts}
    rows = []
    for chain, fields in (curated or {}).items():
        found = generated.get(DEFAULT, {}) if chain == DEFAULT else by_chain.get(normal_chain(chain), {})
        for key, value in fields.items():
            if key == ACCEPTED or value == found.get(key):
                continue
            state = _state(value, found.get(key), (normal_chain(chain), key) in open_conflicts)
            rows.append(Difference(source_id, chain, key, found.get(key), value, state))
    return rows


def _state(curated: Any, generated: Any, conflict: bool) -> Literal["corrected", "added", "removed", "conflict"]:
    if conflict:
        return "conflict"
    if curated is None:
        return "removed"
    return "added" if generated is None else "corrected"


def prepare_edit(folder: Path, curated: CuratedMap, source_id: str, generated: Entry) -> tuple[Path, int]:
    """Make sure that a source has an entry in the curated map, and return the file and line where to edit it.

    Args:
        folder: the corpus folder.
        curated: its curated map as read.
        source_id: of the source.
        generated: generated entry; its main fields are copied when there is no entry yet.

    Raises:
        MetadataMapError: the map file cannot be parsed; it is not touched.
    """
    key = key_in_map(curated, source_id)
    if key is None:
        found = generated.get(DEFAULT, {})
        fields = {name: found.get(name, [] if name in ("authors", "keywords") else None) for name in EDITABLE}
        set_fields(folder, curated, source_id, {name: value for name, value in fields.items() if value is not None})
        key = source_id
    file = curated.files.get(normalize_text(key), folder / CURATED_NAME)
    parsed = parse_json_file(file)
    line = None if isinstance(parsed, MapProblem) else parsed.line(key) or parsed.line(PurePosixPath(key).name)
    return file, line or 1


def key_in_map(curated: CuratedMap, source_id: str) -> str | None:
    """Return the key under which a curated map speaks of a source: its id, or its base name; None for neither."""
    for key in (normalize_text(source_id), normalize_text(PurePosixPath(source_id).name)):
        if key in curated.entries:
            return key
    return None


def set_fields(
    folder: Path, curated: CuratedMap, source_id: str, fields: Mapping[str, Any], chain: str = DEFAULT
) -> Path:
    """Write curated values of a source; everything else in the file stays.

    Args:
        folder: the corpus folder.
        curated: its curated map as read.
        source_id: of the source.
        fields: field to value; None means that the field is to be left out even if one is found.
        chain: heading chain, or ``DEFAULT``.

    Returns:
        The file written: the one that already speaks of the source, else the one of the corpus folder.

    Raises:
        MetadataMapError: a value is of a wrong kind, or the file cannot be parsed; nothing is written.
    """
    _check(source_id, fields)

    def change(data: dict[str, Any], key: str) -> None:
        entry = data.setdefault(key, {})
        entry[chain] = {**entry.get(chain, {}), **fields}

    return _rewrite(folder, curated, source_id, change)


def set_many(folder: Path, curated: CuratedMap, values: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    """Write curated values of many sources, each map file once.

    Args:
        folder: the corpus folder.
        curated: its curated map as read.
        values: source id to fields.

    Returns:
        The files written.

    Raises:
        MetadataMapError: a value is of a wrong kind, or a file cannot be parsed; files written before it stay so.
    """
    by_file: dict[Path, list[str]] = {}
    for source, fields in values.items():
        _check(source, fields)
        known = key_in_map(curated, source)
        by_file.setdefault(folder / CURATED_NAME if known is None else curated.files[known], []).append(source)
    for file, sources in by_file.items():
        data = _read(file)
        for source in sources:
            key = _key_in_file(data, file, folder, key_in_map(curated, source) or source)
            entry = data.setdefault(key, {})
            entry[DEFAULT] = {**entry.get(DEFAULT, {}), **values[source]}
        _write(file, data)
    return sorted(by_file)


def accept(
    folder: Path,
    curated: CuratedMap,
    source_id: str,
    conflicts: Sequence[Conflict],
    take: Literal["curated", "generated"],
) -> Path:
    """Settle the conflicts of a source.

    Args:
        folder: the corpus folder.
        curated: its curated map as read.
        source_id: of the source.
        conflicts: those to settle.
        take: ``curated`` keeps the person's values and notes that the found ones were seen; ``generated`` removes the
            person's values.

    Raises:
        MetadataMapError: the file cannot be parsed; it is not touched.
    """

    def change(data: dict[str, Any], key: str) -> None:
        entry = data.setdefault(key, {})
        written = {chain if chain == DEFAULT else normal_chain(chain): chain for chain in entry}
        for conflict in conflicts:
            chain = conflict.chain if conflict.chain == DEFAULT else normal_chain(conflict.chain)
            fields = entry.setdefault(written.get(chain, conflict.chain), {})
            if take == "curated":
                fields[ACCEPTED] = {**fields.get(ACCEPTED, {}), conflict.key: conflict.generated_now}
            else:
                fields.pop(conflict.key, None)
                fields.get(ACCEPTED, {}).pop(conflict.key, None)

    return _rewrite(folder, curated, source_id, change)


def _rewrite(folder: Path, curated: CuratedMap, source_id: str, change: Any) -> Path:
    known = key_in_map(curated, source_id)
    file = folder / CURATED_NAME if known is None else curated.files[known]
    data = _read(file)
    change(data, _key_in_file(data, file, folder, known or source_id))
    _write(file, data)
    return file


def _check(source_id: str, fields: Mapping[str, Any]) -> None:
    wrong = [reason for name, value in fields.items() if (reason := value_problem(name, value))]
    if wrong:
        raise MetadataMapError(f"{source_id}: {'; '.join(wrong)}; correct the value")


def _read(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    parsed = parse_json_file(file)
    if isinstance(parsed, MapProblem):
        raise MetadataMapError(str(parsed))
    return dict(parsed.data)


def _write(file: Path, data: Mapping[str, Any]) -> None:
    write_text(file, json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def _key_in_file(data: Mapping[str, Any], file: Path, folder: Path, key: str) -> str:
    """Return how a file names a source: paths in it are relative to where it lies, and may be written otherwise."""
    prefix = file.parent.relative_to(folder).as_posix()
    relative = key.removeprefix(f"{prefix}/") if prefix != "." else key
    wanted = normalize_text(relative)
    return next((written for written in data if normalize_text(written) == wanted), relative)
