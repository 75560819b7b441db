"""The ledger notices what changed, hashes nothing else, and forgets only when told."""

import os
import time

import pytest

from stackroom.ledger import Ledger, Verdict
from stackroom.plan import plan
from stackroom.sources import scan_folder


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "docs"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "state" / "ledger.sqlite")


def write(path, text, age_seconds=60.0):
    path.write_text(text)
    stamp = time.time() - age_seconds
    os.utime(path, (stamp, stamp))


def states(ledger):
    return {state.source_id: (state.state, state.present) for state in ledger.sources("c")}


def test_only_what_could_have_changed_is_hashed(ledger, folder, monkeypatch):
    write(folder / "a.md", "one")
    write(folder / "b.md", "two")
    first = ledger.observe("c", scan_folder(folder))
    hashed = []

    def counting(path):
        hashed.append(path.name)
        return "new"

    monkeypatch.setattr("stackroom.ledger.content_hash", counting)
    write(folder / "b.md", "three", age_seconds=30)
    second = ledger.observe("c", scan_folder(folder))
    assert hashed == ["b.md"]
    assert second == {"a.md": first["a.md"], "b.md": "new"}


def test_a_change_within_the_same_time_stamp_is_noticed(ledger, folder):
    path = folder / "a.md"
    path.write_text("one")
    stat = path.stat()
    first = ledger.observe("c", scan_folder(folder))
    path.write_text("two")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    second = ledger.observe("c", scan_folder(folder))
    assert first["a.md"] != second["a.md"]


def test_there_and_back_again_is_noticed_both_times(ledger, folder):
    seen = []
    for text in ("A", "B", "A"):
        write(folder / "a.md", text, age_seconds=100 - len(seen))
        seen.append(ledger.observe("c", scan_folder(folder))["a.md"])
    assert seen[0] == seen[2] != seen[1]


def test_a_vanished_file_is_absent_but_not_forgotten_and_may_come_back(ledger, folder):
    write(folder / "a.md", "one")
    ledger.observe("c", scan_folder(folder))
    ledger.record("c", "a.md", Verdict("searchable", "r1", chunks=3, pages=1))
    (folder / "a.md").unlink()
    ledger.observe("c", scan_folder(folder))
    assert states(ledger) == {"a.md": ("searchable", False)}
    write(folder / "a.md", "one")
    ledger.observe("c", scan_folder(folder))
    assert states(ledger) == {"a.md": ("searchable", True)}
    ledger.forget("c", ["a.md"])
    assert states(ledger) == {}


def test_the_verdict_is_told_back(ledger, folder):
    write(folder / "a.pdf", "x")
    ledger.observe("c", scan_folder(folder))
    ledger.record("c", "a.pdf", Verdict("partial", "r", "partial", "pages not read: 2, 5", None, 7, 9, (2, 5)))
    (state,) = ledger.sources("c")
    assert (state.state, state.reason, state.chunks, state.pages, state.missing_pages) == (
        "partial",
        "partial",
        7,
        9,
        (2, 5),
    )


def test_the_version_grows_with_every_change_and_not_without(ledger, folder):
    write(folder / "a.md", "one")
    ledger.observe("c", scan_folder(folder))
    before = ledger.version("c")
    ledger.observe("c", scan_folder(folder))
    assert ledger.version("c") == before
    ledger.record("c", "a.md", Verdict("searchable", "r"))
    assert ledger.version("c") == before + 1
    assert ledger.needs_index("c")
    ledger.mark_indexed("c", ledger.version("c"))
    assert not ledger.needs_index("c")


def test_exact_duplicates_are_found_within_a_corpus_only(ledger, folder):
    write(folder / "a.md", "same")
    write(folder / "b.md", "same")
    digest = ledger.observe("c", scan_folder(folder))["a.md"]
    ledger.observe("other", scan_folder(folder))
    assert ledger.duplicates("c", "a.md", digest) == ["b.md"]


def test_two_corpora_do_not_meet(ledger, folder):
    write(folder / "a.md", "one")
    ledger.observe("c", scan_folder(folder))
    assert ledger.sources("d") == []


def test_a_source_whose_processing_broke_off_is_processed_again_though_it_is_what_it_was(ledger, folder):
    """An edit is made, its run dies, the edit is undone: nothing looks changed, but stores may hold half of it."""
    write(folder / "a.md", "one")
    ledger.observe("c", scan_folder(folder))
    ledger.record("c", "a.md", Verdict("searchable", "r1", chunks=3))
    assert plan({"a.md": "r1"}, ledger.sources("c")).process == ()
    ledger.begin("c", "a.md")
    assert ledger.source("c", "a.md").state == "searchable"
    assert plan({"a.md": "r1"}, ledger.sources("c")).process == ("a.md",)
    ledger.record("c", "a.md", Verdict("searchable", "r1", chunks=3))
    assert plan({"a.md": "r1"}, ledger.sources("c")).process == ()
