"""Records from a program: put in, replaced and deleted by document; and the reference's cases for writing."""

import json

import pytest

from stackroom.errors import RecordError
from stackroom.records.prepare import prepare_file
from stackroom.records.upsert import delete_document, replace_document, upsert_records
from tests.records.generator import write


def cases(shared, function):
    found = json.loads((shared / "vectors/records-and-articles.json").read_text())["vectors"]
    return [case for case in found if case["function"] == function]


def test_writing_follows_the_reference_cases(shared, plant):
    with plant.bench() as bench:
        for case in cases(shared, "upsert_records"):
            given, expected = case["input"]["records"], case["expected"]
            if "raises" in expected:
                with pytest.raises(ValueError, match=", ".join(expected["offending"])):
                    upsert_records(bench, case["id"], given)
                continue
            assert upsert_records(bench, case["id"], given) == expected["returns"], case["id"]
            stored = bench.registry.owned("plant", case["id"])
            assert len(stored) == expected["returns"]
            assert stored == set(expected.get("stored", stored))


def test_files_are_grouped_by_type_as_in_the_reference_case(shared, record, tmp_path):
    (case,) = cases(shared, "upsert_jsonl")
    rows = [record(f"R{n}::0", doc_type=own) for n, own in enumerate(case["input"]["lines_doc_types"])]
    assert prepare_file(write(tmp_path / "a.jsonl", rows)).types() == case["expected"]["returns"]


def test_what_is_stored_of_a_record_follows_the_reference_case(shared, tmp_path):
    (case,) = cases(shared, "to_chroma_payload")
    (made,) = prepare_file(write(tmp_path / "a.jsonl", [case["input"]])).records
    assert made.text == case["expected"]["document"]
    assert made.record_id == case["expected"]["id"].strip()  # an id is the same with and without blanks around it
    assert made.metadata == {**case["expected"]["metadata"], "record_id": made.record_id}


def test_documents_are_replaced_and_deleted(plant, record):
    with plant.bench() as bench:
        assert upsert_records(bench, "feed", [record("A::0"), record("A::1"), record("B::0")]) == 3
        assert upsert_records(bench, "feed", [record("C::0", "condenser tube leak")]) == 1
        assert replace_document(bench, "feed", "A", [record("A::2", "gearbox oil")]) == 1
        assert delete_document(bench, "feed", "B") == 1
        assert delete_document(bench, "feed", "B") == 0
        with pytest.raises(RecordError, match="of other documents than 'A': B::0"):
            replace_document(bench, "feed", "A", [record("B::0")])
    for weight in (0.0, 1.0):
        found = plant.ask("CR", "condenser tube leak gearbox oil", hybrid_weight=weight)
        assert {hit.record_id for hit in found} == {"A::2", "C::0"}
    with plant.bench() as bench:
        assert delete_document(bench, "feed", "A") + delete_document(bench, "feed", "C") == 2
    assert plant.ask("CR", "condenser") == []


def test_files_of_the_folder_are_not_changed_by_programs(plant, record):
    plant.write("a.jsonl", [record("A::0")])
    plant.ingest()
    with plant.bench() as bench, pytest.raises(RecordError, match="change the file and ingest it again"):
        upsert_records(bench, "a.jsonl", [record("B::0")])
    with plant.bench() as bench:
        upsert_records(bench, "feed", [record("B::0")])
    assert plant.ingest()["removed"] == 0
    assert {hit.record_id for hit in plant.ask("CR", "pump")} == {"A::0", "B::0"}
