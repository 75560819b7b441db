"""A record set as a whole: what has to be done, its keyword indexes, its lint report, and a run without Dagster."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stackroom.artefacts import read_json, write_json
from stackroom.errors import StackroomError
from stackroom.fingerprint import fingerprint
from stackroom.ledger import SourceState, Verdict
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, Unchanged
from stackroom.plan import Plan, plan, still_written, young_files
from stackroom.records import collections, record_file
from stackroom.records.bench import RecordBench, RecordWork
from stackroom.records.flatten import FLATTENER_VERSION
from stackroom.records.lint import RECORD_LINT_VERSION, as_json, lint_set
from stackroom.records.registry import KnownCollection
from stackroom.stages.corpus_lint import not_searchable
from stackroom.stores.bm25.build import build_index
from stackroom.words import are, count

SET_LINT_SCHEMA = "stackroom.records_lint_report/1"


@dataclass(frozen=True)
class RecordStage:
    """One stage: its name, what it reads, how to run it."""

    name: str
    run: Callable[[RecordWork], Outcome]
    version: int
    needs: tuple[str, ...] = ()


STAGES = (
    RecordStage(record_file.STAGE, record_file.run, record_file.VERSION),
    RecordStage(collections.STAGE, collections.run, collections.VERSION, (record_file.STAGE,)),
)


def settings_digest(bench: RecordBench) -> str:
    """Return a hash of everything but the files that the collections of a record set depend on.

    Raises:
        RecordError: the component register cannot be used.
    """
    records = bench.settings.records
    return fingerprint(
        "record_settings",
        1,
        stages={stage.name: stage.version for stage in STAGES},
        override=records.doc_type_override,
        register=sorted((key, list(value)) for key, value in bench.register.items()),
        prefix=records.collection_prefix,
        store=bench.store_uri,
        model=bench.model.key,
        analyser=bench.analyser.identity,
        flattener=FLATTENER_VERSION,
        linter=RECORD_LINT_VERSION,
    ).digest


def revision(content_hash: str, settings: str) -> str:
    """Return the revision a file should be at."""
    return fingerprint("record_revision", 1, content_hash=content_hash, settings=settings).digest


def plan_records(
    bench: RecordBench,
    *,
    force: bool = False,
    retry_quarantined: bool = False,
    confirm_deletions: bool = False,
    busy: Collection[str] = (),
    settle_seconds: float = 0.0,
) -> Plan:
    """Scan the folder, note it in the ledger, and return what has to be done; see :func:`stackroom.plan.plan`.

    With ``settle_seconds``, files modified so recently are left for the next look, unless they look the same as at the
    previous one.

    Raises:
        SourceError: the folder cannot be read; nothing is planned then.
        RecordError: the component register cannot be used.
    """
    young = young_files(bench.scan.files, time.time(), settle_seconds) if settle_seconds else {}
    settling = still_written(young, bench.ledger.swap_young(bench.name, young)) if settle_seconds else frozenset()
    hashes = bench.ledger.observe(bench.name, bench.scan, leave=settling)
    settings = settings_digest(bench)
    known = bench.ledger.sources(bench.name)
    return plan(
        {source: revision(digest, settings) for source, digest in hashes.items()},
        [state for state in known if state.source_id in hashes or not bench.scan.hides(state.source_id)],
        force=force,
        retry_quarantined=retry_quarantined,
        confirm_deletions=confirm_deletions,
        busy=busy,
        settling=settling,
    )


def judge(bench: RecordBench, source_id: str, outcomes: Mapping[str, Outcome], settings: str) -> Verdict | None:
    """Return what to write into the ledger after running stages for a file; None if it is no further than before."""
    read = outcomes.get(record_file.STAGE)
    digest = None if read is None or isinstance(read, Failed) else read.summary["content_hash"]
    state = bench.ledger.source(bench.name, source_id)
    digest = digest or (state.content_hash if state else None)
    at = revision(digest, settings) if digest else None
    failed = next((outcome for outcome in outcomes.values() if isinstance(outcome, Failed)), None)
    if failed is not None:
        name = "pending" if failed.retryable else "quarantined"
        return Verdict(name, at, failed.reason.value, failed.message, failed.remedy)  # type: ignore[arg-type]
    if any(stage.name not in outcomes for stage in STAGES):
        return None
    stored = outcomes[collections.STAGE]
    count = 0 if isinstance(stored, Failed) else int(stored.summary["records"])
    return Verdict("searchable", at, chunks=count)


def build_indexes(bench: RecordBench, *, anew: bool = False) -> Produced | Unchanged:
    """Build the keyword index of every document type from the tokens of all files.

    Args:
        bench: bench of the record set.
        anew: also build those that are up to date.
    """
    report: dict[str, dict[str, Any]] = {}
    differing: list[str] = []
    built = False
    for known in bench.registry.collections(bench.record_set, bench.store_uri):
        if known.model == bench.model.key:
            made = build_index(
                bench.corpus_files(known.label), bench.index_folder(known.label), bench.settings.records.bm25, anew=anew
            )
            report[known.label] = {"records": made.rows, "terms": made.terms, "fingerprint": made.fingerprint}
            built = built or made.built
            differing += _counts_differ(bench, known, made.rows)
    made_for = fingerprint("record_indexes", 1, indexes=report)
    summary = {"types": report, "records": sum(entry["records"] for entry in report.values())}
    message = "; ".join(differing) or "collections, registry and keyword indexes hold the same number of records"
    check = CheckResult("counts_agree", passed=not differing, message=message)
    return (Produced if built else Unchanged)(made_for.digest, summary, (check,))


def _counts_differ(bench: RecordBench, known: KnownCollection, indexed: int) -> list[str]:
    """Say how collection, registry and keyword index of a type differ in the number of their records."""
    stored = bench.store(known, create=True).count()
    noted = bench.registry.counts(known.store, [known.collection])[known.collection]
    if stored == noted == indexed:
        return []
    return [f"{known.label}: {stored} rows in the collection, {noted} noted, {indexed} in the keyword index"]


def lint_records(bench: RecordBench) -> Produced | Unchanged:
    """Gather the findings of all files, and what only shows across them."""
    states = bench.ledger.sources(bench.name)
    reports = {
        state.source_id: artefact
        for state in states
        if state.present and (artefact := record_file.read_report(RecordWork(bench, state.source_id))) is not None
    }
    shared = bench.registry.shared(bench.record_set)
    made_for = fingerprint(
        "records_lint_report",
        RECORD_LINT_VERSION,
        reports={source: artefact.fingerprint for source, artefact in reports.items()},
        states=[[state.source_id, state.state, state.reason, state.content_hash] for state in states],
        shared=shared,
    )
    target = bench.artefacts.root / "records_lint_report.json"
    recorded = read_json(target, SET_LINT_SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest:
        return Unchanged(made_for.digest, recorded.data, _lint_checks(recorded.data))
    files = [
        {
            "file": source,
            "records": artefact.data["records"],
            "refused": len(artefact.data["refused"]),
            "findings": artefact.data["findings"],
        }
        for source, artefact in reports.items()
    ]
    data = {
        "files": len(reports),
        "records": sum(one["records"] for one in files),
        "refused": sum(one["refused"] for one in files),
        "per_file": sorted(files, key=lambda one: (-one["refused"], one["file"])),
        "across": [as_json(finding) for finding in lint_set(shared)],
        "failed": failed_files(states),
    }
    write_json(target, SET_LINT_SCHEMA, made_for, data)
    return Produced(made_for.digest, data, _lint_checks(data))


def ingest_records(bench: RecordBench, **options: Any) -> dict[str, Any]:
    """Bring the collections of a record set into step with its folder, without Dagster.

    Args:
        bench: of the record set.
        options: of :func:`plan_records`.

    Returns:
        Counts, the failed files with reason and remedy, and why deletions were refused, if they were.
    """
    planned = plan_records(bench, **options)
    settings = settings_digest(bench)
    totals = {"upserted": 0, "deleted": 0, "embedded": 0, "refused": 0}
    for source in planned.process:
        outcomes = run_file(RecordWork(bench, source, bool(options.get("force"))), STAGES)
        settle(bench, source, outcomes, settings)
        for outcome in outcomes.values():
            if not isinstance(outcome, Failed):
                for key in totals.keys() & outcome.summary.keys():
                    totals[key] += int(outcome.summary[key])
    for source in planned.delete:
        totals["deleted"] += collections.remove_file(bench, source)
    version = bench.ledger.version(bench.name)
    build_indexes(bench)
    lint_records(bench)
    bench.ledger.mark_indexed(bench.name, version)
    states = [state for state in bench.ledger.sources(bench.name) if state.present]
    return {
        **totals,
        "files": len(planned.process),
        "unchanged": planned.unchanged,
        "removed": len(planned.delete),
        "refused_deletions": planned.refused,
        "records": sum(state.chunks or 0 for state in states),
        "failed": failed_files(states),
    }


def run_file(work: RecordWork, stages: Sequence[RecordStage]) -> dict[str, Outcome]:
    """Run stages for a file until one fails."""
    outcomes: dict[str, Outcome] = {}
    for stage in stages:
        outcomes[stage.name] = outcome = stage.run(work)
        if isinstance(outcome, Failed):
            break
    return outcomes


def settle(bench: RecordBench, source_id: str, outcomes: Mapping[str, Outcome], settings: str) -> Verdict | None:
    """Write what became of a file into the ledger; a quarantined one is taken out of the collections first."""
    verdict = judge(bench, source_id, outcomes, settings)
    if verdict is not None:
        if verdict.state == "quarantined":
            verdict = _withdrawn(bench, source_id, verdict)
        bench.ledger.record(bench.name, source_id, verdict)
    return verdict


def _withdrawn(bench: RecordBench, source_id: str, verdict: Verdict) -> Verdict:
    """Take a quarantined file out of the collections; where that cannot be done now, it is left for the next time."""
    report = record_file.read_report(RecordWork(bench, source_id))
    try:
        collections.withdraw_file(bench, source_id)
    except StackroomError as error:
        return replace(verdict, state="pending", message=f"{verdict.message}; not yet out of the store: {error}")
    if report is not None:  # the refused lines stay readable
        made_for = fingerprint("withdrawn", 1, of=report.fingerprint)
        path = bench.artefacts.path(record_file.STAGE, source_id, "json")
        write_json(path, record_file.REPORT_SCHEMA, made_for, report.data)
    return verdict


def failed_files(states: Iterable[SourceState]) -> list[dict[str, Any]]:
    """Return the files that are not searchable: file, state, reason, message and remedy."""
    shown = ("source_id", "state", "reason", "message", "remedy")
    return [{key: getattr(state, key) for key in shown} for state in states if state.reason and state.present]


def _lint_checks(data: Mapping[str, Any]) -> tuple[CheckResult, ...]:
    failed, refused = data["failed"], data["refused"]
    return (
        CheckResult(
            "nothing_quarantined",
            passed=not failed,
            message=not_searchable(len(failed)),
            details={"files": failed[:20]},
        ),
        CheckResult(
            "nothing_refused",
            passed=not refused,
            message=f"{count(refused, 'line')} of all files {are(refused)} not stored",
            severity="warning",
        ),
    )
