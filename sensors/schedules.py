"""The nightly ingestion: the sensor's plan on a clock, for those who do not want a sensor running all day."""

import dagster as dg

from assets.in_flight import busy_sources
from assets.partitions import add_sources, known_sources
from resources.bench import bench_of, default_resources
from sensors.runs import requests_for
from stackroom.config import Config
from stackroom.errors import SourceError
from stackroom.stages.reconcile import plan_corpus


def nightly_schedules(config: Config) -> list[dg.ScheduleDefinition]:
    """Return, per corpus covered: nightly ingestion and refresh, weekly drift check; all off until switched on."""
    covered = config.schedules.corpora or tuple(config.corpora)
    return [
        schedule
        for corpus in covered
        for schedule in (_ingestion(config, corpus), _refresh(config, corpus), _drift_check(config, corpus))
    ]


def _ingestion(config: Config, corpus: str) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=f"nightly_{corpus}",
        job_name=f"ingest_{corpus}",
        cron_schedule=config.schedules.nightly,
        execution_timezone=config.schedules.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Takes in what is new or changed in {corpus}.",
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        instance = context.instance
        with bench_of(config, corpus, default_resources(config, corpus)) as bench:
            try:
                planned = plan_corpus(bench, busy=busy_sources(instance, corpus))
            except SourceError as error:
                return dg.SkipReason(f"the folder cannot be read, so nothing was changed: {error}")
        add_sources(instance, corpus, list(planned.process))
        requests = requests_for(config, corpus, planned, known_sources(instance, corpus), refresh=False)
        return requests or dg.SkipReason(f"{planned.unchanged} files unchanged")

    return nightly


def _refresh(config: Config, corpus: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"nightly_refresh_{corpus}",
        job_name=f"refresh_{corpus}",
        cron_schedule=config.schedules.nightly,
        execution_timezone=config.schedules.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Removes vanished files of {corpus} and refreshes its index.",
    )


def _drift_check(config: Config, corpus: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"drift_check_{corpus}",
        job_name=f"drift_{corpus}",
        cron_schedule=config.schedules.drift_check,
        execution_timezone=config.schedules.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=f"Compares the stores of {corpus} with its artefacts.",
    )
