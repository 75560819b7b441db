"""A Chroma folder used by several processes, and the copy beside it that answers filters."""

import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from stackroom.errors import StoreError, StoreLockedError, StoreUnavailableError
from stackroom.stores.base import open_store
from stackroom.stores.chroma_mirror import FILE
from stackroom.stores.chroma_mirrored import MirroredChromaStore

SCRIPT = Path(__file__).with_name("store_process.py")
_found = importlib.util.spec_from_file_location("store_process", SCRIPT)
others = importlib.util.module_from_spec(_found)
_found.loader.exec_module(others)


def start(*arguments) -> subprocess.Popen:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(*arguments) -> str:
    process = start(*arguments)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output


def lost(store, source, numbers):
    """Return the rows of a source that are not found by their own vector."""
    return [n for n in numbers if store.query(others.vector_of(n), 1)[0].chunk_id != f"{source}#{n}"]


@pytest.fixture
def uri(tmp_path):
    return f"chroma:{tmp_path / 'chroma'}"


def test_a_store_sees_and_keeps_what_another_process_wrote(uri, monkeypatch):
    """Chroma's client does not find foreign rows, and takes them out of the index with its next write."""
    monkeypatch.setattr("stackroom.stores.chroma_mirrored._COMPARED", 0)  # ask Chroma's own index
    with open_store(uri, others.spec()) as store:
        store.replace_source("a.pdf", others.rows_of("a.pdf", range(300)))
        assert lost(store, "a.pdf", range(0, 300, 10)) == []
        run("write_once", uri, "b.pdf", 1000, 1300)
        assert store.count() == 1600
        assert lost(store, "b.pdf", range(1000, 2300, 100)) == []
        store.replace_source("c.pdf", others.rows_of("c.pdf", range(3000, 4100)))
        assert lost(store, "b.pdf", range(1000, 2300, 50)) == []
        assert lost(store, "c.pdf", range(3000, 4100, 50)) == []
        assert store.verify() == []
    with open_store(uri, others.spec()) as store:
        assert store.count() == 2700
        assert lost(store, "b.pdf", range(1000, 2300, 50)) == []


def three_processes_write(uri):
    processes = [start("write", uri, f"{name}.pdf", first, 200) for name, first in (("a", 0), ("b", 1000), ("c", 2000))]
    assert [process.communicate(timeout=240)[0] for process in processes] == ["written\n"] * 3
    with open_store(uri, others.spec()) as store:
        assert {source: store.count(source) for source in store.source_ids()} == {
            "a.pdf": 200,
            "b.pdf": 200,
            "c.pdf": 200,
        }
        for source, first in (("a.pdf", 0), ("b.pdf", 1000), ("c.pdf", 2000)):
            assert lost(store, source, range(first, first + 200, 7)) == []
        assert len(store.query(others.vector_of(5), 50, {"number": {"$gte": 2190}})) == 10
        assert store.verify(50) == []


def test_three_processes_write_to_one_folder_and_nothing_is_lost(uri):
    three_processes_write(uri)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_three_processes_write_to_one_folder_twenty_times(tmp_path):
    for turn in range(20):
        three_processes_write(f"chroma:{tmp_path / str(turn)}")


def test_a_writer_that_does_not_want_to_wait_is_told_who_is_writing(uri, tmp_path):
    run("write_once", uri, "a.pdf", 0, 5)
    holder = start("hold", tmp_path / "chroma" / ".stackroom.lock", 60)
    try:
        assert holder.stdout.readline() == "held\n"
        said = run("write_or_refuse", uri, "b.pdf")
        assert f"refused: the Chroma folder {tmp_path / 'chroma'} is being written by process {holder.pid} on" in said
        with pytest.raises(StoreLockedError, match=f"process {holder.pid} on"):
            open_store(uri, others.spec(), wait_seconds=0.2)
    finally:
        holder.kill()
        holder.wait()
    with open_store(uri, others.spec(), wait_seconds=0) as store:  # the lock died with its holder
        assert store.count() == 5


def test_a_writer_killed_at_work_costs_nothing_but_its_last_words(uri):
    """A killed writer leaves the copy marked as out of step; readers leave it aside, the next writer makes it anew."""
    run("write_once", uri, "a.pdf", 5000, 50)
    for _ in range(2):
        writer = start("write_forever", uri, "b.pdf")
        assert writer.stdout.readline() == "writing\n"
        time.sleep(0.7)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        with open_store(uri, others.spec()) as store:
            assert lost(store, "a.pdf", range(5000, 5050)) == []
            assert len(store.query(others.vector_of(1), 99, {"number": {"$gte": 5000}})) == 50
    with open_store(uri, others.spec()) as store:
        store.replace_source("b.pdf", others.rows_of("b.pdf", range(200)))
        assert store.count() == 250
        assert lost(store, "b.pdf", range(200)) == []
        assert len(store.query(others.vector_of(1), 99, {"number": {"$lt": 40}})) == 40
        assert store.verify(60) == []


def test_rows_a_foreign_client_took_out_of_the_index_are_noticed_and_can_be_written_again(uri, tmp_path):
    """Only Stackroom keeps to the lock; any other program with the folder open can still do the damage."""
    run("write_once", uri, "a.pdf", 0, 100)
    foreign = start("write_as_a_foreign_client", tmp_path / "chroma")
    assert foreign.stdout.readline() == "open\n"
    run("write_once", uri, "b.pdf", 1000, 1500)
    assert foreign.communicate("go\n", timeout=60)[0] == "written\n"
    with open_store(uri, others.spec()) as store:
        assert "cannot be read" in store.verify(50)[0]
        store.replace_source("b.pdf", others.rows_of("b.pdf", range(1000, 2500)))
        assert store.verify(50) == []
        store.delete_source("foreign.pdf")
        assert store.count() == 1600
        assert lost(store, "b.pdf", range(1000, 2500, 50)) == []
        assert len(store.query(others.vector_of(1), 2000, {"number": {"$gte": 1000}})) == 1500


