"""Whatever is changed behind a record set's back is found, named, and mended from artefacts and cache."""

import time

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.housekeeping import tidy
from stackroom.identity import chunk_id
from stackroom.outcome import Produced
from stackroom.records.doctor import examine_records, overview, repair_records
from stackroom.records.ingest import build_indexes
from stackroom.records.naming import record_chunk_id
from stackroom.stores.bm25.versions import current_version
from tests.records.generator import records


@pytest.fixture
def ingested(plant):
    plant.write("a.jsonl", [*records(12), {"record_id": "odd"}])
    plant.write("b.jsonl", [{**row, "record_id": f"b-{row['record_id']}"} for row in records(6)])
    plant.ingest()
    return plant


def collection(bench, label="CR"):
    """Return the store of a type's records."""
    (known,) = (one for one in bench.registry.collections("plant") if one.label == label)
    return known, bench.store(known)


def kinds(problems):
    """Return check, kind and file of every problem."""
    return [(problem.check, problem.kind, problem.source_id) for problem in problems]


def test_a_healthy_record_set_has_no_problems_and_is_counted(ingested):
    with ingested.bench() as bench:
        assert examine_records(bench) == []
        found = overview(bench)
        assert (found.files, found.records, found.refused) == ({"searchable": 2}, 18, 1)
        assert sorted(found.collections.values()) == [3] * 6


def test_tidying_up_leaves_everything_of_a_record_set(ingested):
    assert {one.kind: one.count for one in tidy(ingested.config, now=time.time() + 10 * 365 * 86400)} == {
        "artefacts": 0,
        "conversions": 0,
        "logs": 0,
        "vectors": 0,
    }
    with ingested.bench() as bench:
        assert examine_records(bench) == []


def test_rows_that_are_gone_altered_or_foreign_are_found_and_mended(ingested):
    with ingested.bench() as bench:
        _, store = collection(bench)
        rows = {row.chunk_id: row for row in store.scan()}
        mine = [record_chunk_id("plant", "a.jsonl", name) for name in ("CR-0::0", "CR-2::6")]
        gone, altered = (rows[chunk] for chunk in mine)
        store.delete_rows("a.jsonl", [gone.chunk_id])
        turned = np.roll(altered.vector, 5)
        store.upsert([StoredRow(altered.chunk_id, altered.source_id, "forged", altered.metadata, turned)])
        store.upsert([StoredRow(chunk_id("x", "z", 0), "z.jsonl", "not ours", {}, altered.vector)])
        problems = examine_records(bench)
        assert kinds(problems) == [
            ("rows", "altered", "a.jsonl"),
            ("rows", "missing", "a.jsonl"),
            ("rows", "foreign", "z.jsonl"),
            ("vectors", "altered", "a.jsonl"),
        ]
        assert problems[1].details == {"records": ["CR-0::0"]}
        assert repair_records(bench, problems) == []
        assert examine_records(bench) == []
        assert store.source_ids() == {"a.jsonl", "b.jsonl"}


def test_a_keyword_index_or_note_that_is_gone_is_found_and_made_again(ingested):
    with ingested.bench() as bench:
        known, _ = collection(bench)
        folder = bench.index_folder("CR")
        for path in folder.rglob("*"):
            if path.is_file():
                path.unlink()
        bench.manifest.delete(known.store, known.collection, "b.jsonl")
        problems = examine_records(bench)
        assert kinds(problems) == [("notes", "stale", "b.jsonl"), ("index", "unreadable", None)]
        assert repair_records(bench, problems) == []
        assert examine_records(bench) == []


def test_a_keyword_index_with_a_damaged_file_is_found_and_made_again(ingested):
    with ingested.bench() as bench:
        version = current_version(bench.index_folder("CR"))
        good = {path.name: path.read_bytes() for path in version.iterdir()}
        damaged = bytearray(good["rows.arrow"])
        damaged[damaged.index(b"Unit 0")] ^= 0x10
        (version / "rows.arrow").write_bytes(damaged)
        problems = examine_records(bench)
        assert kinds(problems) == [("index", "altered", None)]
        assert "CR: the keyword index has been altered or damaged: rows.arrow" in problems[0].message
        assert repair_records(bench, problems) == []
        assert {path.name: path.read_bytes() for path in version.iterdir()} == good
        assert examine_records(bench) == []


@pytest.mark.slow
def test_a_vector_index_that_lost_its_files_is_made_anew(plant):
    plant.settings(vector_store=f"chroma:{plant.root}/store")
    plant.write("many.jsonl", [{**row, "doc_type": "CR"} for row in records(1300)])
    plant.write("few.jsonl", [{**row, "record_id": f"w-{row['record_id']}", "doc_type": "WO"} for row in records(3)])
    plant.ingest()
    for path in (plant.root / "store").glob("*/*.bin"):
        path.write_bytes(b"")
    with plant.bench() as bench:
        problems = examine_records(bench)
        assert ("query", "unsearchable", None) in kinds(problems)
        assert repair_records(bench, problems) == []
        assert examine_records(bench) == []
        assert {known.label: bench.store(known).count() for known, _ in map(collection, [bench] * 2, ["CR", "WO"])} == {
            "CR": 1300,
            "WO": 3,
        }


def test_a_record_that_two_files_hold_is_expected_in_the_later_one_only(ingested):
    ingested.write("c.jsonl", list(records(1)))
    ingested.ingest()
    with ingested.bench() as bench:
        assert examine_records(bench) == []
        assert isinstance(build_indexes(bench, anew=True), Produced)
