"""The plan: what is new, changed, gone, held back, and when deletions are refused."""

from hypothesis import given
from hypothesis import strategies as st

from stackroom.ledger import SourceState
from stackroom.plan import Plan, plan, ranges


def known(source, revision="r1", state="searchable"):
    return SourceState("c", source, state, None, None, None, 1, 1, (), "h", revision, True, 0.0)


def test_new_changed_and_unfinished_files_are_processed_and_the_rest_is_not():
    made = plan(
        {"new": "r1", "changed": "r2", "same": "r1", "half": "r1"},
        [known("changed"), known("same"), known("half", state="pending")],
    )
    assert made == Plan(process=("changed", "half", "new"), unchanged=1)


def test_a_quarantined_file_is_not_tried_again_until_it_changes_or_someone_asks():
    states = [known("bad", state="quarantined")]
    assert plan({"bad": "r1"}, states) == Plan(held_back=("bad",))
    assert plan({"bad": "r2"}, states).process == ("bad",)
    assert plan({"bad": "r1"}, states, retry_quarantined=True).process == ("bad",)
    assert plan({"bad": "r1"}, states, force=True).process == ("bad",)


def test_a_vanished_file_is_deleted():
    assert plan({"a": "r1", "b": "r1"}, [known("a"), known("b"), known("gone")]) == Plan(unchanged=2, delete=("gone",))


def test_an_empty_folder_that_had_files_is_not_taken_for_deletions():
    made = plan({}, [known("a"), known("b")])
    assert made.delete == ()
    assert "2 of 2 files have vanished" in made.refused
    assert plan({}, [known("a"), known("b")], confirm_deletions=True).delete == ("a", "b")


def test_more_than_half_gone_is_refused_and_half_is_not():
    states = [known(str(number)) for number in range(10)]
    assert plan({str(number): "r1" for number in range(4)}, states).refused
    assert plan({str(number): "r1" for number in range(5)}, states).delete == ("5", "6", "7", "8", "9")


def test_files_of_runs_in_flight_are_left_alone():
    made = plan({"a": "r2"}, [known("a"), known("gone"), known("x")], busy={"a", "gone", "x"})
    assert made == Plan(unchanged=1)


@given(st.lists(st.integers(0, 30), unique=True), st.sets(st.integers(0, 30)), st.integers(1, 7))
def test_ranges_cover_exactly_the_wanted_keys(order, wanted, most):
    ordered = [str(number) for number in order]
    chosen = {str(number) for number in wanted} & set(ordered)
    covered = []
    for first, last in ranges(chosen, ordered, most):
        stretch = ordered[ordered.index(first) : ordered.index(last) + 1]
        assert 1 <= len(stretch) <= most
        covered += stretch
    assert sorted(covered) == sorted(chosen)
    assert len(covered) == len(set(covered))
