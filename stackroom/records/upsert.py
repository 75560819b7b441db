"""Records from a program instead of a file: put in, replaced and deleted by document.

They are kept under a name of the program's choice, which stands where the name of a file stands otherwise; files of the
record set's folder are changed by changing the file, never here.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackroom.errors import RecordError
from stackroom.fingerprint import fingerprint
from stackroom.outcome import Failed
from stackroom.records.bench import RecordBench, RecordWork
from stackroom.records.collections import run, withdraw_file
from stackroom.records.flatten import normalize_doc_type
from stackroom.records.ingest import build_indexes
from stackroom.records.jsonl import Record, RefusedLine, extract_processed_text_record, gate
from stackroom.records.prepare import PreparedFile, PreparedRecord, prepare_records, read_rows
from stackroom.records.record_file import STAGE, VERSION, write_records
from stackroom.words import are, count

logger = logging.getLogger(__name__)

_MOST_NAMED = 10


def upsert_records(
    bench: RecordBench, source: str, records: Iterable[Mapping[str, Any]], doc_type: str | None = None
) -> int:
    """Store records of one document type; records of the same ids are replaced, others of the source stay.

    Args:
        bench: of the record set.
        source: name to keep them under.
        records: bare or wrapped; what is no record, or holds no text, is left out with a warning.
        doc_type: their type; by default that of the first one.

    Returns:
        The number of records stored.

    Raises:
        RecordError: records are of another type (the first ten are named), ``source`` is a file of the folder, or a
            store cannot be used.
    """
    given = list(records)
    if not given:
        return 0
    found, refused = _gated(given, source)
    wanted = normalize_doc_type(doc_type if doc_type is not None else given[0].get("doc_type"))
    _check_types(given, wanted)
    prepared = prepare_records(found, source, wanted, bench.register)
    for line in sorted([*refused, *prepared.refused], key=lambda one: one.line):
        logger.warning("%s: record %d (%s) is not stored: %s", source, line.line, line.record_id, line.reason)
    if prepared.records:
        kept = {record.record_id: record for record in _stored(bench, source)}
        fresh = {record.record_id: record for record in prepared.records}
        _store(bench, source, list({**kept, **fresh}.values()))
        return len(fresh)
    return 0


def replace_document(bench: RecordBench, source: str, doc_id: str, records: Iterable[Mapping[str, Any]]) -> int:
    """Make some records the only ones of a document under ``source``; return how many are stored.

    Raises:
        RecordError: a record belongs to another document, ``source`` is a file of the folder, or a store cannot be
            used.
    """
    given = list(records)
    foreign = [str(record.get("record_id")) for record in given if str(record.get("doc_id")) != doc_id]
    if foreign:
        raise RecordError(f"records of other documents than {doc_id!r}: {', '.join(foreign[:_MOST_NAMED])}")
    found, _ = _gated(given, source)
    prepared = prepare_records(found, source, bench.settings.records.doc_type_override, bench.register)
    fresh = {record.record_id: record for record in prepared.records}
    others = [record for record in _stored(bench, source) if record.doc_id != doc_id]
    _store(bench, source, [*(one for one in others if one.record_id not in fresh), *fresh.values()])
    return len(fresh)


def delete_document(bench: RecordBench, source: str, doc_id: str) -> int:
    """Delete all records of a document under ``source``; return how many there were.

    Raises:
        RecordError: ``source`` is a file of the folder, or a store cannot be used.
    """
    before = _stored(bench, source)
    kept = [record for record in before if record.doc_id != doc_id]
    if len(kept) < len(before):
        _store(bench, source, kept)
    return len(before) - len(kept)


def _gated(given: Sequence[Mapping[str, Any]], source: str) -> tuple[list[tuple[int, Record]], list[RefusedLine]]:
    """Return the records that pass the gate with their places (the last of equal ids wins), and the others."""
    found: dict[str, tuple[int, Record]] = {}
    refused = []
    for number, value in enumerate(given, 1):
        record = extract_processed_text_record(value)
        if record is None:
            refused.append(RefusedLine(source, number, None, gate(value) or "not a record"))
        elif not isinstance(record["embedding_text"], str) or not record["embedding_text"].strip():
            refused.append(RefusedLine(source, number, record["record_id"], "`embedding_text` is empty"))
        else:
            found[record["record_id"].strip()] = (number, record)
    return list(found.values()), refused


def _check_types(given: Sequence[Mapping[str, Any]], wanted: str) -> None:
    offending = [
        str(record.get("record_id") or "(no id)")
        for record in given
        if record.get("doc_type") and normalize_doc_type(record["doc_type"]) != wanted
    ]
    if offending:
        raise RecordError(
            f"{count(len(offending), 'record')} {are(len(offending))} not of type {wanted}, "
            f"for example {', '.join(offending[:_MOST_NAMED])}; "
            "store every type by a call of its own"
        )


def _stored(bench: RecordBench, source: str) -> list[PreparedRecord]:
    if bench.ledger.source(bench.name, source) is not None:
        raise RecordError(f"{source} is a file of {bench.settings.records.folder}; change the file and ingest it again")
    path = bench.artefacts.path(STAGE, source, "parquet")
    return read_rows(path) if path.exists() else []


def _store(bench: RecordBench, source: str, records: list[PreparedRecord]) -> None:
    if not records:
        withdraw_file(bench, source)
    else:
        work = RecordWork(bench, source)
        digests = [record.digest for record in records]
        made_for = fingerprint(STAGE, VERSION, program=source, records=digests)
        write_records(work, PreparedFile(records=records), made_for, digest="")
        outcome = run(work)
        if isinstance(outcome, Failed):
            raise RecordError(f"records of {source} are not stored: {outcome.message}; {outcome.remedy}")
    build_indexes(bench)
