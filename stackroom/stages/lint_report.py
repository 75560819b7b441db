"""Stage 8: findings about the source's chunks and metadata, with sample windows to look at."""

from dataclasses import asdict
from typing import Any

from stackroom.artefacts import read_json, write_json
from stackroom.fingerprint import fingerprint
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, Unchanged
from stackroom.postcheck import LINT_VERSION, lint_source, select_sample_windows
from stackroom.stages import chunks as chunks_stage
from stackroom.stages import source_document
from stackroom.stages.bench import FileWork
from stackroom.stages.rows import plain_rows

STAGE = "lint_report"
SCHEMA = "stackroom.lint_report/1"
VERSION = 1

SAMPLE_WINDOWS = 3
"""Windows of three neighbouring chunks, at 25, 50 and 75 % of the source."""

SAMPLE_CHARACTERS = 200


def run(work: FileWork) -> Outcome:
    """Lint the source as the stores see it."""
    gathered, report = plain_rows(work), chunks_stage.read_report(work)
    if isinstance(gathered, Failed):
        return gathered
    if report is None:
        return source_document.missing(chunks_stage.STAGE)
    rows, rows_fingerprint = gathered
    made_for = fingerprint(
        STAGE, VERSION, rows=rows_fingerprint.digest, conversion=report.fingerprint, linter=LINT_VERSION
    )
    target = work.artefact(STAGE, "json")
    recorded = read_json(target, SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, recorded.data, _checks(recorded.data))
    findings = lint_source(rows, report.data["summary"])
    data = {
        "source_id": work.source_id,
        "chunks": len(rows),
        "errors": sum(finding.severity == "error" for finding in findings),
        "warnings": sum(finding.severity == "warning" for finding in findings),
        "findings": [asdict(finding) for finding in findings],
        "windows": [
            [{"id": row.metadata.get("readable_id"), "text": row.text[:SAMPLE_CHARACTERS]} for row in window]
            for window in select_sample_windows(rows, SAMPLE_WINDOWS)
        ],
    }
    write_json(target, SCHEMA, made_for, data)
    return Produced(made_for.digest, data, _checks(data))


def _checks(data: dict[str, Any]) -> tuple[CheckResult, ...]:
    return (
        CheckResult(
            "severity_gate",
            passed=data["errors"] == 0,
            message=f"{data['errors']} errors, {data['warnings']} warnings",
            severity="error" if data["errors"] else "warning",
        ),
    )
