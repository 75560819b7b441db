"""Deleting what is too old: runs of Dagster's records, and what the library finds in the state folder.

A run is deleted with everything it logged, so the newest run of every file and asset stays, however old: its events
are what the asset's pages show. Runs that later ones have superseded go, and with them older points of the plots.

``python -m assets.tidy`` is what ``stackroom tidy`` starts; it prints one JSON object.
"""

import argparse
import datetime as dt
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import DagsterEventType, DagsterRunStatus

from stackroom.config import Config, load_config
from stackroom.errors import StackroomError
from stackroom.housekeeping import Tidied, tidy

JOB = "tidy"
FINISHED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
SHOWN = {DagsterEventType.ASSET_MATERIALIZATION, DagsterEventType.ASSET_OBSERVATION}
"""Events that the pages of assets and partitions show; every check evaluation stands beside one of them."""
PAGE = 200
"""Runs read at a time."""


class TidyConfig(dg.Config):
    """Launchpad options of the deletion of what is too old."""

    dry_run: bool = False


def tidy_job(config: Config) -> dg.JobDefinition:
    """Return the job that deletes what is too old."""
    settings = config  # the op's own parameter has to be called `config`

    @dg.op(name="delete_what_is_too_old", description="Deletes superseded runs, orphaned artefacts and unused caches.")
    def delete(context: dg.OpExecutionContext, config: TidyConfig) -> None:
        done = tidy_everything(settings, context.instance, dry_run=config.dry_run)
        for one in done:
            context.log.info(f"{one.kind}: {one.count}, {one.megabytes:.1f} MB")
        context.add_output_metadata({one.kind: dg.MetadataValue.int(one.count) for one in done})

    @dg.job(name=JOB, description="Delete what is older than the settings under `retention` say and not needed.")
    def job() -> None:
        delete()

    return job


def tidy_schedule(config: Config) -> dg.ScheduleDefinition:
    """Return the schedule of the job, off until it is switched on."""
    return dg.ScheduleDefinition(
        name=JOB,
        job_name=JOB,
        cron_schedule=config.schedules.tidy,
        execution_timezone=config.schedules.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Deletes superseded runs, orphaned artefacts and what caches hold that is not used any more.",
    )


def tidy_everything(
    config: Config, instance: dg.DagsterInstance, *, dry_run: bool = False, now: dt.datetime | None = None
) -> list[Tidied]:
    """Delete superseded runs and what is not needed in the state folder.

    Args:
        config: the project's settings.
        instance: whose runs are deleted.
        dry_run: only say what would be deleted.
        now: the time (default: the clock's).
    """
    now = now or dt.datetime.now(dt.UTC)
    old = list(superseded_runs(instance, now - dt.timedelta(days=config.retention.runs_days)))
    size = sum(_size(instance, run.run_id) for run in old)
    if not dry_run:
        for run in old:
            delete_run(instance, run.run_id)
    names = tuple(f"{run.job_name} {run.run_id[:8]}" for run in old[:20])
    return [Tidied("runs", len(old), size / 2**20, names), *tidy(config, dry_run=dry_run, now=now.timestamp())]


def superseded_runs(instance: dg.DagsterInstance, before: dt.datetime) -> Iterator[dg.DagsterRun]:
    """Yield finished runs made before a time, none of whose events is the newest of its file or asset."""
    cursor: str | None = None
    while True:
        filters = dg.RunsFilter(statuses=FINISHED, created_before=before)
        runs = instance.get_runs(filters=filters, cursor=cursor, limit=PAGE)
        yield from (run for run in runs if not _holds_newest(instance, run.run_id))
        if len(runs) < PAGE:
            return
        cursor = runs[-1].run_id


def delete_run(instance: dg.DagsterInstance, run_id: str) -> None:
    """Delete a run, its events and its logs, and the file that held them."""
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    instance.delete_run(run_id)
    file = _file(instance, run_id)
    if file is not None:
        for path in (file, *(file.with_name(f"{file.name}-{kind}") for kind in ("wal", "shm"))):
            path.unlink(missing_ok=True)


def _holds_newest(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Return whether a run logged the newest materialization of a partition, or why its newest attempt failed."""
    seen: set[tuple[dg.AssetKey, str | None]] = set()
    cursor: str | None = None
    while True:
        page = instance.get_records_for_run(run_id, cursor=cursor, of_type=SHOWN, limit=PAGE)
        for record in page.records:
            entry = record.event_log_entry
            event = entry.dagster_event
            if event is None or event.asset_key is None:
                continue
            place = (event.asset_key, event.partition)
            if place not in seen and run_id in _newest(instance, *place):
                return True
            seen.add(place)
        if not page.has_more:
            return False
        cursor = page.cursor


def _newest(instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None) -> set[str]:
    """Return the run of the newest materialization, and that of a later note on why another attempt failed."""
    wanted: Any = dg.AssetRecordsFilter(key, asset_partitions=None if partition is None else [partition])
    made = next(iter(instance.fetch_materializations(wanted, limit=1).records), None)
    noted = next(iter(instance.fetch_observations(wanted, limit=1).records), None)
    runs = {made.run_id} if made is not None else set()
    if noted is not None and (made is None or noted.timestamp > made.timestamp):
        runs.add(noted.run_id)
    return runs


def _file(instance: dg.DagsterInstance, run_id: str) -> Path | None:
    """Return the file of a run's events, where the storage keeps one per run (SQLite does, PostgreSQL does not)."""
    path_of = getattr(instance.event_log_storage, "path_for_shard", None)
    return None if path_of is None else Path(path_of(run_id))


def _size(instance: dg.DagsterInstance, run_id: str) -> int:
    file = _file(instance, run_id)
    with suppress(FileNotFoundError):
        return file.stat().st_size if file is not None else 0
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Tidy up, print what was done as JSON, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m assets.tidy")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
    options = parser.parse_args(arguments)
    try:
        done = tidy_everything(load_config(Path.cwd()), dg.DagsterInstance.get(), dry_run=options.dry_run)
    except (StackroomError, OSError) as error:
        print(json.dumps({"error": str(error)}))  # noqa: T201 - this is the program's answer
        return 1
    print(json.dumps({"deleted": [one.to_json() for one in done]}))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
