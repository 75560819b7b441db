"""Records become flat metadata with every derived key; lists stay lists."""

import json

import pytest

from stackroom.errors import RecordError
from stackroom.records.components import load_register, record_component_ids
from stackroom.records.flatten import LIST_FIELDS, collapse_whitespace, flatten_metadata, sanitize_value

IMPROVED = {
    "D031": "a null component is dropped, not kept as the word None",
    "D044": "lists of text stay lists, empty ones are dropped",
    "D045": "lists of text stay lists",
    "D059": "a null confidence counts as none and does not abort the batch",
}


def cases(shared, function):
    found = json.loads((shared / "vectors/records-and-articles.json").read_text())["vectors"]
    return [case for case in found if case["function"] == function]


def test_flattening_follows_the_reference_cases(shared):
    checked = 0
    for case in cases(shared, "build_chroma_metadata"):
        if case["id"] in IMPROVED:
            continue
        assert flatten_metadata(case["input"]) == case["expected"], case["id"]
        checked += 1
    assert checked == 14


def test_small_helpers_follow_the_reference_cases(shared):
    for case in cases(shared, "collapse_ws"):
        assert collapse_whitespace(case["input"]["s"]) == case["expected"], case["id"]
    for case in cases(shared, "sanitize_meta_value"):
        assert sanitize_value(case["input"]["value"]) is case["expected"] or case["expected"] == sanitize_value(
            case["input"]["value"]
        ), case["id"]
    for case in cases(shared, "record_component_ids"):
        if case["id"] not in IMPROVED:
            assert record_component_ids(case["input"]["metadata"]) == case["expected"], case["id"]


def base(**changes):
    return {
        "record_id": "r",
        "doc_id": "d",
        "doc_type": "WO",
        "chunk_index": 0,
        "embedding_text": "x",
        "metadata": {},
        "provenance": {},
    } | changes


def test_a_null_component_is_dropped():
    assert record_component_ids({"component_ids": [5, None, " x "]}) == ["5", "x"]


def test_lists_of_text_stay_lists_so_that_filters_see_every_item():
    flat = flatten_metadata(base(metadata={"equipment_ids": ["P-1", "P-2"], "mechanisms": [], "custom": ["a"]}))
    assert flat["equipment_ids"] == ["P-1", "P-2"]
    assert flat["equipment_ids_text"] == "P-1 | P-2"
    assert flat["custom"] == ["a"]
    assert "mechanisms" not in flat
    assert flat["mechanisms_text"] == ""


def test_every_component_is_kept_whichever_way_it_is_spelled():
    for spelled in (["V-9", "P-1"], '["V-9", "P-1"]'):
        flat = flatten_metadata(base(metadata={"component_ids": spelled}))
        assert flat["component_ids"] == ["V-9", "P-1"]
        assert flat["primary_component_id"] == "V-9"


def test_malformed_confidences_do_not_abort():
    statements = [{"cause_text": "x", "confidence": value} for value in (None, "high", float("nan"), 0.5)]
    record = base(enrichment={"stage5_causal_condition": {"extracted_causal_statements": statements}})
    assert flatten_metadata(record)["causal_confidence_max"] == 0.5


def test_components_come_from_the_register_where_the_record_names_only_equipment(tmp_path):
    path = tmp_path / "register.json"
    path.write_text(json.dumps({"pmp-1": ["C-1", "C-2"], "VLV-2": "C-3"}))
    register = load_register(path)
    flat = flatten_metadata(base(metadata={"equipment_ids": ["PMP-1", "VLV-2"]}), register)
    assert flat["component_ids"] == ["C-1", "C-2", "C-3"]
    own = flatten_metadata(base(metadata={"equipment_ids": ["PMP-1"], "component_id": "C-9"}), register)
    assert own["component_ids"] == ["C-9"]


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', '{"a": [1]}'])
def test_a_malformed_register_is_named(tmp_path, text):
    path = tmp_path / "register.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=r"register\.json"):
        load_register(path)


def test_a_record_is_never_changed():
    record = base(metadata={"equipment_ids": ["P-1"]})
    before = json.dumps(record)
    flatten_metadata(record)
    assert json.dumps(record) == before


def test_the_list_fields_are_those_of_the_reference():
    assert len(LIST_FIELDS) == 11
