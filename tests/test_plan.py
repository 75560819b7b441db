"""The plan: what is new, changed, gone, held back, and when deletions are refused."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stackroom.ledger import SourceState
from stackroom.plan import FEW_RUNS, WIDEST_GAP, Plan, pages_to_do, plan, ranges, runs_for, still_written, young_files
from stackroom.sources import SourceFile


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


def test_a_file_is_young_until_it_is_old_enough_and_also_if_it_comes_from_the_future():
    def file(name, age):
        return SourceFile(name, Path(name), 10, int((1000.0 - age) * 1e9), 1)

    young = young_files([file("old", 5), file("new", 4.9), file("ahead", -60)], now=1000.0, settle_seconds=5)
    assert young == {"new": (10, 995_100_000_000), "ahead": (10, 1_060_000_000_000)}


def test_a_young_file_is_still_written_unless_it_looks_as_it_did_before():
    assert still_written({"a": (1, 1), "b": (2, 1), "c": (1, 2), "new": (1, 1)}, dict.fromkeys("abc", (1, 1))) == {
        "b",
        "c",
        "new",
    }


def test_files_still_written_are_neither_processed_nor_deleted():
    made = plan({"a": "r1"}, [known("a"), known("b")], settling={"b", "new"})
    assert made == Plan(unchanged=1, settling=("b", "new"))


def test_few_stretches_are_run_exactly_and_many_are_bridged_over_files_that_are_done():
    order = [f"{number:03}" for number in range(100)]
    few = Plan(process=tuple(order[::20]), done=frozenset(order))
    assert runs_for(few, order, 50) == [(source, source) for source in order[::20]]
    many = Plan(process=tuple(order[::10]), done=frozenset(order) - set(order[::10]))
    assert len(many.process) > FEW_RUNS
    assert runs_for(many, order, 50) == [("000", "049"), ("050", "090")]


def test_bridges_never_cross_a_file_that_must_be_left_alone_or_a_wide_gap():
    order = [f"{number:03}" for number in range(100)]
    wanted = tuple(order[::4])
    done = frozenset(order) - set(wanted) - {"050"}
    assert runs_for(Plan(process=wanted, done=done), order, 200) == [("000", "048"), ("052", "096")]
    wide = tuple(order[:: WIDEST_GAP + 2])
    assert len(wide) > FEW_RUNS
    assert runs_for(Plan(process=wide, done=frozenset(order) - set(wide)), order, 200) == [(s, s) for s in wide]


def test_pages_to_do_are_known_once_every_file_has_been_processed():
    states = [known("a"), known("b"), SourceState("c", "new", "pending", *[None] * 5, (), "h", None, True, None)]
    assert pages_to_do(Plan(process=("a", "b")), states) == 2
    assert pages_to_do(Plan(process=("a", "new")), states) is None
    assert pages_to_do(Plan(process=("a", "unseen")), states) is None
    assert pages_to_do(Plan(), states) is None
