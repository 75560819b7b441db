# ruff: noqa: RUF001
import json

import pytest

from stackroom.stores.names import display_person_names, expand_person_names, filter_key, shadow_field, shadow_keys

STORED = ["Ankur Sinha", "Jürgen Müller", "Maurits W van Tulder", "Simon YW Ho", "Mary J. O’Connell", "TAL AUGUST"]
KEYS = shadow_keys(STORED)


def _vectors(shared, function):
    vectors = json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]
    return [vector for vector in vectors if vector["function"] == function]


@pytest.mark.parametrize(
    "operand",
    [
        "Sinha", "sinha", "SINHA", "A. Sinha", "A Sinha", "Sinha A", "Sinha, A.", "Sinha, Ankur", "Ankur Sinha",
        "Ankur", "Müller", "Mueller", "Muller", "Müller, Jürgen", "J. Mueller", "Juergen Mueller", "mu\u0308ller",
        "van Tulder", "Tulder", "M. van Tulder", "van Tulder MW", "van Tulder, Maurits W.",
        "Ho", "Simon Ho", "S. Y. W. Ho", "SYW Ho", "Ho SYW", "S.Y.W. Ho",
        "O'Connell", "O’Connell", "M. J. O'Connell", "Tal August", "August, Tal", "T. August",
    ],
)  # fmt: skip
def test_the_ways_of_writing_a_name_find_it(operand):
    assert filter_key(operand) in KEYS


@pytest.mark.parametrize("operand", ["B. Sinha", "Sin", "Sinha Ankur Kumar", "Hou", "Tulders", "", "?!"])
def test_other_names_do_not_find_it(operand):
    assert filter_key(operand) not in KEYS


@pytest.mark.parametrize("stored", ["Müller", "Mueller"])
@pytest.mark.parametrize("operand", ["Müller", "Mueller", "Muller"])
def test_umlauts_find_their_digraphs_and_the_reverse(stored, operand):
    assert filter_key(operand) in shadow_keys([f"Heiner {stored}"])


def test_a_name_without_digraph_is_not_found_by_one_that_has_it():
    assert filter_key("Bauer") not in shadow_keys(["Jörg Baur"])


def test_generation_suffixes_and_footnote_stars_do_not_matter():
    assert filter_key("King") in shadow_keys(["Martin Luther King, Jr.*"])
    assert filter_key("Smith, John, Jr.") == "john smith"


def test_names_in_other_scripts_are_found_as_written():
    assert filter_key("山田太郎") in shadow_keys(["山田太郎"])


def test_a_long_organisation_name_is_found_by_each_word_and_as_a_whole():
    name = "International Working Group on the Naming of Very Many Things"
    keys = shadow_keys([name])
    assert filter_key("naming") in keys
    assert filter_key(name) in keys
    assert len(keys) < 30


def test_elements_that_are_not_text_and_names_without_letters_have_no_key():
    assert shadow_keys([None, 3, "", " . "]) == []


def test_the_shadow_field_of_authors_has_a_fixed_name():
    assert shadow_field("authors") == "authors__names"


def test_expansion_agrees_with_the_reference(shared):
    for vector in _vectors(shared, "expand_person_names"):
        assert expand_person_names(vector["input"]["names"]) == vector["expected"], vector["id"]


def test_display_agrees_with_the_reference_except_for_a_lower_case_author(shared):
    for vector in _vectors(shared, "display_person_names"):
        expected = ["e e cummings"] if vector["id"] == "TD-006" else vector["expected"]
        assert display_person_names(vector["input"]["names"]) == expected, vector["id"]


def test_display_undoes_expansion():
    names = ["Ana Ruiz", "Ben Ruiz", "e e cummings", "Ito"]
    assert display_person_names(expand_person_names(names)) == names
