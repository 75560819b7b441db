"""What is odd about the records of a file or of a whole set; one finding per rule, with how many and examples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from stackroom.identity import display_name
from stackroom.postcheck import Finding
from stackroom.records.jsonl import Record
from stackroom.records.prepare import PreparedFile, PreparedRecord
from stackroom.words import are, count

RECORD_LINT_VERSION = 1
"""Raised whenever the findings for the same file change."""

_EXAMPLES = 3
Severity = Literal["error", "warning", "info"]
Odd = Callable[[PreparedRecord, Record], bool]


def _odd_id(prepared: PreparedRecord, record: Record) -> bool:
    return prepared.record_id != f"{record.get('doc_id')}::{record.get('chunk_index')}"


def _odd_index(_: PreparedRecord, record: Record) -> bool:
    index = record.get("chunk_index")
    return not isinstance(index, int) or isinstance(index, bool)


def _odd_pages(prepared: PreparedRecord, _: Record) -> bool:
    first, last = prepared.metadata.get("page_start"), prepared.metadata.get("page_end")
    return isinstance(first, int) and isinstance(last, int) and first > last


def _other_type(_: PreparedRecord, record: Record) -> bool:
    inner = record["metadata"].get("doc_type")
    return inner is not None and str(inner).strip().upper() != str(record.get("doc_type") or "").strip().upper()


RULES: Sequence[tuple[str, Severity, str, Odd]] = (
    ("chunk_index", "warning", "have a `chunk_index` that is no whole number", _odd_index),
    ("page_order", "warning", "end on a page before the one they start on", _odd_pages),
    ("two_types", "warning", "name another `doc_type` in `metadata`; the record's own counts", _other_type),
    ("no_doc_id", "warning", "have no `doc_id`, so that they belong to no document", lambda one, _: not one.doc_id),
    ("no_type", "info", "have no `doc_type` and are stored as OTHER", lambda _, record: not record.get("doc_type")),
    ("record_id_form", "info", "have a `record_id` that is not `doc_id::chunk_index`", _odd_id),
    (
        "no_component",
        "info",
        "name no component, so that a component filter never finds them",
        lambda one, _: "primary_component_id" not in one.metadata and "component_ids" not in one.metadata,
    ),
)
"""Rule, severity, how the sentence goes on after the number of records, and what makes a record odd."""


def lint_file(prepared: PreparedFile, records: Mapping[str, Record]) -> list[Finding]:
    """Return the findings about a file.

    Args:
        prepared: its records, refused lines and repeated ids.
        records: the whole records by id.
    """
    findings = list(_lint_lines(prepared))
    for rule, severity, sentence, odd in RULES:
        found = [one.record_id for one in prepared.records if odd(one, records[one.record_id])]
        if found:
            message = f"{len(found)} of {len(prepared.records)} records {sentence} ({_listed(found)})"
            findings.append(Finding(rule, severity, message))
    return findings


def _lint_lines(prepared: PreparedFile) -> Iterator[Finding]:
    if prepared.refused:
        first = prepared.refused[0]
        yield Finding(
            "refused_lines",
            "error",
            f"{count(len(prepared.refused), 'line')} {are(len(prepared.refused))} not stored; "
            f"the first is line {first.line}: {first.reason}",
        )
    if prepared.repeated:
        verb = "repeats" if len(prepared.repeated) == 1 else "repeat"
        message = f"{count(len(prepared.repeated), 'line')} {verb} a `record_id`; the last one counts"
        yield Finding("repeated_ids", "warning", f"{message} ({_listed(prepared.repeated)})")
    for key, number in sorted(prepared.left_out_keys.items()):
        yield Finding(
            "key_left_out", "warning", f"metadata {key!r} cannot be stored; left out of {count(number, 'record')}"
        )


def lint_set(shared: Sequence[tuple[str, Sequence[str]]]) -> list[Finding]:
    """Return what only shows across the files of a set: records that stand in several of them."""
    return [
        Finding(
            "in_several_files",
            "warning",
            f"record {record_id} stands in {', '.join(files)}; the last one counts",
            source_id=files[-1],
        )
        for record_id, files in shared
    ]


def as_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values."""
    return {"rule": finding.rule, "severity": finding.severity, "message": finding.message}


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(display_name(one) for one in ids[:_EXAMPLES])
    return f"{shown}, …" if len(ids) > _EXAMPLES else shown
