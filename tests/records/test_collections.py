"""Collections hold what the files say: by type, replaced and deleted with their files, unchanged records skipped."""

import json

import pytest

from stackroom.errors import ConfigError, RecordError
from stackroom.records.bench import RecordBenchSettings
from stackroom.records.ingest import build_indexes
from stackroom.records.naming import collection_name_for_doc_type, type_label
from tests.records.generator import TYPES, records


def ids(hits):
    return {hit.record_id for hit in hits}


def test_records_go_to_the_collection_of_their_type_and_unchanged_files_write_nothing(plant):
    plant.write("a.jsonl", list(records(24)))
    done = plant.ingest()
    assert (done["records"], done["upserted"], done["failed"]) == (24, 24, [])
    with plant.searcher() as searcher:
        assert searcher.doc_types() == dict.fromkeys(sorted(TYPES), 4)
    again = plant.ingest()
    assert (again["files"], again["unchanged"], again["upserted"], again["embedded"]) == (0, 1, 0, 0)
    forced = plant.ingest(force=True)
    assert (forced["upserted"], forced["embedded"]) == (24, 0)


def test_only_changed_records_of_a_changed_file_are_written(plant):
    rows = list(records(15))
    plant.write("a.jsonl", rows)
    plant.ingest()
    rows[3]["embedding_text"] = "a new text about a condenser"
    rows[4]["metadata"]["unit"] = 99
    del rows[10]
    plant.write("a.jsonl", rows)
    done = plant.ingest()
    assert (done["upserted"], done["deleted"], done["embedded"], done["records"]) == (2, 1, 1, 14)


def test_a_deleted_file_takes_its_records_out_of_every_collection_and_index(plant):
    plant.write("a.jsonl", list(records(12)))
    plant.write(
        "b.jsonl",
        [{**row, "record_id": f"b-{row['record_id']}"} for row in records(12, 8)],
    )
    plant.ingest()
    (plant.folder / "b.jsonl").unlink()
    done = plant.ingest()
    assert (done["removed"], done["deleted"], done["records"]) == (1, 12, 12)
    with plant.searcher() as searcher, plant.bench() as bench:
        for doc_type in TYPES:
            for weight in (0.0, 1.0):
                found = searcher.query_doc_type(doc_type, "unit found on shift", top_k=50, hybrid_weight=weight)
                assert len(found) == 2
                assert not any(hit.record_id.startswith("b-") for hit in found)
        for known in bench.registry.collections("plant"):
            assert bench.store(known).source_ids() == {"a.jsonl"}
            assert set(bench.manifest.sources(known.store, known.collection)) == {"a.jsonl"}


def test_a_type_that_lost_all_its_records_answers_with_nothing_and_one_never_ingested_is_an_error(plant, record):
    plant.write("a.jsonl", [record("A::0")])
    plant.write("b.jsonl", [record("B::0", doc_type="WO")])
    plant.ingest()
    (plant.folder / "b.jsonl").unlink()
    plant.ingest(confirm_deletions=True)
    assert plant.ask("WO", "pump") == []
    with pytest.raises(RecordError, match="'XX' was never ingested into record set 'plant'; there is: CR, WO"):
        plant.ask("XX", "pump")
    with plant.bench() as bench:
        assert {known.label for known in bench.registry.collections("plant")} == {"CR", "WO"}


def test_a_record_that_changes_its_type_moves(plant, record):
    plant.write("a.jsonl", [record("A::0"), record("B::0")])
    plant.ingest()
    plant.write("a.jsonl", [record("A::0", doc_type=" wo "), record("B::0")])
    plant.ingest()
    assert ids(plant.ask("CR", "pump")) == {"B::0"}
    (moved,) = plant.ask("wo", "pump")
    assert (moved.record_id, moved.doc_type) == ("A::0", "WO")
    assert moved.metadata["original_doc_type"] == " wo "


def test_an_override_really_overrides_and_keeps_the_original_type(plant, record):
    plant.settings(doc_type_override="oe")
    plant.write("a.jsonl", [record("A::0"), record("B::0", doc_type="WO"), record("C::0", doc_type=None)])
    assert plant.ingest()["failed"] == []
    hits = {hit.record_id: hit.metadata for hit in plant.ask("OE", "pump")}
    assert {name: metadata.get("original_doc_type") for name, metadata in hits.items()} == {
        "A::0": "CR",
        "B::0": "WO",
        "C::0": None,
    }
    assert {metadata["finding_status"] for metadata in hits.values()} == {"fleet_experience"}
    plant.settings()
    plant.ingest()
    assert ids(plant.ask("OTHER", "pump")) == {"C::0"}
    assert plant.ask("OE", "pump") == []


