"""From outcomes to Dagster events; the only place that builds a ``Failure``.

A returned ``MaterializeResult`` would mark every partition of a ranged run as done, failed ones included, so each
success is its own ``AssetMaterialization`` with a partition, each verdict its own ``AssetCheckEvaluation``, and one
``Failure`` at the end of the run turns the partitions without a materialization into failed ones. The failure forbids
retries: a retry of the op would run the whole range again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import dagster as dg

from assets.show import escape, markdown_table
from assets.stage_asset import StageAsset, asset_key
from stackroom.identity import display_name, partition_key
from stackroom.outcome import CheckResult, Failed, Produced, Unchanged

SEVERITIES = {"error": dg.AssetCheckSeverity.ERROR, "warning": dg.AssetCheckSeverity.WARN}


@dataclass(frozen=True)
class FailedFile:
    """A file that did not get through, for the table at the end of the run."""

    source_id: str
    stage: str
    outcome: Failed


def success_events(
    corpus: str, stage: StageAsset, source_id: str, outcome: Produced | Unchanged
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Yield the materialization of a stage for a file, and its check evaluations."""
    key = partition_key(source_id)
    yield dg.AssetMaterialization(
        asset_key(corpus, stage.name),
        partition=key,
        description="unchanged" if isinstance(outcome, Unchanged) else None,
        metadata={**stage.show(outcome.summary), "unchanged": isinstance(outcome, Unchanged)},
        tags={
            "dagster/data_version": outcome.fingerprint,
            "dagster/code_version": str(stage.stage.version),
        },
    )
    for check in outcome.checks:
        yield evaluation(corpus, stage.name, check, key)


def evaluation(corpus: str, stage: str, check: CheckResult, partition: str | None) -> dg.AssetCheckEvaluation:
    """Return the evaluation of a check for one partition."""
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(corpus, stage),
        check_name=check.name,
        passed=check.passed,
        severity=SEVERITIES[check.severity],
        partition=partition,
        description=check.message,
        metadata={"result": dg.MetadataValue.md(escape(check.message))},
    )


def failure_event(corpus: str, stage: StageAsset, source_id: str, outcome: Failed) -> dg.AssetCheckEvaluation:
    """Return the failed check that tells in the UI why a file did not get through."""
    checked_stage, check = stage.failure_check
    evidence = {name: escape(str(value), 1500) for name, value in outcome.evidence.items()}
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(corpus, checked_stage),
        check_name=check,
        passed=False,
        severity=dg.AssetCheckSeverity.ERROR,
        partition=partition_key(source_id),
        description=f"{outcome.reason}: {outcome.message}",
        metadata={
            "reason": dg.MetadataValue.text(outcome.reason.value),
            "stage": dg.MetadataValue.text(stage.name),
            "message": dg.MetadataValue.md(escape(outcome.message)),
            "remedy": dg.MetadataValue.md(escape(outcome.remedy)),
            "evidence": dg.MetadataValue.json(evidence),
        },
    )


def run_failure(failed: list[FailedFile], of: int) -> dg.Failure:
    """Return the failure that ends a run in which some files did not get through."""
    rows: list[Mapping[str, str]] = [
        {
            "file": display_name(file.source_id),
            "stage": file.stage,
            "reason": file.outcome.reason.value,
            "message": file.outcome.message,
            "remedy": file.outcome.remedy,
        }
        for file in failed
    ]
    return dg.Failure(
        f"{len(failed)} of {of} files are not searchable; the others are",
        metadata={
            "failed_files": dg.MetadataValue.md(markdown_table(rows, ["file", "stage", "reason", "message", "remedy"])),
            "failed_count": dg.MetadataValue.int(len(failed)),
        },
        allow_retries=False,
    )
