"""The daemon's part of ``scale.py``: from the look that sees a changed file to the end of the run it asks for."""

import contextlib
import os
import signal
import subprocess
import sys
import time

ATTEMPT_SECONDS = 300.0
SEEN_EARLIER_SECONDS = 60.0
"""Age given to the changed file: a file modified a moment ago is left for the look after the next."""


def watched_changes(root, corpus, paths):
    """Change files one after the other while the daemon runs and the sensor is on; return seconds for each.

    Args:
        root: the checkout; ``DAGSTER_HOME`` and the variables of the project are set.
        corpus: whose sensor is switched on.
        paths: files to change.
    """
    import dagster as dg

    with dg.DagsterInstance.get() as instance, _daemon(root, corpus):
        _until(lambda: _ticks(instance), "the first look")
        return [_change(instance, path, number) for number, path in enumerate(paths)]


def _change(instance, path, number):
    """Change a file; return the seconds from the beginning of the look that saw it to the end of its run."""
    before = {run.run_id for run in instance.get_runs()}
    path.write_text(f"# Changed\n\nThis note is about cormorant {number} at {time.time_ns()}.\n")
    os.utime(path, (time.time() - SEEN_EARLIER_SECONDS,) * 2)

    def ended():
        fresh = [record for record in instance.get_run_records() if record.dagster_run.run_id not in before]
        return [record for record in fresh if record.dagster_run.is_finished]

    (run,) = _until(ended, f"a run for {path}")
    assert run.dagster_run.is_success, run.dagster_run.run_id
    looks = [tick for tick in _ticks(instance) if run.dagster_run.run_id in tick.run_ids]
    return {
        "seconds": run.end_time - looks[0].timestamp,
        "until started": run.start_time - looks[0].timestamp,
        "running": run.end_time - run.start_time,
    }


def _ticks(instance):
    """Return the sensor's looks, latest first."""
    states = instance.all_instigator_state()
    return [tick for one in states for tick in instance.get_ticks(one.instigator_origin_id, one.selector_id, limit=5)]


def _until(found, what):
    give_up = time.monotonic() + ATTEMPT_SECONDS
    while not (result := found()):
        assert time.monotonic() < give_up, f"waited in vain for {what}"
        time.sleep(0.2)
    return result


@contextlib.contextmanager
def _daemon(root, corpus):
    """Run the daemon with the sensor switched on, and end it with everything it started."""
    workspace, bin_folder = str(root / "workspace.yaml"), os.path.dirname(sys.executable)  # noqa: PTH120
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    switch = [f"{bin_folder}/dagster", "sensor", "start", f"watch_{corpus}", "-w", workspace]
    subprocess.run(switch, cwd=root, check=True, **quiet)
    daemon = subprocess.Popen(
        [f"{bin_folder}/dagster-daemon", "run", "-w", workspace], cwd=root, start_new_session=True, **quiet
    )
    try:
        yield
    finally:
        os.killpg(daemon.pid, signal.SIGTERM)
        daemon.wait(60)
