"""`stackroom ingest` against a process that speaks the protocol: what it asks for, shows, and returns."""

import os
import signal
import subprocess
import sys
import time

import pytest

from stackroom.cli import main

PLAN = {"event": "plan", "files": 2, "unchanged": 1, "pages": 7}
GOOD = {"event": "file", "source_id": "a.pdf", "state": "searchable", "reason": None, "message": None, "remedy": None}
BAD = {
    "event": "file",
    "source_id": "b/[red]lied.pdf",
    "state": "quarantined",
    "reason": "encrypted",
    "message": "the file needs a password",
    "remedy": "give the password",
}


def test_all_fine_gives_zero_and_says_what_to_do_next(project, capsys):
    project.script(
        PLAN, {**GOOD, "pages": 7, "chunks": 20, "seconds": 1.5}, project.done(searchable=3, converted=2, embedded=20)
    )
    assert main(["ingest", "papers"]) == 0
    printed = capsys.readouterr()
    assert "2 files to do, 1 unchanged" in printed.out
    assert "1/2 searchable a.pdf (7 pages, 20 chunks, 1.5 s)" in printed.out
    assert "3 searchable; 2 converted, 20 texts embedded; 1.0 s" in printed.out
    assert 'search "' in printed.out
    assert printed.err == ""


def test_the_process_gets_the_projects_folder_state_and_switches(project):
    project.script(project.done())
    assert main(["ingest", "papers", "--force", "--retry", "--confirm-deletions"]) == 0
    (call,) = project.calls()
    assert call == {
        "arguments": ["ingest", "--corpus", "papers", "--force", "--retry", "--confirm-deletions"],
        "home": str(project.folder),
        "state": str(project.state),
        "offline": "1",
    }


def test_failed_files_give_two_and_a_table_of_reasons_and_remedies(project, capsys):
    project.script(PLAN, GOOD, BAD, project.done(ok=False, searchable=2, quarantined=1, failed=[BAD]))
    assert main(["ingest"]) == 2
    out = capsys.readouterr().out
    assert "2 searchable, 1 quarantined" in out
    row = next(line for line in out.splitlines() if line.strip().startswith("b/[red]lied.pdf"))
    assert " ".join(row.split()[1:]) == "encrypted the file needs a password give the password"


def test_the_remedy_is_filled_in_where_the_process_gives_none(project, capsys):
    project.script(project.done(ok=False, quarantined=1, failed=[{"source_id": "x.pdf", "reason": "empty"}]))
    assert main(["ingest"]) == 2
    assert "replace the file; it holds nothing" in " ".join(capsys.readouterr().out.split())


def test_files_that_another_run_is_working_on_are_pending_and_not_failed(project, capsys):
    project.script(project.done(ok=False, searchable=2, pending=3))
    assert main(["ingest"]) == 2
    out = capsys.readouterr().out
    assert "2 searchable, 3 pending" in out
    assert "failed file" not in out


def test_a_corpus_name_and_a_folder_together_are_refused(project, capsys):
    assert main(["ingest", "papers", "--source", "."]) == 1
    assert "not both" in capsys.readouterr().err
    assert project.calls() == []


def test_an_unknown_corpus_is_refused_with_the_known_names(project, capsys):
    assert main(["ingest", "paper"]) == 1
    assert "known: papers" in capsys.readouterr().err


def test_a_folder_becomes_a_corpus_named_after_it_and_is_remembered(project, tmp_path, capsys):
    (tmp_path / "My Letters").mkdir()
    project.script(project.done(searchable=1))
    assert main(["ingest", "--source", str(tmp_path / "My Letters")]) == 0
    assert main(["ingest"]) == 0
    assert [call["arguments"][2] for call in project.calls()] == ["my_letters", "my_letters", "papers"]
    assert "my_letters" in capsys.readouterr().out


def test_a_folder_that_cannot_be_scanned_is_not_remembered(project, tmp_path, capsys):
    (tmp_path / "letters").mkdir()
    project.script({"event": "error", "message": "letters/x cannot be listed"})
    assert main(["ingest", "--source", str(tmp_path / "letters")]) == 1
    assert "error: letters/x cannot be listed" in capsys.readouterr().err
    assert main(["status", "--corpus", "letters"]) == 1
    assert "there is no corpus 'letters'; known: papers" in capsys.readouterr().err
    project.script({"event": "plan", "files": 1, "unchanged": 0}, {"event": "error", "message": "the disk is full"})
    assert main(["ingest", "--source", str(tmp_path / "letters")]) == 1
    assert main(["status", "--corpus", "letters"]) == 0


def test_the_whole_file_system_is_refused(project, capsys):
    assert main(["ingest", "--source", "/"]) == 1
    assert capsys.readouterr().err == "error: / is the whole file system; give a folder of documents\n"
    assert not project.state.exists() or not (project.state / "corpora.json").exists()


def test_a_folder_inside_another_corpus_or_around_it_is_taken_with_a_warning(project, capsys):
    docs = project.folder / "docs"
    project.script(project.done(searchable=1))
    assert main(["ingest", "--source", str(docs / "deep")]) == 0
    assert capsys.readouterr().err == (
        f"warning: {docs / 'deep'} lies inside the folder of corpus papers, {docs}; files of both are found twice\n"
    )
    assert main(["ingest", "--source", str(project.folder)]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"warning: {project.folder} contains the folder of corpus {name}, {folder}; files of both are found twice"
        for name, folder in (("deep", docs / "deep"), ("papers", docs))
    ]


