"""`stackroom status`: every file of the folder has a line, with what is on record about it."""

import datetime as dt
import json
import os
import time

from stackroom.cli import main
from stackroom.cli.output import program
from stackroom.config import load_config
from stackroom.ledger import Ledger, Verdict
from stackroom.sources import scan_folder
from stackroom.state import StateFolder


def record(project, source_id: str, verdict: Verdict) -> None:
    """Write down what became of a file, as an ingestion does."""
    config = load_config(project.folder)
    ledger = Ledger(StateFolder(config.state_folder).ledger)
    ledger.observe("papers", scan_folder(config.corpora["papers"].folder))
    ledger.record("papers", source_id, verdict)
    ledger.close()


def status_json(capsys, *arguments: str) -> list[dict]:
    """Return the sources that `status --json` prints."""
    capsys.readouterr()
    main(["status", "--json", *arguments])
    return json.loads(capsys.readouterr().out)["sources"]


def contents(filled) -> dict:
    """Return what the files of a project hold, but SQLite's own, which open for reading makes and removes."""
    files = (path for path in filled.root.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {path: path.read_bytes() for path in files}


def test_files_of_a_fresh_project_are_pending_and_nothing_is_written(project, capsys):
    project.add_file("a.md")
    project.add_file("deep/a.md")
    assert main(["status"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed == "papers: 2 files, not ingested yet; run `stackroom ingest papers`"
    assert main(["status", "--all"]) == 0
    assert "2 files, 2 pending" in capsys.readouterr().out
    assert [(line["source_id"], line["state"]) for line in status_json(capsys)] == [
        ("a.md", "pending"),
        ("deep/a.md", "pending"),
    ]
    assert not project.state.exists()


def test_the_json_has_exactly_the_documented_keys(project, capsys):
    project.add_file("a.md")
    record(project, "a.md", Verdict("searchable", "r1", chunks=3))
    (line,) = status_json(capsys)
    updated = line.pop("updated_at")
    assert abs(time.time() - dt.datetime.fromisoformat(updated).timestamp()) < 10
    assert len(line.pop("content_hash")) == 64
    assert line == {
        "corpus": "papers",
        "source_id": "a.md",
        "name": "a.md",
        "state": "searchable",
        "reason": None,
        "message": None,
        "remedy": None,
        "chunks": 3,
        "pages": None,
        "missing_pages": [],
        "present": True,
        "outdated": True,  # nothing was ever processed at a revision called r1
    }


def test_a_quarantined_file_gives_two_with_reason_and_remedy(project, capsys):
    project.add_file("locked.pdf")
    verdict = Verdict("quarantined", "r1", reason="encrypted", message="needs a password", remedy="give one")
    record(project, "locked.pdf", verdict)
    assert main(["status"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "1 file, 1 quarantined" in out
    assert "locked.pdf quarantined encrypted; needs a password; → give one" in out


def test_a_file_changed_since_it_was_processed_is_pending(project, capsys):
    path = project.add_file("a.md")
    record(project, "a.md", Verdict("searchable", "r1", chunks=3))
    path.write_text("Other words.")
    os.utime(path, (time.time() + 5, time.time() + 5))
    (line,) = status_json(capsys)
    assert (line["state"], line["message"]) == ("pending", "changed since it was last processed")


def test_a_touched_file_of_the_same_content_is_still_searchable(project, capsys):
    path = project.add_file("a.md")
    record(project, "a.md", Verdict("searchable", "r1", chunks=3))
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert status_json(capsys)[0]["state"] == "searchable"


def test_a_file_that_has_gone_is_shown_as_such(project, capsys):
    path = project.add_file("a.md")
    record(project, "a.md", Verdict("searchable", "r1", chunks=3))
    path.unlink()
    (line,) = status_json(capsys)
    assert (line["state"], line["present"]) == ("searchable", False)
    main(["status"])
    assert "the next ingestion removes it" in " ".join(capsys.readouterr().out.split())


def test_a_strange_name_is_exact_in_json_and_safe_on_the_terminal(project, capsys):
    name = "a\nb [bold] %41 ü.md"
    project.add_file(name)
    (line,) = status_json(capsys)
    assert (line["source_id"], line["name"]) == (name, "a\\nb [bold] %41 ü.md")
    main(["status", "--all"])
    assert "a\\nb [bold] %41 ü.md" in capsys.readouterr().out


def test_searchable_files_of_a_large_corpus_are_counted_and_listed_on_request(project, capsys):
    for number in range(45):
        project.add_file(f"{number:02}.md")
        record(project, f"{number:02}.md", Verdict("searchable", "r1", chunks=1))
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert "45 files, 45 searchable" in out
    assert "07.md" not in out
    main(["status", "--all"])
    assert "07.md" in capsys.readouterr().out


def test_a_corpus_can_be_chosen(project, capsys):
    assert status_json(capsys, "--corpus", "papers") == []
    assert main(["status", "--corpus", "nothing"]) == 1
    assert "known: papers" in capsys.readouterr().err


def test_a_missing_folder_is_named_and_the_other_corpora_are_shown(project, capsys):
    project.add_file("a.md")
    (project.folder / "stackroom.yaml").write_text("corpora: {gone: {folder: disk}, papers: {folder: docs}}\n")
    assert main(["status"]) == 2
    printed = capsys.readouterr()
    assert f"gone: {project.folder / 'disk'} is not an existing folder" in " ".join(printed.err.split())
    assert "papers: 1 file, not ingested yet" in printed.out


def test_a_missing_folder_gives_two_with_the_remedy_in_text_and_json(project, capsys):
    (project.folder / "stackroom.yaml").write_text("corpora: {gone: {folder: disk}, papers: {folder: docs}}\n")
    why = (
        f"gone: {project.folder / 'disk'} is not an existing folder; check that the disk is mounted and the path is "
        "right"
    )
    assert main(["status", "--corpus", "gone"]) == 2
    assert capsys.readouterr().err == f"warning: {why}\n"
    assert main(["status", "--corpus", "gone", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["warnings"] == [why]
    assert main(["status", "--corpus", "papers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_a_missing_folder_of_a_record_set_gives_two(project, capsys):
    (project.folder / "stackroom.yaml").write_text("corpora: {}\nrecords: {plant: {folder: lines}}\n")
    assert main(["status"]) == 2
    assert f"plant: {project.folder / 'lines'} is not an existing folder" in capsys.readouterr().err


def test_changed_settings_are_said_to_wait_for_an_ingestion(own_copy, capsys):
    assert not any(line["outdated"] for line in status_json(capsys))
    own_copy.settings("    chunking: {max_tokens: 100}\n")
    before = contents(own_copy)
    assert main(["status"]) == 0
    said = (
        "notes: settings, curated metadata or contents have changed since 4 files were processed; "
        f"`{program()} ingest notes` processes them again"
    )
    assert said in capsys.readouterr().out.splitlines()
    assert [line["outdated"] for line in status_json(capsys)] == [True] * 4
    assert contents(own_copy) == before
    assert len(own_copy.ingest()) == 4
    assert main(["status"]) == 0
    assert "processed;" not in capsys.readouterr().out


def test_a_new_entry_in_the_curated_map_makes_one_file_outdated_and_nothing_is_written(own_copy, capsys):
    (own_copy.folder / "metadata-map.json").write_text('{"otter.md": {"DEFAULT": {"year": 2020}}}')
    before = contents(own_copy)
    assert main(["status"]) == 0
    assert f"since otter.md was processed; `{program()} ingest notes` processes it again" in capsys.readouterr().out
    assert [line["source_id"] for line in status_json(capsys) if line["outdated"]] == ["otter.md"]
    assert contents(own_copy) == before


def test_settings_that_cannot_be_used_together_are_a_warning_of_the_status(own_copy, capsys):
    own_copy.settings("    chunking: {max_tokens: 999}\n")
    assert main(["status"]) == 0
    assert "notes: corpora.notes.chunking.max_tokens: 999 is above the 256 tokens" in capsys.readouterr().err


def test_a_corpus_that_has_mostly_vanished_is_pointed_out(own_copy, capsys):
    for path in list(own_copy.folder.rglob("*.md"))[:3]:
        path.unlink()
    assert main(["status"]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "notes: nothing is removed: 3 of 4 files have vanished at once" in said
    assert "ingest notes --confirm-deletions`" in said


def test_messages_name_the_settings_file_that_was_read(project, monkeypatch, capsys):
    elsewhere = project.folder / "docs" / "mine.yaml"
    elsewhere.write_text("corpora: {}\n")
    monkeypatch.setenv("STACKROOM_CONFIG", str(elsewhere))
    for arguments, words in (
        (["ingest"], f"{elsewhere} names no corpus; add one under `corpora`"),
        (["records", "ingest"], f"{elsewhere} names no record set; add one under `records`"),
        (["records", "lint", "plant"], f"there is no record set 'plant' under `records:` in {elsewhere}; known: none"),
    ):
        assert main(arguments) == 1
        assert words in capsys.readouterr().err
    assert main(["status"]) == 0
    assert f"into the folders that {elsewhere} names, or run" in capsys.readouterr().out
    elsewhere.write_text("corpora: {papers: {folder: ., chunk: 1}}\n")
    assert main(["status"]) == 1
    assert f"{elsewhere}: corpora.papers.chunk: unknown key" in capsys.readouterr().err
    monkeypatch.setenv("STACKROOM_CONFIG", "other.yaml")
    (project.folder / "other.yaml").write_text("corpora: {}\n")
    assert main(["ingest"]) == 1
    assert capsys.readouterr().err.startswith("error: other.yaml names no corpus")
