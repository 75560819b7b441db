"""Two ingestions at once, and locks whose holder was killed."""

import json
import shutil
import sqlite3
import subprocess
import sys
import time

import psutil
import pytest

from stackroom.atomic import lock_holder, writer_lock
from stackroom.errors import StoreLockedError
from tests.reliability.histories import assert_same
from tests.reliability.processes import LAUNCH, Checkout, kill, wait_until

FILES = 12


def write(checkout: Checkout, files: int = FILES) -> None:
    for number in range(files):
        sentences = "\n\n".join(f"Sentence {n} of note {number} speaks of herons." for n in range(20))
        (checkout.folder / f"note{number:02}.md").write_text(f"# Note {number}\n\n{sentences}")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("store", ["", "sqlite:{root}/state/vectors.db"])
@pytest.mark.parametrize("later", [False, True], ids=["at the same moment", "while the first stores files"])
def test_two_ingestions_at_once_end_like_one(store, later, tmp_path):
    files = 60 if later else FILES  # enough for the second to find the first at work
    checkout = Checkout.make(tmp_path / "two", store=store.format(root=tmp_path / "two"))
    write(checkout, files)
    first = checkout.start(LAUNCH)
    if later:
        for line in first.stdout:
            if b'"file"' in line:
                break
    second = checkout.start(LAUNCH)
    said = second.communicate(timeout=600)[0].decode()
    first.communicate(timeout=600)
    if later:
        assert "another run is working on" in said
    done = checkout.ingest()[-1]
    assert (done["searchable"], done["pending"], done["quarantined"]) == (files, 0, 0)
    fresh = Checkout.make(tmp_path / "fresh", store=f"sqlite:{tmp_path}/fresh/state/vectors.db")
    for path in checkout.folder.iterdir():
        shutil.copy(path, fresh.folder)
    fresh.ingest()
    assert_same(checkout.picture(), fresh.picture())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_whose_process_was_killed_does_not_keep_its_files_busy(tmp_path):
    checkout = Checkout.make(tmp_path / "killed")
    write(checkout)
    process = checkout.start(LAUNCH)
    for line in process.stdout:
        if b'"file"' in line:
            break
    kill(process)
    wait_until(lambda: not checkout.processes(), what="the end of the workers")
    events = checkout.ingest()
    assert not any("other runs" in event.get("message", "") for event in events if event["event"] == "note")
    assert events[-1]["searchable"] == FILES


BEGIN = "import sys; from stackroom_history.storage import History; sys.stdin.readline(); History(sys.argv[1])"


def test_processes_that_begin_on_a_new_folder_at_once_make_records_of_one_version(tmp_path):
    command = [sys.executable, "-c", BEGIN, str(tmp_path / "state")]
    beginners = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(4)]
    time.sleep(4)  # until all have imported what they need, and wait for the line
    for beginner in beginners:
        beginner.stdin.close()
    assert [beginner.wait(60) for beginner in beginners] == [0, 0, 0, 0]
    files = sorted(path for path in (tmp_path / "state").rglob("*.db"))
    assert len(files) == 3
    for path in files:
        with sqlite3.connect(path) as database:
            assert database.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,), path


HOLD = """
import sys, time
from pathlib import Path
from stackroom.atomic import writer_lock
with writer_lock(Path(sys.argv[1]), "the index"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_names_its_holder_and_is_free_once_that_is_killed(tmp_path):
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        time.sleep(1.1)
        refused = "the lock was free although somebody holds it"
        try:
            with writer_lock(lock, "the index"):
                pass
        except StoreLockedError as error:
            refused = str(error)
        holder.kill()
    assert refused.startswith(f"the index is being written by process {holder.pid} on ")
    assert "(for 1 s)" in refused or "(for 2 s)" in refused
    assert json.loads(lock.read_text())["pid"] == holder.pid, "what a killed holder wrote stays, and counts for nothing"
    with writer_lock(lock, "the index"):
        assert f"process {psutil.Process().pid} on" in lock_holder(lock)
    assert lock.read_text() == ""