def test_a_folder_that_does_not_exist_is_named(project, capsys):
    assert main(["ingest", "--source", "/nowhere/at/all"]) == 1
    assert "/nowhere/at/all is not a folder" in capsys.readouterr().err


def test_an_error_event_could_not_run(project, capsys):
    project.script({"event": "error", "message": "the store is being written by process 7 on host"})
    assert main(["ingest"]) == 1
    assert "the store is being written by process 7 on host" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("step", "words"), [({"exit": 3}, "exit code 3"), ({"kill": signal.SIGKILL}, "signal SIGKILL"), ({"exit": 0}, "0")]
)
def test_a_process_that_dies_without_a_word_is_reported_with_its_log(project, capsys, step, words):
    project.script({"stderr": "ImportError: no module named spam"}, step)
    assert main(["ingest"]) == 1
    err = capsys.readouterr().err
    assert words in err
    assert "ImportError: no module named spam" in err
    (log,) = (project.state / "logs").iterdir()
    assert str(log) in err
    assert "ImportError" in log.read_text()


def test_what_libraries_print_between_the_events_goes_to_the_log_only(project, capsys):
    project.script({"stdout": "Downloading: 100%"}, {"stdout": '{"event": "unheard-of"}'}, project.done())
    assert main(["ingest"]) == 0
    printed = capsys.readouterr()
    assert "Downloading" not in printed.out + printed.err
    (log,) = (project.state / "logs").iterdir()
    assert "Downloading: 100%" in log.read_text()


def test_a_dry_run_says_what_would_be_done_and_is_fine(project, capsys):
    project.script({**PLAN, "delete": 4}, {"event": "note", "message": "would process a.pdf"}, project.done(ok=False))
    assert main(["ingest", "--dry-run"]) == 0
    (call,) = project.calls()
    assert call["arguments"] == ["ingest", "--corpus", "papers", "--dry-run"]
    out = capsys.readouterr().out
    assert "2 files to do, 1 unchanged, 4 gone" in out
    assert "would process a.pdf" in out
    assert "searchable" not in out
    # Without a word at the end the process has died, in a dry run too.
    project.script(PLAN)
    assert main(["ingest", "--dry-run"]) == 1
    assert "ended unexpectedly" in capsys.readouterr().err


def test_one_corpus_that_cannot_run_does_not_keep_the_others_from_running(project, capsys):
    (project.folder / "more").mkdir()
    (project.folder / "stackroom.yaml").write_text("corpora:\n  aa: {folder: more}\n  papers: {folder: docs}\n")
    project.script({"event": "error", "message": "locked"})
    assert main(["ingest"]) == 1
    assert [call["arguments"][2] for call in project.calls()] == ["aa", "papers"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_reaches_the_process_exactly_once(project, number):
    """A second signal would stop Dagster from noting that the run was cancelled."""
    project.script(PLAN, {"wait": 60})
    command = subprocess.Popen(
        [sys.executable, "-m", "stackroom", "ingest"], cwd=project.folder, stderr=subprocess.PIPE, text=True
    )
    _wait_until(project.calls)
    time.sleep(0.5)
    command.send_signal(number)
    assert command.wait(30) == 130
    assert command.stderr.read() == "error: interrupted; run the same command again to go on\n"
    assert (project.folder / "interrupted").read_text() == "once"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_killing_the_command_leaves_no_process_behind(project):
    project.script(PLAN, {"wait": 60})
    command = subprocess.Popen([sys.executable, "-m", "stackroom", "ingest"], cwd=project.folder)
    _wait_until(project.calls)
    time.sleep(0.5)
    os.kill(command.pid, signal.SIGKILL)
    command.wait(10)
    _wait_until((project.folder / "interrupted").exists)


def _wait_until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.05)


def test_an_empty_folder_says_where_was_looked_for_what(project, capsys):
    plan = {"event": "plan", "files": 0, "unchanged": 0, "found": 0}
    project.script(plan, project.done())
    assert main(["ingest"]) == 0
    printed = capsys.readouterr().out
    assert f"no documents found in {project.folder}/docs (looked for PDF, Word" in printed
    assert "nothing to do" not in printed


def test_files_that_are_not_tried_again_are_counted(project, capsys):
    project.script(
        {"event": "plan", "files": 0, "unchanged": 3, "found": 5, "held_back": 2}, project.done(searchable=3)
    )
    assert main(["ingest"]) == 0
    said = "nothing to do, 3 unchanged, 2 quarantined and not tried again (`"
    assert said in capsys.readouterr().out


def test_refused_deletions_are_told_on_standard_error_and_by_the_exit_code(project, capsys):
    why = "9 of 10 files have vanished at once; confirm with `--confirm-deletions`"
    project.script({"event": "plan", "files": 0, "unchanged": 1, "refused": why}, project.done(searchable=10))
    assert main(["ingest"]) == 2
    said = f"papers: nothing was removed, and all of it can still be searched: {why}"
    assert said in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (9, "9 files not found in the folder; they are kept, and still searchable"),
        (1, "1 file not found in the folder; it is kept, and still searchable"),
    ],
)
def test_files_that_are_kept_although_they_are_gone_are_counted(project, capsys, kept, words):
    project.script(project.done(searchable=10, kept=kept))
    assert main(["ingest"]) == 0
    out = capsys.readouterr().out
    assert "  10 searchable; 0 converted" in out
    assert f"  {words}\n" in out