def test_of_a_record_in_several_files_the_last_file_counts_and_the_other_takes_over_when_it_goes(plant, record):
    plant.write("2026-01.jsonl", [record("A::0", "old words about a turbine"), record("B::0")])
    plant.write("2026-02.jsonl", [record("A::0", "new words about a compressor", doc_type="WO")])
    plant.ingest()
    assert ids(plant.ask("CR", "turbine", top_k=9)) == {"B::0"}
    assert [hit.file for hit in plant.ask("WO", "compressor")] == ["2026-02.jsonl"]
    (plant.folder / "2026-02.jsonl").unlink()
    plant.ingest()
    assert ids(plant.ask("CR", "turbine", top_k=9)) == {"A::0", "B::0"}
    report = plant.root / "state/artefacts/records__plant/records_lint_report.json"
    assert json.loads(report.read_text())["data"]["across"] == []


def test_one_bad_record_never_fails_its_file_and_every_refusal_is_reported(plant, record):
    good, bad = record("A::0"), record("B::0", huge=10**30, _odd=1)
    bad["enrichment"] = {"extracted_entities": {"temporal_relations": [{"sub_label": ["x"]}]}}
    bad["eca"] = {"confidence": 10**400}
    path = plant.write("a.jsonl", [good, bad, record("C::0", huge=10**30), record("\ud800")])
    path.write_text(path.read_text() + "{broken\n[1]\n")
    done = plant.ingest()
    assert (done["records"], done["refused"], done["failed"]) == (2, 4, [])
    report = json.loads(next((plant.root / "state/artefacts/records__plant/record_file").glob("*.json")).read_text())
    assert [line["line"] for line in report["data"]["refused"]] == [2, 4, 5, 6]
    assert report["data"]["left_out_keys"] == {"huge": 1}


def test_a_file_without_any_record_is_quarantined_and_its_old_records_are_withdrawn(plant, record):
    path = plant.write("a.jsonl", [record("A::0")])
    plant.write("b.jsonl", [record("B::0")])
    plant.ingest()
    path.write_text('{"doc_id": "x"}\n')
    (failed,) = plant.ingest()["failed"]
    assert (failed["state"], failed["reason"]) == ("quarantined", "corrupt")
    assert "no line is a record (1 line); line 1: keys missing" in failed["message"]
    assert ids(plant.ask("CR", "pump")) == {"B::0"}
    assert plant.ingest()["files"] == 0
    plant.write("a.jsonl", [record("A::0")])
    assert plant.ingest()["failed"] == []
    assert ids(plant.ask("CR", "pump")) == {"A::0", "B::0"}


def test_lost_rows_and_interrupted_writes_are_mended_by_the_next_run(plant, record):
    plant.write("a.jsonl", [record("A::0"), record("B::0")])
    plant.ingest()
    with plant.bench() as bench:
        (known,) = bench.registry.collections("plant")
        bench.store(known).drop()
    with plant.bench() as bench:
        (check,) = build_indexes(bench).checks
        assert not check.passed
        assert check.message == "CR: 0 rows in the collection, 2 noted, 2 in the keyword index"
    done = plant.ingest(force=True)
    assert (done["upserted"], done["embedded"]) == (2, 0)
    assert len(plant.ask("CR", "pump", hybrid_weight=1.0)) == 2


def test_names_of_types_follow_the_reference_cases(shared):
    cases = json.loads((shared / "vectors/records-and-articles.json").read_text())["vectors"]
    for case in (case for case in cases if case["function"] == "collection_name"):
        wanted = case["expected"]["collection_name_for_doc_type"]
        if case["id"] == "D065":
            wanted = "processed_OTHER"  # a blank type is no type
        assert collection_name_for_doc_type(case["input"]["doc_type"], case["input"]["prefix"]) == wanted
    assert len({type_label(name) for name in ("R&D", "R+D", "R-D", "é", "É" * 90, "E" * 90)}) == 6


def test_two_sets_may_not_share_collections(plant):
    (plant.root / "stackroom.yaml").write_text("records: {one: {folder: jsonl}, two: {folder: jsonl}}")
    with pytest.raises(ConfigError, match=r"records\.two\.collection_prefix"):
        RecordBenchSettings.of(plant.config, "one")
    (plant.root / "stackroom.yaml").write_text("records: {one: {folder: jsonl}}")
    with pytest.raises(ConfigError, match="there is no record set 'three'"):
        RecordBenchSettings.of(plant.config, "three")


def test_changed_register_reaches_the_stored_records(plant, record):
    register = plant.root / "register.json"
    register.write_text('{"P-1": ["C-1"]}')
    plant.settings(component_register="register.json")
    plant.write("a.jsonl", [record("A::0", equipment_ids=["P-1"])])
    plant.ingest()
    assert ids(plant.ask("CR", "pump", filter_meta={"component_ids": "C-1"})) == {"A::0"}
    register.write_text('{"P-1": ["C-2"]}')
    plant.ingest()
    assert plant.ask("CR", "pump", filter_meta={"component_ids": "C-1"}) == []
    assert ids(plant.ask("CR", "pump", filter_meta={"component_ids": "C-2"})) == {"A::0"}
