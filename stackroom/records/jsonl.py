"""Reading JSONL files of processed text records: every line is accepted or refused with a reason, none is dropped."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stackroom.identity import display_name

REQUIRED_KEYS = ("record_id", "doc_id", "doc_type", "chunk_index", "embedding_text", "metadata", "provenance")
"""Keys a processed text record must have; null values pass for all but ``record_id``, ``metadata``, ``provenance``."""

WRAPPER_KEY = "processed_text_record"

Record = Mapping[str, Any]


@dataclass(frozen=True)
class RefusedLine:
    """A line that is not stored, and why."""

    file: str
    line: int
    record_id: str | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain values; texts can be printed and written, whatever stood in the file."""
        return {key: display_name(value) if isinstance(value, str) else value for key, value in asdict(self).items()}


@dataclass
class RecordFile:
    """What a JSONL file holds: accepted records in order (the last of equal ids wins), refused lines, repeated ids."""

    records: list[Record] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """Line of each record, from 1."""
    refused: list[RefusedLine] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)


def iter_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield line numbers (from 1) and parsed values; a line that cannot be parsed yields its :class:`ValueError`.

    Blank lines are skipped. A byte order mark is tolerated.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as handle:
        for number, raw in enumerate(handle, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if line:
                    yield number, json.loads(line)
            except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
                yield number, ValueError(str(error))


def gate(value: Any) -> str | None:
    """Return why a value is not a processed text record, or None if it is one."""
    if not isinstance(value, Mapping):
        return "not a JSON object"
    absent = [key for key in REQUIRED_KEYS if key not in value]
    if absent:
        return f"keys missing: {', '.join(absent)}"
    for key in ("metadata", "provenance"):
        if not isinstance(value[key], Mapping):
            return f"`{key}` is not an object"
    if not isinstance(value["record_id"], str) or not value["record_id"].strip():
        return "`record_id` is not a non-blank string"
    return None


def extract_processed_text_record(value: Any) -> Record | None:
    """Return the record in a parsed line, bare or under ``processed_text_record`` (which wins), or None."""
    if isinstance(value, Mapping):
        inner = value.get(WRAPPER_KEY)
        if isinstance(inner, Mapping) and gate(inner) is None:
            return inner
        if gate(value) is None:
            return value
    return None


def read_record_file(path: Path) -> RecordFile:
    """Read a JSONL file.

    Raises:
        OSError: the file cannot be read.
    """
    result = RecordFile()
    position: dict[str, int] = {}
    for number, value in iter_jsonl(path):
        record = None if isinstance(value, ValueError) else extract_processed_text_record(value)
        reason = _refusal(value, record)
        if reason is not None or record is None:
            result.refused.append(RefusedLine(path.name, number, _id_of(value), reason or "not a record"))
            continue
        identity = record["record_id"].strip()
        if identity in position:
            result.repeated.append(identity)
            result.records[position[identity]] = record
            result.lines[position[identity]] = number
        else:
            position[identity] = len(result.records)
            result.records.append(record)
            result.lines.append(number)
    return result


def _refusal(value: Any, record: Record | None) -> str | None:
    if isinstance(value, ValueError):
        return f"not valid JSON: {value}"
    if record is None:
        inner = value.get(WRAPPER_KEY) if isinstance(value, Mapping) else None
        return gate(inner if inner is not None else value)
    if not isinstance(record["embedding_text"], str) or not record["embedding_text"].strip():
        return "`embedding_text` is empty, so there is nothing to search"
    return None


def _id_of(value: Any) -> str | None:
    for candidate in (value, value.get(WRAPPER_KEY) if isinstance(value, Mapping) else None):
        if isinstance(candidate, Mapping) and isinstance(candidate.get("record_id"), str):
            return str(candidate["record_id"])
    return None
