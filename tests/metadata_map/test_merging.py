"""The three-way merge: what was generated, what is generated now, what a person wrote."""

from stackroom.metadata_map import Conflict, merge
from stackroom.metadata_map.merging import ACCEPTED


def entry(**fields):
    return {"DEFAULT": fields}


def test_without_a_curated_entry_the_generated_one_is_used():
    merged = merge({"DEFAULT": {"title": "T"}, "A": {}}, None)
    assert (merged.entry, merged.conflicts, merged.base) == ({"DEFAULT": {"title": "T"}, "A": {}}, (), {})


def test_a_persons_value_wins_and_is_marked():
    merged = merge(entry(title="Machine", year=2001), entry(title="Person"))
    assert merged.entry == entry(title="Person", year=2001)
    assert merged.curated_fields == {"DEFAULT": ("title",)}
    assert merged.conflicts == ()


def test_a_value_left_as_it_was_generated_follows_the_machine():
    first = merge(entry(title="Old"), entry(title="Old"))
    second = merge(entry(title="New"), entry(title="Old"), first.base)
    third = merge(entry(title="New"), entry(title="Old"), second.base)
    assert [merged.entry["DEFAULT"]["title"] for merged in (first, second, third)] == ["Old", "New", "New"]
    assert second.conflicts == third.conflicts == ()


def test_both_sides_changed_is_a_conflict_listed_until_it_is_settled():
    first = merge(entry(title="Machine 1"), entry(title="Person"))
    second = merge(entry(title="Machine 2"), entry(title="Person"), first.base)
    third = merge(entry(title="Machine 2"), entry(title="Person"), second.base)
    expected = (Conflict("DEFAULT", "title", "Machine 1", "Machine 2", "Person"),)
    assert second.conflicts == third.conflicts == expected
    assert third.entry == entry(title="Person")
    assert "changed from 'Machine 1' to 'Machine 2'" in str(expected[0])


def test_a_conflict_is_settled_by_writing_another_value():
    base = merge(entry(title="Machine 1"), entry(title="Person")).base
    settled = merge(entry(title="Machine 2"), entry(title="Person again"), base)
    assert settled.conflicts == ()
    assert merge(entry(title="Machine 2"), entry(title="Person again"), settled.base).conflicts == ()


def test_a_conflict_is_settled_by_accepting_and_comes_back_when_the_machine_changes_again():
    base = merge(entry(title="Machine 1"), entry(title="Person")).base
    accepted = entry(title="Person", **{ACCEPTED: {"title": "Machine 2"}})
    settled = merge(entry(title="Machine 2"), accepted, base)
    assert (settled.conflicts, settled.entry) == ((), entry(title="Person"))
    assert len(merge(entry(title="Machine 3"), accepted, settled.base).conflicts) == 1


def test_when_the_machine_comes_to_the_persons_value_there_is_no_conflict():
    base = merge(entry(title="Machine"), entry(title="Person")).base
    assert merge(entry(title="Person"), entry(title="Person"), base).conflicts == ()


def test_a_value_that_is_no_longer_found_stays_as_the_person_left_it():
    base = merge(entry(title="Old"), entry(title="Old")).base
    assert merge(entry(), entry(title="Old"), base).entry == entry(title="Old")


def test_null_removes_a_field():
    assert merge(entry(title="T", doi="10.5555/wrong"), entry(doi=None)).entry == entry(title="T")


def test_heading_chains_are_compared_after_normalisation():
    generated = {"DEFAULT": {}, "Materials and Methods > Data": {}}
    merged = merge(generated, {"materials and\u00a0methods >  DATA": {"lab": "x"}, "New": {"lab": "y"}})
    assert merged.entry == {"DEFAULT": {}, "Materials and Methods > Data": {"lab": "x"}, "New": {"lab": "y"}}


def test_a_heading_called_default_is_not_the_default():
    merged = merge({"DEFAULT": {"a": 1}, "Default": {}}, {"Default": {"a": 2}})
    assert merged.entry == {"DEFAULT": {"a": 1}, "Default": {"a": 2}}


def test_nothing_that_was_given_is_changed():
    generated, curated = entry(title="T"), entry(title="P")
    merge(generated, curated)
    assert (generated, curated) == (entry(title="T"), entry(title="P"))
