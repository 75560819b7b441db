"""What ``stackroom map edit|accept|rename`` do: the only functions that write a curated map, and only when asked."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
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
    if curated.key(source_id) is None:
        found = generated.get(DEFAULT, {})
        fields = {name: found.get(name, [] if name in ("authors", "keywords") else None) for name in EDITABLE}
        set_fields(folder, curated, source_id, {name: value for name, value in fields.items() if value is not None})
    return entry_place(folder, curated, source_id)


def entry_place(folder: Path, curated: CuratedMap, source_id: str) -> tuple[Path, int]:
    """Return the map file that speaks of a source, or would, and the line of its entry (1 where there is none).

    Args:
        folder: the corpus folder.
        curated: its curated map, as read before or after the entry was written.
        source_id: of the source.
    """
    key = curated.key(source_id) or source_id
    file = curated.files.get(normalize_text(key), folder / CURATED_NAME)
    parsed = parse_json_file(file)
    line = None if isinstance(parsed, MapProblem) else parsed.line(key) or parsed.line(PurePosixPath(key).name)
    return file, line or 1


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
        known = curated.key(source)
        by_file.setdefault(folder / CURATED_NAME if known is None else curated.files[known], []).append(source)
    for file, sources in by_file.items():
        data = _read(file)
        for source in sources:
            key = _key_in_file(data, file, folder, curated.key(source) or source)
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
                _forget(entry, written.get(chain, conflict.chain), conflict.key)

    return _rewrite(folder, curated, source_id, change)


def forget_fields(
    folder: Path, curated: CuratedMap, source_id: str, fields: Iterable[str], chain: str = DEFAULT
) -> Path:
    """Take curated values of a source out of the map, so that what is found in the document holds again.

    Args:
        folder: the corpus folder.
        curated: its curated map as read.
        source_id: of the source.
        fields: names; those that the map does not mention are passed over.
        chain: heading chain, or ``DEFAULT``.

    Raises:
        MetadataMapError: the file cannot be parsed; it is not touched.
    """
    if curated.key(source_id) is None:
        return folder / CURATED_NAME

    def change(data: dict[str, Any], key: str) -> None:
        for field in fields:
            _forget(data.get(key, {}), chain, field)

    return _rewrite(folder, curated, source_id, change)


def rename_entry(folder: Path, curated: CuratedMap, old: str, new: str) -> Path:
    """Carry an entry over to another file, for instance because the file was renamed; its place in the map stays.

    Args:
        folder: the corpus folder.
        curated: its curated map as read.
        old: key of the entry.
        new: source id of the file it is for.

    Returns:
        The map file that now speaks of ``new``: the same as before, or that of the corpus folder if ``new`` is not
        below the folder of that file.

    Raises:
        MetadataMapError: there is no such entry, the file has one already, or a map cannot be parsed; nothing is
            written.
    """
    key = normalize_text(old)
    if key not in curated.entries:
        close = difflib.get_close_matches(key, curated.entries, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`stackroom map lint` lists entries without a file"
        raise MetadataMapError(f"the curated map has no entry {old!r}; {hint}")
    own = curated.key(new)
    if own is not None:
        where = curated.files[own]
        raise MetadataMapError(f"{new} has an entry of its own in {where}; put the two together there by hand")
    file = curated.files[key]
    data = _read(file)
    written = _key_in_file(data, file, folder, key)
    target = file if (folder / new).is_relative_to(file.parent) else folder / CURATED_NAME
    if target == file:
        renamed = (folder / new).relative_to(file.parent).as_posix()
        _write(file, {renamed if name == written else name: entry for name, entry in data.items()})
    else:  # first written in the new place, then removed from the old: a crash loses nothing
        _write(target, {**_read(target), new: data.pop(written)})
        _write(file, data)
    return target


def _forget(entry: dict[str, Any], chain: str, field: str) -> None:
    """Take a field out of an entry, and with the last one its chain."""
    fields = entry.get(chain)
    if not fields:  # an empty chain is a place that somebody means to fill
        return
    fields.pop(field, None)
    accepted = fields.get(ACCEPTED)
    if isinstance(accepted, dict):
        accepted.pop(field, None)
        if not accepted:
            del fields[ACCEPTED]
    if not fields:
        del entry[chain]


def _rewrite(folder: Path, curated: CuratedMap, source_id: str, change: Any) -> Path:
    known = curated.key(source_id)
    file = folder / CURATED_NAME if known is None else curated.files[known]
    data = _read(file)
    key = _key_in_file(data, file, folder, known or source_id)
    change(data, key)
    if data.get(key) == {}:  # nothing is said of the source any more
        del data[key]
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
