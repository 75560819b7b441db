"""Names of things survive every awkward file name."""

import json
import unicodedata
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.errors import SourceError
from stackroom.identity import (
    artefact_name,
    chunk_id,
    display_name,
    partition_key,
    source_id,
    source_of_partition,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(NAMES)
def test_a_partition_key_leads_back_to_its_source(name):
    assert source_of_partition(partition_key(name)) == name


@given(NAMES, NAMES)
def test_two_sources_never_share_a_partition_key(first, second):
    assert (partition_key(first) == partition_key(second)) == (first == second)


@given(NAMES)
def test_a_partition_key_has_nothing_that_dagster_mishandles(name):
    key = partition_key(name)
    assert "..." not in key
    assert not any(character in key for character in "\n\t\r\0\a\b\f\v")
    assert key == key.strip()


def test_partition_keys_stay_readable():
    assert partition_key("notes/Smith & Sons (2020), v2.pdf") == "notes/Smith & Sons (2020), v2.pdf"
    assert partition_key("100% sure...really\n.pdf") == "100%25 sure%2E..really%0A.pdf"


def test_awkward_names_of_the_collection_round_trip(shared):
    names = json.loads((shared / "corpus/names/awkward-names.json").read_text())["names"]
    for name in names:
        source = source_id(PurePosixPath(name))
        assert source_of_partition(partition_key(source)) == source
        assert display_name(source).isprintable()


def test_a_decomposed_name_is_the_same_source_as_the_composed_one():
    assert source_id(PurePosixPath(unicodedata.normalize("NFD", "étude.pdf"))) == "étude.pdf"


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.pdf", "a/../../b", ".", "bad\udcff.pdf"])
def test_paths_outside_the_folder_and_undecodable_names_are_refused(path):
    with pytest.raises(SourceError):
        source_id(PurePosixPath(path))


def test_equal_base_names_in_two_folders_have_different_ids_and_artefacts():
    assert chunk_id("c", "a/paper.pdf", 0) != chunk_id("c", "b/paper.pdf", 0)
    assert artefact_name("a/paper.pdf") != artefact_name("b/paper.pdf")


def test_chunk_ids_are_stable():
    assert chunk_id("papers", "a.pdf", 3) == chunk_id("papers", "a.pdf", 3) != chunk_id("papers", "a.pdf", 4)


@given(NAMES)
def test_artefact_names_are_short_ascii_and_safe(name):
    made = artefact_name(name)
    assert made.isascii()
    assert len(made) <= 80
    assert "/" not in made
    assert not made.startswith(".")
