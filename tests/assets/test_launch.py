"""What `stackroom ingest` runs: its messages, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from assets import launch
from assets.build import build_defs
from assets.in_flight import RANGE_END_TAG, RANGE_START_TAG
from assets.partitions import CORPUS_TAG, add_sources
from stackroom.ledger import Verdict
from stackroom.sources import scan_folder
from stackroom.stages.reconcile import plan_corpus

ROOT = Path(__file__).resolve().parents[2]


def test_an_interrupted_run_ends_the_whole_ingestion(project):
    for name in ("a.md", "b.md"):
        project.write(name, f"# {name}")

    def interrupt(source, outcomes, verdict):
        os.kill(os.getpid(), signal.SIGINT)

    with project.bench() as bench:
        add_sources(project.instance, "notes", list(plan_corpus(bench).process))
    tags = {RANGE_START_TAG: "a.md", RANGE_END_TAG: "b.md", CORPUS_TAG: "notes"}
    definitions = build_defs(project.config, listener=interrupt)
    with pytest.raises(KeyboardInterrupt):
        launch._run(definitions, "ingest_notes", project.instance, tags, launch.QUIET)
    assert [run.status for run in project.instance.get_runs()] == [dg.DagsterRunStatus.FAILURE]
    # What was finished stays, the rest is still to do; so the same command goes on from here.
    assert sorted(project.states().values()) == [("pending", None), ("searchable", None)]


def test_files_that_were_not_removed_count_as_searchable_and_as_kept(project):
    for name in ("a.md", "b.md", "c.md"):
        project.write(name, f"# {name}")
    with project.bench() as bench:
        for source in plan_corpus(bench).process:
            bench.ledger.record("notes", source, Verdict("searchable", "r1", chunks=2))
    for path in (project.folder / "a.md", project.folder / "b.md"):
        path.unlink()
    with project.bench() as bench:
        plan_corpus(bench)
    said = []
    tally = launch.Tally(lambda event, **values: said.append((event, values)))
    assert launch._report(project.config, "notes", tally, crashed=False) == 0
    ((event, values),) = said
    counted = {key: values[key] for key in ("searchable", "quarantined", "pending", "kept", "chunks", "refused_lines")}
    assert (event, counted) == (
        "done",
        {"searchable": 3, "quarantined": 0, "pending": 0, "kept": 2, "chunks": 6, "refused_lines": None},
    )


def test_pipes_and_links_that_are_not_followed_are_named_and_hidden_files_are_not(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / ".hidden.md").write_text("x")
    (tmp_path / "round.md").symlink_to("round.md")
    (tmp_path / "again").symlink_to(".")
    (tmp_path / "song.xyz").write_text("x")
    assert launch._notes(scan_folder(tmp_path), []) == [
        "skipped round.md: link that leads back to itself",
        "skipped again: link to a folder",
        "skipped pipe.md: not a regular file",
        "skipped song.xyz: not a supported type of document",
    ]


def events(root, *switches):
    """Run the process that ingests, as the command line does, and return its messages and its exit code."""
    environment = {
        **os.environ,
        "STACKROOM_CONFIG": str(root / "stackroom.yaml"),
        "STACKROOM_STATE": str(root / "state"),
        "DAGSTER_HOME": str(ROOT),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    command = [sys.executable, "-m", "assets.launch", "ingest", "--corpus", "notes", *switches]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)
    return [json.loads(line) for line in ended.stdout.splitlines()], ended.returncode


@pytest.mark.slow
def test_messages_name_the_plan_every_file_and_the_end_also_of_a_dry_run(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Herons\n\nThe heron waits.")
    (tmp_path / "docs" / "empty.pdf").write_bytes(b"")
    notes = f"{{folder: '{tmp_path}/docs', vector_store: 'sqlite:{tmp_path}/v.db'}}"
    (tmp_path / "stackroom.yaml").write_text(f"limits: {{workers: 1}}\ncorpora:\n  notes: {notes}\n")
    said, code = events(tmp_path, "--dry-run")
    assert code == 0
    assert [one["event"] for one in said] == ["plan", "note", "note", "done"]
    assert (said[0]["files"], said[0]["pages"]) == (2, None)
    assert (said[-1]["searchable"], said[-1]["pending"], said[-1]["converted"]) == (0, 2, 0)

    said, code = events(tmp_path)
    assert code == 2
    files = {one["source_id"]: (one["state"], one["reason"]) for one in said if one["event"] == "file"}
    assert files == {"a.md": ("searchable", None), "empty.pdf": ("quarantined", "empty")}
    assert (said[-1]["searchable"], said[-1]["quarantined"], said[-1]["converted"]) == (1, 1, 1)

    said, code = events(tmp_path, "--dry-run")
    assert (code, said[0]["files"], said[-1]["event"], said[-1]["quarantined"]) == (0, 0, "done", 1)
