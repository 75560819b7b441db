"""The SQLite store: several processes, and the matrix and columns in memory that follow the file."""

import importlib.util
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stackroom.errors import StoreError, StoreLockedError
from stackroom.stores.base import open_store

SCRIPT = Path(__file__).with_name("store_process.py")
_found = importlib.util.spec_from_file_location("store_process", SCRIPT)
others = importlib.util.module_from_spec(_found)
_found.loader.exec_module(others)


@pytest.fixture
def uri(tmp_path):
    return f"sqlite:{tmp_path / 'store.sqlite'}"


def check_like_memory(store, rows):
    """Compare answers with a store that holds the same rows in memory."""
    with open_store("memory:sqlite-test", others.spec()) as exact:
        for source in exact.source_ids() | {row.source_id for row in rows}:
            exact.replace_source(source, [row for row in rows if row.source_id == source])
        assert store.count() == exact.count()
        for query in range(5000, 5006):
            for where in (None, {"number": {"$lt": 20}}, {"number": {"$ne": 3}}, {"other": 1}):
                assert store.query(others.vector_of(query), 7, where) == exact.query(others.vector_of(query), 7, where)


def test_memory_follows_what_other_processes_write_and_delete(uri):
    first, second = open_store(uri, others.spec()), open_store(uri, others.spec())
    a, b = others.rows_of("a", range(40)), others.rows_of("b", range(30, 60))
    first.upsert(a)
    check_like_memory(second, a)
    first.upsert(b)
    check_like_memory(second, a + b)
    second.replace_source("a", a[:10])
    check_like_memory(first, a[:10] + b)
    first.delete_source("b")
    first.upsert(others.rows_of("c", range(7)))  # takes row numbers that were used before
    check_like_memory(second, a[:10] + others.rows_of("c", range(7)))
    changed = [row.__class__(row.chunk_id, "c", "t", {"other": 1}) for row in others.rows_of("c", range(3))]
    first.update_metadata("c", changed)
    assert {hit.chunk_id for hit in second.query(others.vector_of(0), 9, {"other": 1})} == {"c#0", "c#1", "c#2"}
    assert {hit.chunk_id for hit in second.query(others.vector_of(0), 9, {"number": {"$lt": 5}, "source": 1})} == set()
    first.close()
    second.close()


def test_processes_write_to_one_file_at_the_same_time(uri):
    commands = [[sys.executable, str(SCRIPT), "write", uri, name, "0", "200"] for name in ("a", "b", "c")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["written\n"] * 3
    with open_store(uri, others.spec()) as store:
        assert {source: store.count(source) for source in store.source_ids()} == {"a": 200, "b": 200, "c": 200}
        assert store.verify(50) == []


def test_a_writer_that_waits_too_long_gives_up_and_changes_nothing(uri, tmp_path):
    with open_store(uri, others.spec(), wait_seconds=0.2) as store:
        store.upsert(others.rows_of("a", range(3)))
        other = sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError, match=r"store\.sqlite is being written by another process"):
            store.replace_source("a", [])
        assert store.count() == 3  # readers go on
        other.execute("ROLLBACK")
        other.close()
        assert store.replace_source("a", []).deleted == 3


def test_a_failing_replacement_is_undone_as_a_whole(uri, monkeypatch):
    with open_store(uri, others.spec()) as store:
        store.upsert(others.rows_of("a", range(900)))
        with pytest.raises(StoreError, match="not in collection"):
            store.update_metadata("a", others.rows_of("a", range(1000)))
        monkeypatch.setattr(store, "_delete", lambda ids: (_ for _ in ()).throw(sqlite3.OperationalError("disk full")))
        with pytest.raises(StoreError, match="disk full"):
            store.replace_source("a", others.rows_of("a", range(2000, 2600)))
        assert store.ids_of_source("a") == {f"a#{n}" for n in range(900)}
        assert store.query(others.vector_of(2100), 1)[0].chunk_id != "a#2100"


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text("notes " * 1000)
    with pytest.raises(StoreError, match=r"notes\.txt cannot be used: file is not a database"):
        open_store(f"sqlite:{tmp_path / 'notes.txt'}", others.spec())


def test_rows_are_kept_as_float32(uri):
    with open_store(uri, others.spec()) as store:
        store.upsert(others.rows_of("a", range(3)))
        vectors = {row.chunk_id: row.vector for row in store.scan()}
    wanted = others.vector_of(2) / np.linalg.norm(others.vector_of(2))
    np.testing.assert_array_equal(vectors["a#2"], wanted.astype(np.float32))
