"""The lint report of a corpus: the findings of all its files, and what only shows across files."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stackroom.artefacts import read_json, write_json
from stackroom.fingerprint import fingerprint
from stackroom.metadata_map.curated import DEFAULT
from stackroom.outcome import CheckResult, Produced, Unchanged
from stackroom.postcheck import COMPARED_FIELDS, LINT_VERSION, Finding, lint_corpus, lint_curated
from stackroom.stages import lint_report, metadata_map
from stackroom.stages.bench import Bench
from stackroom.stores.file_memo import FileMemo

CORPUS_LINT_SCHEMA = "stackroom.corpus_lint_report/1"

MEMO_FILE = "corpus-lint-memo.sqlite"
"""Beside the report: what it needs of every source's artefacts."""


def lint_whole_corpus(bench: Bench) -> Produced | Unchanged:
    """Gather the findings of all sources, and look for what only shows across sources (duplicates, missing rows)."""
    states = bench.ledger.sources(bench.name)
    known = [state.source_id for state in states]
    memo = FileMemo(bench.artefacts.root / MEMO_FILE)
    reports = _by_source(bench, memo, lint_report.STAGE, known, _report_values)
    made_for = fingerprint(
        "corpus_lint_report",
        1,
        reports=_digest({source: report["fingerprint"] for source, report in reports.items()}),
        states=_digest([[state.source_id, state.state, state.reason, state.content_hash] for state in states]),
        linter=LINT_VERSION,
        curated=[str(problem) for problem in bench.curated.problems],
    )
    target = bench.artefacts.root / "corpus_lint_report.json"
    recorded = read_json(target, CORPUS_LINT_SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest:
        return Unchanged(made_for.digest, recorded.data, _quarantine_check(recorded.data))
    entries = _by_source(bench, memo, metadata_map.STAGE, known, _entry_values)
    data = _gather(reports, [*lint_curated(bench.curated.problems), *lint_corpus(entries)]) | {
        "states": _count(state.state for state in states),
        "failed": [
            {
                "source_id": state.source_id,
                "state": state.state,
                "reason": state.reason,
                "message": state.message,
                "remedy": state.remedy,
            }
            for state in states
            if state.state == "quarantined" or (state.state == "pending" and state.reason)
        ],
    }
    write_json(target, CORPUS_LINT_SCHEMA, made_for, data)
    return Produced(made_for.digest, data, _quarantine_check(data))


def _by_source(
    bench: Bench, memo: FileMemo, stage: str, sources: Sequence[str], work_out: Callable[[Path], Any]
) -> dict[str, Any]:
    """Return a value of each source's artefact of a stage, for the sources that have one."""
    paths = {bench.artefacts.path_text(stage, source, "json"): source for source in sources}
    kind = f"{stage}/{LINT_VERSION}"
    return {paths[path]: value for path, value in memo.values(kind, paths, work_out).items()}


def _report_values(path: Path) -> dict[str, Any] | None:
    """Return what the report of the corpus says of a source's report."""
    artefact = read_json(path, lint_report.SCHEMA)
    if artefact is None:
        return None
    counts = {name: artefact.data[name] for name in ("source_id", "errors", "warnings", "chunks")}
    return {**counts, "findings": artefact.data["findings"][:5], "fingerprint": artefact.fingerprint}


def _entry_values(path: Path) -> dict[str, Any] | None:
    """Return of a source's merged map entry what is compared across sources."""
    artefact = read_json(path, metadata_map.SCHEMA)
    if artefact is None:
        return None
    fields = artefact.data["merged"].get(DEFAULT) or {}
    return {DEFAULT: {name: fields[name] for name in COMPARED_FIELDS if name in fields}}


def _gather(reports: Mapping[str, Mapping[str, Any]], across: Sequence[Finding]) -> dict[str, Any]:
    shown = ("source_id", "errors", "warnings", "chunks", "findings")
    per_source = [{name: report[name] for name in shown} for report in reports.values()]
    per_source.sort(key=lambda row: (-row["errors"], -row["warnings"], row["source_id"]))
    return {
        "sources": len(reports),
        "chunks": sum(row["chunks"] for row in per_source),
        "errors": sum(row["errors"] for row in per_source),
        "warnings": sum(row["warnings"] for row in per_source),
        "worst": per_source[:50],
        "across": [asdict(finding) for finding in across],
    }


def _quarantine_check(data: dict[str, Any]) -> tuple[CheckResult, ...]:
    failed = data["failed"]
    return (
        CheckResult(
            "nothing_quarantined",
            passed=not failed,
            message=not_searchable(len(failed)),
            details={
                "files": failed[:20],
                "retry": "replace the files, or run `stackroom ingest --retry` to try the same files again",
            },
        ),
    )


def _digest(value: Any) -> str:
    """Return a hash in place of a list of every file, which would be most of the artefact and of the time it takes."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def not_searchable(files: int) -> str:
    """Return how many files are not searchable, in words."""
    if not files:
        return "every file is searchable"
    return "1 file is not searchable" if files == 1 else f"{files} files are not searchable"


def _count(values: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts
