"""Stage 1 of records: read a JSONL file, report every refused line, and write its records as an artefact."""

import json
from dataclasses import dataclass
from typing import Any

from stackroom.artefacts import JsonArtefact, read_footer, read_json, write_json, write_parquet
from stackroom.errors import RecordError, SourceError
from stackroom.fingerprint import Fingerprint, fingerprint
from stackroom.identity import display_name
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, ReasonCode, Unchanged
from stackroom.records.bench import RecordBench, RecordWork
from stackroom.records.flatten import FLATTENER_VERSION
from stackroom.records.lint import RECORD_LINT_VERSION, as_json, lint_file
from stackroom.records.prepare import ROWS_SCHEMA, PreparedFile, prepare_file, rows_table
from stackroom.sources import content_hash
from stackroom.words import are, count

STAGE = "record_file"
VERSION = 1
REPORT_SCHEMA = "stackroom.record_file/1"
MOST_SHOWN = 50
"""Refused lines in a summary; the artefact has all of them."""


@dataclass(frozen=True)
class Needs:
    """What the records of a file depend on besides the file."""

    override: str | None
    register: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, bench: RecordBench) -> "Needs":
        """Return what a bench's settings say."""
        return cls(bench.settings.records.doc_type_override, dict(bench.register))

    def fingerprint(self, digest: str) -> Fingerprint:
        """Return the fingerprint of the records of a file with this content hash."""
        return fingerprint(
            STAGE,
            VERSION,
            content_hash=digest,
            override=self.override,
            register=sorted(self.register.items()),
            flattener=FLATTENER_VERSION,
            linter=RECORD_LINT_VERSION,
        )


def run(work: RecordWork) -> Outcome:
    """Read the file unless exactly this content was read under these settings before."""
    try:
        digest = content_hash(work.path)
        needs = Needs.of(work.bench)
    except SourceError as error:
        return Failed(ReasonCode.MISSING_INPUT, str(error))
    except RecordError as error:
        return Failed(ReasonCode.MISSING_INPUT, str(error), retryable=True)
    made_for = needs.fingerprint(digest)
    known = _known(work, made_for)
    if known is not None and not work.force:
        return Unchanged(made_for.digest, _summary(known.data), _checks(known.data))
    try:
        prepared = prepare_file(work.path, needs.override, needs.register)
    except OSError as error:
        return Failed(ReasonCode.MISSING_INPUT, f"{work.path} cannot be read: {error.strerror}")
    return _write(work, prepared, made_for, digest)


def write_records(work: RecordWork, prepared: PreparedFile, made_for: Fingerprint, digest: str) -> dict[str, Any]:
    """Write the artefacts of a file and note its records in the registry; return the report."""
    whole = {record.record_id: json.loads(record.record) for record in prepared.records}
    data = {
        "path": str(work.path),
        "content_hash": digest,
        "records": len(prepared.records),
        "types": prepared.types(),
        "refused": [line.to_json() for line in prepared.refused],
        "repeated": [display_name(one) for one in prepared.repeated],
        "left_out_keys": prepared.left_out_keys,
        "findings": [as_json(finding) for finding in lint_file(prepared, whole)],
    }
    # The rows are what the report speaks of, so they are written first; the registry tells of them last.
    write_parquet(work.artefact(STAGE, "parquet"), rows_table(prepared.records), ROWS_SCHEMA, made_for)
    write_json(work.artefact(STAGE, "json"), REPORT_SCHEMA, made_for, data)
    work.bench.registry.put_file(work.bench.record_set, work.source_id, prepared.records)
    return data


def read_report(work: RecordWork) -> JsonArtefact | None:
    """Return the report of a file; None when there is none."""
    return read_json(work.artefact(STAGE, "json"), REPORT_SCHEMA)


def _known(work: RecordWork, made_for: Fingerprint) -> JsonArtefact | None:
    report = read_report(work)
    footer = read_footer(work.artefact(STAGE, "parquet"), ROWS_SCHEMA)
    if report is None or footer is None or {report.fingerprint, footer.fingerprint} != {made_for.digest}:
        return None
    noted = work.bench.registry.count(work.bench.record_set, work.source_id)
    return report if report.data["records"] == footer.rows == noted > 0 else None


def _write(work: RecordWork, prepared: PreparedFile, made_for: Fingerprint, digest: str) -> Outcome:
    data = write_records(work, prepared, made_for, digest)
    if prepared.records:
        return Produced(made_for.digest, _summary(data), _checks(data))
    if not prepared.refused:
        return Failed(ReasonCode.EMPTY, f"{work.path.name} holds no line of text")
    first = prepared.refused[0]
    message = f"no line is a record ({count(len(prepared.refused), 'line')}); line {first.line}: {first.reason}"
    return Failed(ReasonCode.CORRUPT, message, {"refused": data["refused"][:MOST_SHOWN]})


def _summary(data: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: data[key] for key in ("path", "content_hash", "records", "types", "findings")},
        "refused": len(data["refused"]),
        "refused_lines": data["refused"][:MOST_SHOWN],
        "repeated": len(data["repeated"]),
    }


def _checks(data: dict[str, Any]) -> tuple[CheckResult, ...]:
    refused, repeated = len(data["refused"]), len(data["repeated"])
    return (
        CheckResult("readable", passed=True, message=count(data["records"], "record")),
        CheckResult(
            "nothing_refused",
            passed=not refused,
            message=f"{count(refused, 'line')} {are(refused)} not stored",
            severity="warning",
        ),
        CheckResult(
            "ids_are_unique",
            passed=not repeated,
            message=f"{count(repeated, 'line')} with the id of another",
            severity="warning",
        ),
    )
