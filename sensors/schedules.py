"""The nightly ingestion: the sensor's plan on a clock, for those who do not want a sensor running all day."""

import dagster as dg

from assets.in_flight import busy_sources
from assets.partitions import add_sources, known_sources
from sensors.looks import CANNOT_LOOK, Look, looks, why_not
from sensors.runs import requests_for, why_nothing
from stackroom.config import Config


def nightly_schedules(config: Config) -> list[dg.ScheduleDefinition]:
    """Return, per corpus and record set covered: nightly ingestion and refresh; per corpus also a weekly drift check.

    All are off until switched on.
    """
    known = looks(config, ask_again=True)
    covered = config.schedules.corpora or tuple(known)
    nightly = [
        schedule
        for corpus in covered
        for schedule in (_ingestion(config, corpus, known[corpus]), _refresh(config, corpus))
    ]
    return [*nightly, *(_drift_check(config, corpus) for corpus in covered if corpus in config.corpora)]


def _ingestion(config: Config, corpus: str, look: Look) -> dg.ScheduleDefinition:
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
        try:
            seen = look(busy_sources(instance, corpus))
        except CANNOT_LOOK as error:
            return dg.SkipReason(why_not(error))
        add_sources(instance, corpus, list(seen.plan.process))
        requests = requests_for(corpus, seen, known_sources(instance, corpus), refresh=False)
        return requests or dg.SkipReason(why_nothing(seen))

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
