"""From outcomes to Dagster events; the only place that builds a ``Failure``.

A returned ``MaterializeResult`` would mark every partition of a ranged run as done, failed ones included, so each
success is its own ``AssetMaterialization`` with a partition, each verdict its own ``AssetCheckEvaluation``, and one
``Failure`` at the end of the run turns the partitions without a materialization into failed ones. The failure forbids
retries: a retry of the op would run the whole range again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from assets.pointers import Pointers
from assets.show import markdown_table, plain
from assets.stage_asset import StageAsset, asset_key
from stackroom.identity import display_name, partition_key
from stackroom.outcome import CheckResult, Failed, Produced, Unchanged
from stackroom.words import are, count

SEVERITIES = {"error": dg.AssetCheckSeverity.ERROR, "warning": dg.AssetCheckSeverity.WARN}


@dataclass(frozen=True)
class FailedFile:
    """A file that did not get through, for the table at the end of the run."""

    source_id: str
    stage: str
    outcome: Failed


def success_events(
    corpus: str, stage: StageAsset, source_id: str, outcome: Produced | Unchanged, pointers: Pointers
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Yield the materialization of a stage for a file, and its check evaluations.

    The evaluations point to the materialization, which Dagster has stored by the time it asks for the next event.
    """
    key = partition_key(source_id)
    yield dg.AssetMaterialization(
        asset_key(corpus, stage.name),
        partition=key,
        description="unchanged" if isinstance(outcome, Unchanged) else None,
        metadata={**stage.show(outcome.summary), "unchanged": isinstance(outcome, Unchanged)},
        tags={
            "dagster/data_version": outcome.fingerprint,
            "dagster/code_version": str(stage.stage.version),
            **pointers.inputs(stage.stage.needs, key),
        },
    )
    pointers.materialized(stage.name)
    for check in outcome.checks:
        yield _evaluation(corpus, stage.name, check, key, pointers)


def _evaluation(
    corpus: str, stage: str, check: CheckResult, partition: str, pointers: Pointers
) -> dg.AssetCheckEvaluation:
    """Return the evaluation of a check for one partition."""
    return dg.AssetCheckEvaluation(
        asset_key=asset_key(corpus, stage),
        check_name=check.name,
        passed=check.passed,
        severity=SEVERITIES[check.severity],
        partition=partition,
        description=check.message,
        metadata={"result": plain(check.message)},
        target_materialization_data=pointers.target(stage, partition),
    )


def failure_events(
    corpus: str, stage: StageAsset, source_id: str, outcome: Failed, not_reached: Sequence[str], pointers: Pointers
) -> Iterator[dg.AssetCheckEvaluation | dg.AssetObservation]:
    """Yield what tells in the UI why a file did not get through: a failed check, and a note on each partition.

    A failed partition by itself only says that its run failed. The note is an observation, which leaves it failed and
    shows the reason in its place, whichever stage a person looks at.

    Args:
        corpus: corpus name.
        stage: the stage that failed.
        source_id: the file.
        outcome: why.
        not_reached: names of the later stages of the run.
        pointers: finds the materialization the check is about.
    """
    checked_stage, check = stage.failure_check
    key = partition_key(source_id)
    why = {
        "reason": dg.MetadataValue.text(outcome.reason.value),
        "stage": dg.MetadataValue.text(stage.name),
        "message": plain(outcome.message),
        "remedy": plain(outcome.remedy),
    }
    evidence = {name: str(value)[:1500] for name, value in outcome.evidence.items()}
    yield dg.AssetCheckEvaluation(
        asset_key=asset_key(corpus, checked_stage),
        check_name=check,
        passed=False,
        severity=dg.AssetCheckSeverity.ERROR,
        partition=key,
        description=f"{outcome.reason}: {outcome.message}",
        metadata={**why, "evidence": dg.MetadataValue.json(evidence)},
        target_materialization_data=pointers.target(checked_stage, key),
    )
    for name in (stage.name, *not_reached):
        yield dg.AssetObservation(
            asset_key(corpus, name), partition=key, metadata=why, description=f"{outcome.reason}: {outcome.message}"
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
        f"{len(failed)} of {count(of, 'file')} {are(len(failed))} not searchable; the others are",
        metadata={
            "failed_files": dg.MetadataValue.md(markdown_table(rows, ["file", "stage", "reason", "message", "remedy"])),
            "failed_count": dg.MetadataValue.int(len(failed)),
        },
        allow_retries=False,
    )
