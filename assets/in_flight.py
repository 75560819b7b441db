"""Which runs of a corpus are queued or running, and which sources they will touch."""

import dagster as dg

from assets.partitions import CORPUS_TAG, known_sources
from stackroom.identity import source_of_partition

PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"

IN_FLIGHT = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def runs_of(instance: dg.DagsterInstance, corpus: str) -> list[dg.DagsterRun]:
    """Return queued and running runs of a corpus, however they were started.

    Runs of our own jobs carry the corpus as a tag; runs the UI starts for selected assets carry those assets instead.
    """
    return [
        run
        for run in instance.get_runs(filters=dg.RunsFilter(statuses=IN_FLIGHT))
        if run.tags.get(CORPUS_TAG) == corpus or any(key.path[0] == corpus for key in run.asset_selection or ())
    ]


def other_runs(instance: dg.DagsterInstance, corpus: str, run_id: str) -> bool:
    """Return whether runs of the corpus other than ``run_id`` are queued or running."""
    return any(run.run_id != run_id for run in runs_of(instance, corpus))


def busy_sources(instance: dg.DagsterInstance, corpus: str) -> set[str]:
    """Return the sources that queued or running runs of the corpus will touch."""
    busy: set[str] = set()
    ordered: list[str] | None = None
    for run in runs_of(instance, corpus):
        if PARTITION_TAG in run.tags:
            busy.add(source_of_partition(run.tags[PARTITION_TAG]))
        elif RANGE_START_TAG in run.tags:
            ordered = known_sources(instance, corpus) if ordered is None else ordered
            first = source_of_partition(run.tags[RANGE_START_TAG])
            last = source_of_partition(run.tags[RANGE_END_TAG])
            if first in ordered and last in ordered:
                busy.update(ordered[ordered.index(first) : ordered.index(last) + 1])
    return busy
