"""Killed with SIGKILL at random moments, the next undisturbed run leaves what a run that was never disturbed leaves."""

import json
import os
import random
import shutil
import time
from pathlib import Path

import dagster as dg
import pytest

from assets.in_flight import runs_of
from assets.partitions import known_sources
from stackroom.housekeeping import LEFTOVER_SECONDS, tidy
from tests.reliability.histories import CORPUS, assert_same
from tests.reliability.processes import LAUNCH, Checkout, kill, wait_until

FILES = 40
KILLS = int(os.environ.get("STACKROOM_KILLS", "12"))
"""Times that an ingestion is killed; the number in docs/reliability.md was measured with 50."""
SEED = int(os.environ.get("STACKROOM_KILLS_SEED", "20261130"))
KILLS_PER_STATE = 17
LIBRARY = Path(__file__).resolve().parents[2] / "library"


def fill(folder: Path) -> None:
    """Write 40 small files of several kinds, two of which have the same content and one of which is bad."""
    for number in range(FILES - 6):
        kind = ("md", "txt", "html", "csv")[number % 4]
        sentences = [
            f"Sentence {n} of note {number} speaks of herons, boilers and otters." for n in range(3 + number // 2)
        ]
        text = {
            "md": f"# Note {number}\n\n" + "\n\n".join(sentences),
            "txt": "\n\n".join(sentences),
            "html": f"<html><body><h1>Note {number}</h1>"
            + "".join(f"<p>{s}</p>" for s in sentences)
            + "</body></html>",
            "csv": "number,sentence\n" + "\n".join(f'{n},"{s}"' for n, s in enumerate(sentences)),
        }[kind]
        path = folder / f"part{number % 3}" / f"note{number:02}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(folder / "part0" / "note00.md", folder / "copy of note00.md")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4\n" + bytes(range(256)) * 8)
    for path in sorted(path for path in LIBRARY.rglob("*") if path.suffix in (".docx", ".pptx", ".epub", ".odt"))[:3]:
        shutil.copy(path, folder / path.name)
    number = sum(path.is_file() for path in folder.rglob("*"))
    for extra in range(number, FILES):
        (folder / f"extra{extra}.md").write_text(f"# Extra {extra}\n\nThe swift sleeps in flight.")


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_killed_at_random_moments_the_next_run_completes_the_work(tmp_path, monkeypatch, capsys):
    undisturbed = Checkout.make(tmp_path / "undisturbed")
    fill(undisturbed.folder)
    began = time.monotonic()
    done = undisturbed.ingest()[-1]
    duration = time.monotonic() - began
    assert (done["searchable"] + done["partial"], done["quarantined"]) == (FILES - 1, 1)
    expected = undisturbed.picture()
    assert expected.problems == ()

    killed = Checkout.make(tmp_path / "killed")
    fill(killed.folder)
    chance = random.Random(SEED)
    moments: dict[str, int] = {}
    for number in range(KILLS):
        turn = number % KILLS_PER_STATE
        if number and turn == 0:  # the work is done by now: begin again, so that all phases are met
            shutil.rmtree(killed.state)
        process = killed.start(LAUNCH)
        if turn >= KILLS_PER_STATE - 4:  # the files are stored: meet the removal, the index, the reports
            where = read_until(process, files=None)
            time.sleep(chance.uniform(0, 4))
        elif turn % 2:
            where = "any time"
            time.sleep(chance.uniform(0, 30))
        else:
            where = read_until(process, files=chance.randint(0, 6))
            time.sleep(chance.uniform(0, 0.5))
        moments[where] = moments.get(where, 0) + 1
        kill(process)
        wait_until(lambda: not killed.processes(), what="the end of the workers of a killed run")
    done = killed.ingest()[-1]
    assert (done["searchable"] + done["partial"], done["quarantined"]) == (FILES - 1, 1)
    assert_same(killed.picture(), expected)
    assert killed.processes() == []
    assert records(killed, monkeypatch) == (sorted(expected.states), [])
    left = killed.temporary()
    tidy(killed.library().config, now=time.time() + 2 * LEFTOVER_SECONDS)
    assert killed.temporary() == []
    assert_same(killed.picture(), expected)
    again = killed.ingest()
    assert next(event for event in again if event["event"] == "plan")["files"] == 0
    with capsys.disabled():
        print(f"\n{KILLS} kills, seed {SEED}, {moments}; a run takes {duration:.0f} s; left and tidied: {left}")


def read_until(process, files: int | None) -> str:
    """Read the run's messages until so many files were reported, None for all; return what it was doing then."""
    reported = wanted = 0
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "plan":
            wanted = event["files"] if files is None else files
        reported += event["event"] == "file"
        if event["event"] in ("plan", "file") and reported >= wanted:
            break
    return "the end" if files is None else "the files" if reported else "the plan"


def records(checkout: Checkout, monkeypatch) -> tuple[list[str], list[str]]:
    """Return the sources that Dagster has partitions of, and the runs it takes for queued or running."""
    monkeypatch.setenv("STACKROOM_STATE", str(checkout.state))
    with dg.DagsterInstance.from_config(str(checkout.root)) as instance:
        return sorted(known_sources(instance, CORPUS)), [run.run_id for run in runs_of(instance, CORPUS)]
