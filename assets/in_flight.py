"""Which runs of a corpus are queued or running, and which sources they will touch."""

import socket

import dagster as dg
import psutil

from assets.partitions import CORPUS_TAG, known_sources
from stackroom.identity import source_of_partition

PARTITION_TAG = "dagster/partition"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"

LAUNCHER_TAG = "stackroom/launcher"
"""Tag of runs executed by a terminal's own process: which process that is."""

IN_FLIGHT = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def this_process() -> str:
    """Return what names this very process: host, process id, and start time, since ids are used again."""
    return _process_name(psutil.Process())


def runs_of(instance: dg.DagsterInstance, corpus: str) -> list[dg.DagsterRun]:
    """Return queued and running runs of a corpus, however they were started.

    Runs of our own jobs carry the corpus as a tag; runs the UI starts for selected assets carry those assets instead.
    A run that was started from a terminal whose process is dead is marked as failed; nobody else would ever do so.
    """
    of_corpus = [
        run
        for run in instance.get_runs(filters=dg.RunsFilter(statuses=IN_FLIGHT))
        if run.tags.get(CORPUS_TAG) == corpus or any(key.path[0] == corpus for key in run.asset_selection or ())
    ]
    dead = [run for run in of_corpus if _launcher_died(run.tags.get(LAUNCHER_TAG))]
    for run in dead:
        instance.report_run_failed(run, "the process that executed this run has died; what it left is done again")
    return [run for run in of_corpus if run not in dead]


def _launcher_died(launcher: str | None) -> bool:
    if launcher is None:
        return False
    host, process, _ = launcher.split("/")
    if host != socket.gethostname():
        return False  # cannot be seen from here
    try:
        return _process_name(psutil.Process(int(process))) != launcher
    except psutil.NoSuchProcess:
        return True


def _process_name(process: psutil.Process) -> str:
    return f"{socket.gethostname()}/{process.pid}/{process.create_time():.2f}"


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
