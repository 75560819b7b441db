import json

import pytest

from stackroom.artefacts import Chunk, ChunkBody
from stackroom.errors import MetadataMapError
from stackroom.stores.metadata import apply_store_metadata_policy, display_metadata, stored_metadata

CHUNK = Chunk("id", "sub/paper.pdf", 7, ChunkBody("text", ("A", "B"), (3, 4), kind="table"), "hash")


def test_machine_keys_and_resolved_values_are_stored_together():
    resolved = {
        "title": "T",
        "authors": ["Ana Ruiz"],
        "year": 2004,
        "_sources": ["x"],
        "source_type": "pdf",
        "lab": None,
    }
    assert stored_metadata("sub/paper.pdf", "abc", CHUNK, resolved) == {
        "file_name": "paper.pdf",
        "source_id": "sub/paper.pdf",
        "file_hash": "abc",
        "chunk_index": 7,
        "kind": "table",
        "readable_id": "sub/paper.pdf#7",
        "headings": ["A", "B"],
        "page_first": 3,
        "page_last": 4,
        "title": "T",
        "authors": ["Ana Ruiz"],
        "authors__names": ["ana ruiz", "ruiz", "a ruiz", "ana"],
        "year": 2004,
    }


def test_a_chunk_without_headings_and_pages_has_no_such_keys():
    chunk = Chunk("id", "a.md", 0, ChunkBody("text"), "hash")
    assert set(stored_metadata("a.md", "abc", chunk, None)) == {
        "file_name", "source_id", "file_hash", "chunk_index", "kind", "readable_id",
    }  # fmt: skip


def test_a_map_cannot_change_machine_keys():
    stored = stored_metadata(
        "sub/paper.pdf", "abc", CHUNK, {"source_id": "other", "file_hash": "x", "authors__names": ["z"]}
    )
    assert stored["source_id"] == "sub/paper.pdf"
    assert stored["file_hash"] == "abc"
    assert "authors__names" not in stored


def test_a_single_author_given_as_text_becomes_a_list():
    assert apply_store_metadata_policy({"authors": "Ana Ruiz"})["authors"] == ["Ana Ruiz"]


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], ["a", 1], [["a"]], float("nan")])
def test_a_value_that_stores_do_not_keep_is_an_error_that_names_file_and_key(value):
    with pytest.raises(MetadataMapError, match=r"sub/paper\.pdf: the value of 'lab'"):
        stored_metadata("sub/paper.pdf", "abc", CHUNK, {"lab": value})


def test_display_leaves_shadow_fields_out_and_contracts_names():
    assert display_metadata({"title": "T", "authors": ["Ana Ruiz", "ana ruiz", "Ana"], "authors__names": ["ruiz"]}) == {
        "title": "T",
        "authors": ["Ana Ruiz"],
    }


def test_policy_agrees_with_the_reference_except_that_names_stand_in_a_shadow_field(shared):
    vectors = json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]
    by_id = {vector["id"]: vector for vector in vectors}
    expected = dict(by_id["MP-001"]["expected"], authors=["Ana Ruiz"])
    kept = apply_store_metadata_policy(by_id["MP-001"]["input"]["metadata"])
    assert kept.pop("authors__names")
    assert kept == expected
    for name in ("MP-003", "MP-004"):
        assert apply_store_metadata_policy(by_id[name]["input"]["metadata"]) == by_id[name]["expected"]
