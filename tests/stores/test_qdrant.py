"""What is special about Qdrant: ids, folders that are open once, sizes."""

import importlib.util
import logging
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreLockedError, StoreUnavailableError
from stackroom.stores.base import CollectionSpec, open_store
from stackroom.stores.filter_qdrant import qdrant_translation

SCRIPT = Path(__file__).with_name("store_process.py")
_found = importlib.util.spec_from_file_location("store_process", SCRIPT)
others = importlib.util.module_from_spec(_found)
_found.loader.exec_module(others)


def test_any_chunk_id_is_taken_and_uuids_stay_as_they_are(tmp_path):
    """Qdrant itself takes only UUIDs and integers."""
    known = str(uuid.uuid4())
    with open_store(f"qdrant:{tmp_path / 'q'}", others.spec()) as store:
        store.upsert([StoredRow(name, "a.pdf", "t", {}, np.ones(8)) for name in (known, "a.pdf#0", known.upper())])
        assert store.ids_of_source("a.pdf") == {known, "a.pdf#0", known.upper()}
        points, _ = store._access.client.scroll("papers-m", limit=10)
        assert known in {point.id for point in points}


def test_a_folder_is_open_in_one_process_and_the_other_is_told_which(tmp_path):
    lock = tmp_path / "q" / ".stackroom.lock"
    lock.parent.mkdir()
    holder = subprocess.Popen([sys.executable, str(SCRIPT), "hold", str(lock), "60"], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(
            StoreLockedError, match=rf"the Qdrant folder .*q is being written by process {holder.pid} on"
        ):
            open_store(f"qdrant:{tmp_path / 'q'}", others.spec(), wait_seconds=0)
    finally:
        holder.kill()
        holder.wait()
    open_store(f"qdrant:{tmp_path / 'q'}", others.spec(), wait_seconds=0).close()


def test_a_folder_another_program_has_open_is_refused(tmp_path):
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(tmp_path / "q"))
    with pytest.raises(StoreLockedError, match="is open in another program"):
        open_store(f"qdrant:{tmp_path / 'q'}", others.spec())
    client.close()
    open_store(f"qdrant:{tmp_path / 'q'}", others.spec()).close()


def test_a_folder_that_grows_too_large_points_to_a_server(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("stackroom.stores.qdrant._LOCAL_ROWS", 10)
    with open_store(f"qdrant:{tmp_path / 'q'}", others.spec()) as store, caplog.at_level(logging.WARNING):
        store.upsert(others.rows_of("a", range(10)))
        assert caplog.text == ""
        store.upsert(others.rows_of("a", range(12)))
        store.upsert(others.rows_of("a", range(14)))
    assert caplog.text.count("has more than 10 rows in a Qdrant folder") == 1
    assert "qdrant:http://host:6333" in caplog.text


def test_a_server_that_is_not_there_is_unavailable_for_now():
    with pytest.raises(StoreUnavailableError, match=r"Qdrant at http://127\.0\.0\.1:1 does not answer .*; start it"):
        open_store("qdrant:http://127.0.0.1:1", CollectionSpec("abc", "c", "m", 3))


def test_a_keyword_index_holds_no_numbers_so_unequal_asks_for_them_too():
    plain = qdrant_translation({"kind": {"$ne": "a"}}).condition
    assert plain == {"must": [{"key": "kind", "match": {"except": ["a"]}}]}
    indexed = qdrant_translation({"kind": {"$ne": "a"}}, {"kind"}).condition
    assert [condition.get("match", "range") for condition in indexed["should"]] == [
        {"except": ["a"]}, "range", {"value": True}, {"value": False},
    ]  # fmt: skip
