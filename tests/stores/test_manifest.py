"""The manifest: what collections should hold."""

import contextlib
import sqlite3
import threading
from dataclasses import replace

import pytest

from stackroom.errors import StoreError
from stackroom.stores.manifest import Comparison, Manifest, ManifestRow, compare

ROW = ManifestRow("sqlite:/x.db", "papers-m", "a/b.pdf", "f1", ("c1", "c2"), "m", 384, "i1")


def test_what_is_noted_is_found_again_by_another_process(tmp_path):
    with Manifest(tmp_path / "state" / "manifest.sqlite") as manifest:
        manifest.put(ROW)
        manifest.put(replace(ROW, source_id="c.pdf", chunk_ids=()))
        manifest.put(replace(ROW, fingerprint="f2"))
    with Manifest(tmp_path / "state" / "manifest.sqlite") as manifest:
        assert manifest.get(ROW.store, ROW.collection, "a/b.pdf") == replace(ROW, fingerprint="f2")
        assert manifest.get(ROW.store, ROW.collection, "nothing.pdf") is None
        assert manifest.get("memory:", ROW.collection, "a/b.pdf") is None
        assert manifest.sources(ROW.store, ROW.collection) == {"a/b.pdf": "f2", "c.pdf": "f1"}
        assert [row.source_id for row in manifest.rows(ROW.store, ROW.collection)] == ["a/b.pdf", "c.pdf"]
        assert manifest.collections() == [(ROW.store, ROW.collection, 2)]
        assert manifest.delete(ROW.store, ROW.collection, "c.pdf")
        assert not manifest.delete(ROW.store, ROW.collection, "c.pdf")
        assert manifest.delete_collection(ROW.store, ROW.collection) == 1
        assert manifest.collections() == []


def test_a_note_about_a_dropped_collection_counts_for_nothing(tmp_path):
    """A store that was deleted while the manifest stayed would otherwise never be filled again."""
    manifest = Manifest(tmp_path / "manifest.sqlite")
    manifest.put(ROW)
    assert manifest.get(ROW.store, ROW.collection, ROW.source_id, instance="i1") == ROW
    assert manifest.get(ROW.store, ROW.collection, ROW.source_id, instance="i2") is None


def test_a_note_is_taken_back_before_rows_are_written(tmp_path):
    """A run that dies between two batches must not leave a note that is right again when the edit is undone."""
    manifest = Manifest(tmp_path / "manifest.sqlite")
    manifest.put(replace(ROW, vectors="v1"))
    manifest.put(replace(ROW, source_id="c.pdf", vectors="v2"))
    manifest.begin(ROW.store, ROW.collection, ROW.source_id, keeps_vectors=True)
    manifest.begin(ROW.store, ROW.collection, "c.pdf", keeps_vectors=False)
    manifest.begin(ROW.store, ROW.collection, "unknown.pdf", keeps_vectors=False)
    assert manifest.get(ROW.store, ROW.collection, ROW.source_id) == replace(ROW, fingerprint="", vectors="v1")
    assert manifest.get(ROW.store, ROW.collection, "c.pdf") == replace(ROW, source_id="c.pdf", fingerprint="")
    assert manifest.sources(ROW.store, ROW.collection) == {ROW.source_id: "", "c.pdf": ""}


def test_a_manifest_of_an_earlier_version_goes_on_serving(tmp_path):
    columns = "store, collection, source_id, fingerprint, chunk_ids, model, dimension, instance"
    with contextlib.closing(sqlite3.connect(tmp_path / "manifest.sqlite")) as old, old:
        old.execute(f"CREATE TABLE manifest ({columns}, PRIMARY KEY (store, collection, source_id)) WITHOUT ROWID")
        old.execute(
            "INSERT INTO manifest VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (ROW.store, ROW.collection, ROW.source_id, "f1", '["c1", "c2"]', "m", 384, "i1"),
        )
    with Manifest(tmp_path / "manifest.sqlite") as manifest:
        assert manifest.get(ROW.store, ROW.collection, ROW.source_id) == ROW
        manifest.put(replace(ROW, vectors="v1"))
    with Manifest(tmp_path / "manifest.sqlite") as manifest:
        assert manifest.get(ROW.store, ROW.collection, ROW.source_id) == replace(ROW, vectors="v1")


def test_several_threads_and_connections_write_at_once(tmp_path):
    path = tmp_path / "manifest.sqlite"

    def work(number):
        with Manifest(path) as manifest:
            for turn in range(20):
                manifest.put(replace(ROW, source_id=f"{number}-{turn}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Manifest(path).sources(ROW.store, ROW.collection)) == 80


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "manifest.sqlite").write_bytes(b"not a database at all, but long enough to be one" * 30)
    with pytest.raises(StoreError, match=r"manifest\.sqlite cannot be used: file is not a database"):
        Manifest(tmp_path / "manifest.sqlite")


def test_comparing_tells_what_to_do():
    assert compare({"a": "1", "b": "2", "c": "3"}, {"b": "2", "c": "old", "d": "4"}) == Comparison(
        ("a",), ("c",), ("d",)
    )
    assert compare({"a": "1"}, {"a": "1"}).agrees
