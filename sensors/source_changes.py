"""The sensor: look at the folder, make the plan, request runs. It decides nothing; `stackroom.plan` does."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.in_flight import busy_sources, runs_of
from assets.partitions import add_sources, known_sources
from sensors.looks import CANNOT_LOOK, Look, looks, why_not
from sensors.runs import requests_for, why_nothing
from stackroom.config import Config


def source_sensors(config: Config, jobs: Mapping[str, Sequence[Any]]) -> list[dg.SensorDefinition]:
    """Return one sensor per corpus and record set, off until switched on.

    Args:
        config: settings.
        jobs: the jobs of each of them that a sensor may request.
    """
    look_at = looks(config, settle=True)
    return [_source_sensor(config, corpus, jobs[corpus], look) for corpus, look in look_at.items()]


def _source_sensor(config: Config, corpus: str, jobs: Sequence[Any], look: Look) -> dg.SensorDefinition:
    @dg.sensor(
        name=f"watch_{corpus}",
        jobs=jobs,
        minimum_interval_seconds=config.schedules.sensor_seconds,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=f"Takes in new and changed files of {corpus}, removes vanished ones, refreshes the index.",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        instance = context.instance
        busy = busy_sources(instance, corpus)
        try:
            seen = look(busy)
        except CANNOT_LOOK as error:
            return dg.SkipReason(why_not(error))
        planned = seen.plan
        add_sources(instance, corpus, list(planned.process))
        # Runs end with a refresh of their own, which removes nothing; and one that is queued or running is enough.
        wanted = bool(planned.delete) or (seen.behind and not planned.process)
        refresh = wanted and not runs_of(instance, corpus)
        ordered = known_sources(instance, corpus) if planned.process else []
        requests = requests_for(corpus, seen, ordered, refresh=refresh)
        if not requests:
            return dg.SkipReason(why_nothing(seen))
        return dg.SensorResult(run_requests=requests, cursor=str(seen.version))

    return watch
