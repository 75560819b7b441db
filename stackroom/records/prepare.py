"""From the lines of a JSONL file to records ready to be stored: typed, flattened, checked, with a digest each."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stackroom.artefacts import MetadataValue, read_footer
from stackroom.errors import ArtefactError, StoreError
from stackroom.records.components import Register
from stackroom.records.flatten import collapse_whitespace, flatten_metadata, normalize_doc_type
from stackroom.records.jsonl import Record, RefusedLine, read_record_file
from stackroom.records.naming import type_label
from stackroom.stores.checks import checked_metadata, storable_text

ROWS_SCHEMA = "stackroom.record_rows/1"
_COLUMNS = ("record_id", "doc_id", "doc_type", "label", "text", "metadata", "record", "digest")

_UNFLATTENABLE = (TypeError, ValueError, OverflowError, AttributeError, LookupError, RecursionError)
"""What values of unforeseen types raise when a record is flattened; the record is refused, the others are not."""


@dataclass(frozen=True)
class PreparedRecord:
    """A record as it is stored."""

    record_id: str
    doc_id: str
    doc_type: str
    """Normalised; decides the collection."""
    label: str
    """The type as it stands in names."""
    text: str
    metadata: Mapping[str, MetadataValue]
    record: str
    """The whole record, as JSON."""
    digest: str
    """Hash of type, text and metadata: what tells whether the row has to be written again."""


@dataclass
class PreparedFile:
    """What becomes of the lines of a file."""

    records: list[PreparedRecord] = field(default_factory=list)
    refused: list[RefusedLine] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    left_out_keys: dict[str, int] = field(default_factory=dict)
    """Metadata keys that no store can hold, and in how many records they were left out."""

    def types(self) -> dict[str, int]:
        """Return the number of records by document type, in the order in which types occur."""
        counts: dict[str, int] = {}
        for record in self.records:
            counts[record.doc_type] = counts.get(record.doc_type, 0) + 1
        return counts


def prepare_file(path: Path, doc_type_override: str | None = None, register: Register | None = None) -> PreparedFile:
    """Read a JSONL file and prepare its records; what cannot be stored is refused with a reason.

    Args:
        path: the file.
        doc_type_override: type of all records, whatever they say themselves; their own is kept as
            ``original_doc_type``.
        register: equipment ids to component ids, for records that name no component.

    Raises:
        OSError: the file cannot be read.
    """
    read = read_record_file(path)
    prepared = prepare_records(zip(read.lines, read.records, strict=True), path.name, doc_type_override, register)
    prepared.refused = sorted([*read.refused, *prepared.refused], key=lambda refused: refused.line)
    prepared.repeated = read.repeated
    return prepared


def prepare_records(
    numbered: Iterable[tuple[int, Record]],
    file: str,
    doc_type_override: str | None = None,
    register: Register | None = None,
) -> PreparedFile:
    """Prepare records that passed the gate; see :func:`prepare_file`."""
    prepared = PreparedFile()
    for line, record in numbered:
        try:
            prepared.records.append(_prepare(record, doc_type_override, register, prepared.left_out_keys))
        except _UNFLATTENABLE as error:
            reason = f"cannot be stored: {type(error).__name__}: {error}"
            prepared.refused.append(RefusedLine(file, line, str(record["record_id"]), reason))
    return prepared


def _prepare(
    record: Record, override: str | None, register: Register | None, left_out: dict[str, int]
) -> PreparedRecord:
    record_id = record["record_id"].strip()
    if storable_text(record_id) != record_id:
        raise ValueError("`record_id` holds characters that are not valid Unicode text")
    own = record["doc_type"]
    doc_type = storable_text(normalize_doc_type(override if override is not None else own))
    typed = {**record, "doc_type": doc_type, "metadata": {**record["metadata"], "doc_type": doc_type}}
    if own is not None and own != doc_type:
        typed["metadata"].setdefault("original_doc_type", own)
    metadata = _storable(record_id, {**flatten_metadata(typed, register), "record_id": record_id}, left_out)
    text = storable_text(collapse_whitespace(record["embedding_text"]))
    if not text:
        raise ValueError("nothing is left of `embedding_text`")
    body = json.dumps(metadata, sort_keys=True)
    digest = hashlib.sha256(f"{doc_type}\x00{text}\x00{body}".encode()).hexdigest()[:32]
    doc_id = storable_text(str(record["doc_id"])) if record["doc_id"] is not None else ""
    return PreparedRecord(
        record_id, doc_id, doc_type, type_label(doc_type), text, metadata, json.dumps(dict(record)), digest
    )


def _storable(record_id: str, metadata: Mapping[str, Any], left_out: dict[str, int]) -> dict[str, MetadataValue]:
    """Return the metadata that stores can hold; what they cannot is counted in ``left_out``."""
    try:
        return checked_metadata(record_id, metadata)
    except StoreError:
        pass
    kept: dict[str, MetadataValue] = {}
    for key, value in metadata.items():
        try:
            kept.update(checked_metadata(record_id, {key: value}))
        except StoreError:
            name = storable_text(str(key))
            left_out[name] = left_out.get(name, 0) + 1
    return dict(sorted(kept.items()))


def rows_table(records: Iterable[PreparedRecord]) -> pa.Table:
    """Return records as a table; metadata and record are JSON."""
    rows = [{**vars(record), "metadata": json.dumps(dict(record.metadata))} for record in records]
    return pa.Table.from_pylist(rows, schema=pa.schema([pa.field(name, pa.string()) for name in _COLUMNS]))


def read_rows(path: Path) -> list[PreparedRecord]:
    """Read the records of a file from its artefact.

    Raises:
        ArtefactError: it is missing or not of this version.
    """
    if read_footer(path, ROWS_SCHEMA) is None:
        raise ArtefactError(f"{path} is not a readable record artefact; materialize `record_file` for this file again")
    return [
        PreparedRecord(**{**row, "metadata": json.loads(row["metadata"])}) for row in pq.read_table(path).to_pylist()
    ]


def read_whole_records(path: Path, record_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return whole records of a file by id; those that are not there are left out."""
    if read_footer(path, ROWS_SCHEMA) is None:
        return {}
    wanted = [("record_id", "in", sorted(set(record_ids)))]
    table = pq.read_table(path, columns=["record_id", "record"], filters=wanted)
    return {row["record_id"]: json.loads(row["record"]) for row in table.to_pylist()}
