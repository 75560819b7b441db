"""Run requests for a plan."""

import dagster as dg

from assets.in_flight import RANGE_END_TAG, RANGE_START_TAG
from assets.partitions import CORPUS_TAG
from sensors.looks import RELOAD, Seen
from stackroom.identity import partition_key
from stackroom.plan import runs_for
from stackroom.words import count


def requests_for(corpus: str, seen: Seen, ordered: list[str], *, refresh: bool) -> list[dg.RunRequest]:
    """Return one ranged run per stretch of neighbouring files to process, and one to refresh the corpus-wide assets.

    Args:
        corpus: corpus name.
        seen: what there is to do.
        ordered: all sources with partitions, in the order Dagster knows them.
        refresh: whether to request the refresh of index, lint report and stores JSON.
    """
    requests = [
        dg.RunRequest(
            job_name=f"ingest_{corpus}",
            tags={RANGE_START_TAG: partition_key(first), RANGE_END_TAG: partition_key(last), CORPUS_TAG: corpus},
        )
        for first, last in runs_for(seen.plan, ordered, seen.settings.schedules.partitions_per_run)
    ]
    if refresh:
        requests.append(dg.RunRequest(job_name=f"refresh_{corpus}", tags={CORPUS_TAG: corpus}))
    return requests


def why_nothing(seen: Seen) -> str:
    """Return what the tick says when there is nothing to request."""
    planned = seen.plan
    if planned.refused:
        return planned.refused
    said = [f"{count(planned.unchanged, 'file')} unchanged"]
    if planned.held_back:
        said.append(f"{len(planned.held_back)} quarantined and not tried again before they or the settings change")
    if planned.settling:
        said.append(f"{len(planned.settling)} still being written and left for the next look")
    if seen.outdated:
        said.append(RELOAD)
    return "; ".join(said)
