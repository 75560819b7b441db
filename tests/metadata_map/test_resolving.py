"""Generated entries, and which fields hold under which headings."""

import json

from stackroom.biblio.extract import Extracted
from stackroom.metadata_map import generated_entry, resolve
from stackroom.metadata_map.generated import ensure_doi_url, split_url_list
from stackroom.metadata_map.resolving import candidate_chains


def test_resolution_agrees_with_the_reference(shared):
    for vector in json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]:
        given, name = vector["input"], vector["id"]
        if vector["function"] == "_resolve_metadata":
            assert resolve(given["file_entry"], given["headings"]) == vector["expected"], name
        elif vector["function"] == "candidate key order":
            assert list(candidate_chains(given["headings"])) == vector["expected"], name
        elif vector["function"] == "_split_url_list":
            assert split_url_list(given["metadata"]) == vector["expected"], name
        elif vector["function"] == "_ensure_doi_url":
            assert ensure_doi_url(given["metadata"]) == vector["expected"], name


def test_headings_are_compared_after_normalisation():
    entry = {"DEFAULT": {"year": 1}, "Materials  and methods > Data": {"lab": "x"}}
    assert resolve(entry, ["MATERIALS AND\u00a0METHODS", "Data"]) == {"year": 1, "lab": "x"}


def test_a_generated_entry_has_a_place_for_every_heading_chain_once():
    extracted = Extracted(
        {"title": "A\u00adB  C", "urls": ["https://a"], "doi": "10.5555/a", "_sources": {"title": "layout"}}
    )
    chains = [("Intro",), ("Methods", "Data"), ("Intro",), ()]
    assert generated_entry(extracted, chains) == {
        "DEFAULT": {
            "title": "AB C",
            "doi": "10.5555/a",
            "_sources": {"title": "layout"},
            "url_1": "https://a",
            "url_doi": "https://doi.org/10.5555/a",
        },
        "Intro": {},
        "Methods > Data": {},
    }


def test_the_first_heading_that_is_no_label_serves_as_title_of_last_resort():
    fields = {"title": "file", "_sources": {"title": "file-name"}}
    found = generated_entry(fields, [("Abstract",), ("Cable theory revisited", "Part 1")])["DEFAULT"]
    assert (found["title"], found["_sources"]["title"]) == ("Cable theory revisited", "chunk-heading")
    assert generated_entry({**fields, "_sources": {"title": "layout"}}, [("Cable",)])["DEFAULT"]["title"] == "file"


def test_numbers_of_addresses_that_are_taken_are_passed_over():
    assert split_url_list({"url_2": "x", "urls": ["a", "b"]}) == {"url_2": "x", "url_1": "a", "url_3": "b"}
