import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackroom.config import Bm25Settings
from stackroom.stores.bm25 import carry
from stackroom.stores.bm25.build import build_index
from stackroom.stores.bm25.index import open_index
from stackroom.stores.bm25.versions import current_version

VALUES = st.one_of(st.integers(0, 2), st.booleans(), st.sampled_from([1.0, "a", "ä"]), st.just(["x", "y"]))
CHUNK = st.tuples(
    st.lists(st.sampled_from(["heron", "otter", "the", "swift", "lake", "übel", "7"]), max_size=6).map(" ".join),
    st.dictionaries(st.sampled_from(["year", "kind", "tags"]), VALUES, max_size=3)
    | st.just({"headings": ["Only here", "otter"]}),
)
SOURCES = st.dictionaries(st.sampled_from("abcdefg"), st.lists(CHUNK, max_size=4), max_size=7)


def files_of(version: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in version.iterdir()}


def leave_unread(path: Path) -> None:
    """Damage a file in such a way that only who reads it notices."""
    seen = path.stat()
    path.write_bytes(b"?" * seen.st_size)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(SOURCES, min_size=2, max_size=4), st.sampled_from([0.0, 2.0]))
def test_an_index_made_from_the_one_before_is_the_same_as_one_made_from_nothing(write, tmp_path, history, weight):
    tuned = Bm25Settings(heading_weight=weight)
    for folder in ("index", "fresh", "corpora"):
        shutil.rmtree(tmp_path / folder, ignore_errors=True)
    for number, sources in enumerate(history):
        paths = [write(source, chunks) for source, chunks in sources.items()]
        carried = build_index(paths, tmp_path / "index", tuned)
        fresh = build_index(paths, tmp_path / "fresh" / str(number), tuned)
        assert files_of(carried.folder) == files_of(fresh.folder)
        assert (carried.rows, carried.sources) == (sum(map(len, sources.values())), len(sources))


def test_rows_of_several_batches_are_taken_over(write, tmp_path):
    chunks = [(f"word{number % 97} heron", {"place": number, "kind": "ab"[number % 2]}) for number in range(3000)]
    paths = [write(source, chunks) for source in "abcd"]
    build_index(paths, tmp_path / "index", Bm25Settings())
    paths[1] = write("b", [("only this", {"place": -1})])
    carried = build_index(paths, tmp_path / "index", Bm25Settings())
    fresh = build_index(paths, tmp_path / "fresh", Bm25Settings())
    assert carried.rows == 9001
    assert files_of(carried.folder) == files_of(fresh.folder)


def test_only_the_corpus_files_that_changed_are_read(write, tmp_path):
    paths = [write(source, [f"{source}word heron"]) for source in ("aa", "bb", "cc")]
    build_index(paths, tmp_path / "index", Bm25Settings())
    leave_unread(paths[0])
    leave_unread(paths[2])
    paths[1] = write("bb", ["changed heron"])
    assert build_index(paths, tmp_path / "index", Bm25Settings()).built
    index = open_index(tmp_path / "index")
    assert [hit.text for hit in index.search("heron", 5)] == ["aaword heron", "changed heron", "ccword heron"]
    assert [hit.source_id for hit in index.search("changed", 5)] == ["bb"]


@pytest.mark.parametrize("other", [Bm25Settings(heading_weight=5), Bm25Settings(k1=2.5), Bm25Settings(b=0.1)])
def test_other_weights_give_what_they_give_from_nothing(write, tmp_path, other):
    paths = [write("a", [("heron", {"headings": ["heron otter"]}), "heron swift"]), write("b", ["otter otter"])]
    build_index(paths, tmp_path / "index", Bm25Settings())
    carried = build_index(paths, tmp_path / "index", other)
    assert files_of(carried.folder) == files_of(build_index(paths, tmp_path / "fresh", other).folder)


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied", "deleted"])
def test_a_damaged_index_is_not_built_upon(write, tmp_path, damage):
    """Mapped files are read where they are needed, and some damage would end the process there."""
    paths = [write("a", [("heron lake", {"year": 2001})]), write("b", ["otter"])]
    build_index(paths, tmp_path / "index", Bm25Settings())
    names = sorted(files_of(current_version(tmp_path / "index")))
    assert len(names) >= 10
    for number, name in enumerate(names):
        path = current_version(tmp_path / "index") / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0x10
        left = {"flipped": bytes(content), "cut": bytes(content[: len(content) // 2]), "emptied": b""}
        if damage == "deleted":
            path.unlink()
        else:
            path.write_bytes(left[damage])
        paths[1] = write("b", [f"swift number {number}"])
        built = build_index(paths, tmp_path / "index", Bm25Settings())
        fresh = build_index(paths, tmp_path / "fresh" / name, Bm25Settings())
        assert files_of(built.folder) == files_of(fresh.folder), name


def test_an_index_that_is_too_large_to_sort_is_built_from_the_corpus_files(write, tmp_path, monkeypatch):
    paths = [write("a", ["heron"]), write("b", ["otter"])]
    build_index(paths, tmp_path / "index", Bm25Settings())
    monkeypatch.setattr(carry, "MOST_OCCURRENCES", 1)
    paths[1] = write("b", ["swift"])
    built = build_index(paths, tmp_path / "index", Bm25Settings())
    assert files_of(built.folder) == files_of(build_index(paths, tmp_path / "fresh", Bm25Settings()).folder)


def test_an_index_made_anew_reads_everything(write, tmp_path):
    paths = [write("a", ["heron"]), write("b", ["otter"])]
    report = build_index(paths, tmp_path / "index", Bm25Settings())
    good = files_of(report.folder)
    damaged = bytearray((report.folder / "rows.arrow").read_bytes())
    damaged[damaged.index(b"heron")] = ord("b")
    (report.folder / "rows.arrow").write_bytes(damaged)
    assert files_of(build_index(paths, tmp_path / "index", Bm25Settings(), anew=True).folder) == good