def in_step(folder):
    with sqlite3.connect(folder / FILE) as connection:
        return bool(connection.execute("SELECT in_step FROM collections").fetchone()[0])


def test_the_copy_is_only_asked_while_it_is_in_step(uri, tmp_path):
    where = {"number": {"$ne": 3}}
    with open_store(uri, others.spec()) as store:
        assert isinstance(store, MirroredChromaStore)
        store.replace_source("a.pdf", others.rows_of("a.pdf", range(10)))
        assert in_step(tmp_path / "chroma")
    with sqlite3.connect(tmp_path / "chroma" / FILE) as connection:  # as if a writer had died
        connection.execute("DELETE FROM rows WHERE chunk_id = 'a.pdf#4'")
        connection.execute("UPDATE collections SET in_step = 0")
    with open_store(uri, others.spec()) as store:
        assert len(store.query(others.vector_of(0), 99, where)) == 9
        assert store.ids_of_source("a.pdf") == {f"a.pdf#{n}" for n in range(10)}
        assert store.source_ids() == {"a.pdf"}
        store.replace_source("b.pdf", others.rows_of("b.pdf", range(2)))
        assert in_step(tmp_path / "chroma")
        assert len(store.query(others.vector_of(0), 99, where)) == 11
        assert store.source_ids() == {"a.pdf", "b.pdf"}


@pytest.mark.parametrize("deleted", ["stackroom-*", "stackroom-rows.sqlite*", "stackroom-vectors-*"])
def test_the_copy_may_be_deleted_at_any_time(uri, tmp_path, deleted):
    with open_store(uri, others.spec()) as store:
        store.replace_source("a.pdf", others.rows_of("a.pdf", range(10)))
    for file in (tmp_path / "chroma").glob(deleted):
        file.unlink()
    with open_store(uri, others.spec()) as store:
        assert len(store.query(others.vector_of(0), 99, {"number": {"$lt": 5}})) == 5
        store.delete_source("a.pdf")
        store.replace_source("b.pdf", others.rows_of("b.pdf", range(4)))
        assert len(store.query(others.vector_of(0), 99, {"number": {"$lt": 3}})) == 3


def test_a_large_collection_is_asked_through_the_index_and_answers_the_same(uri, monkeypatch):
    """Above some thousand rows the index proposes and the copy disposes."""
    monkeypatch.setattr("stackroom.stores.chroma_mirrored._COMPARED", 20)
    rows = others.rows_of("a.pdf", range(1500))
    with open_store(uri, others.spec()) as store, open_store("memory:chroma-test", others.spec()) as exact:
        store.replace_source("a.pdf", rows)
        exact.replace_source("a.pdf", rows)
        for where in (
            None,
            {"number": {"$lt": 700}},
            {"number": {"$ne": 3}},
            {"number": {"$gte": 1480}},
            {"number": {"$lt": 60}},
        ):
            for query in range(3000, 3010):
                wanted = [hit.chunk_id for hit in exact.query(others.vector_of(query), 10, where)]
                found = [hit.chunk_id for hit in store.query(others.vector_of(query), 10, where)]
                assert len(found) == 10
                assert len(set(found) & set(wanted)) >= 9
        exact.drop()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    """A collection without our notes has vectors of an unknown model."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(tmp_path / "foreign", settings=Settings(anonymized_telemetry=False))
    client.create_collection("papers-m").add(ids=["x"], embeddings=[[1.0] * 8], documents=["x"])
    client.close()
    with pytest.raises(StoreError, match="collection papers-m was not made by Stackroom"):
        open_store(f"chroma:{tmp_path / 'foreign'}", others.spec())


def test_a_server_that_is_not_there_is_unavailable_for_now():
    with pytest.raises(StoreUnavailableError, match=r"Chroma at http://127\.0\.0\.1:1 does not answer; start it"):
        open_store("chroma:http://127.0.0.1:1", others.spec())


def test_rows_in_chroma_can_be_read_by_other_programs(uri, tmp_path):
    import chromadb
    from chromadb.config import Settings

    with open_store(uri, others.spec()) as store:
        store.replace_source("a.pdf", others.rows_of("a.pdf", range(3)))
    client = chromadb.PersistentClient(tmp_path / "chroma", settings=Settings(anonymized_telemetry=False))
    collection = client.get_collection("papers-m")
    found = collection.get(where={"number": 2}, include=["documents", "metadatas", "embeddings"])
    assert (found["ids"], found["documents"]) == (["a.pdf#2"], ["text 2"])
    assert found["metadatas"] == [{"number": 2, "_source_id": "a.pdf"}]
    assert np.linalg.norm(found["embeddings"][0]) == pytest.approx(1, abs=1e-6)
    notes = {key: value for key, value in collection.metadata.items() if key != "stackroom_instance"}
    assert notes == {
        "stackroom_corpus": "papers",
        "stackroom_model": "model-1",
        "stackroom_dimension": 8,
        "stackroom_schema": 1,
    }
    assert json.dumps(notes)
    client.close()
