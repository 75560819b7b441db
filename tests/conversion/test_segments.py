"""Every page is in exactly one segment, in order."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from stackroom.conversion.segments import Segment, runs, segments, way_of

ways = st.lists(st.sampled_from(["text", "cautious", "scan"]), max_size=60)


@given(ways, st.integers(1, 10))
def test_segments_cover_all_pages_once_and_in_order(way_of_page, window):
    found = segments(way_of_page, window)
    assert [page for segment in found for page in segment.pages] == list(range(1, len(way_of_page) + 1))
    assert all(len(segment.pages) <= window for segment in found)
    assert all(way_of_page[page - 1] == segment.way for segment in found for page in segment.pages)


@given(ways, st.integers(1, 10))
def test_no_two_neighbouring_segments_could_be_one(way_of_page, window):
    found = segments(way_of_page, window)
    for left, right in itertools.pairwise(found):
        assert left.way != right.way or len(left.pages) == window


def test_a_long_file_is_cut_into_windows():
    assert segments(["text"] * 120, 50) == [
        Segment(1, 50, "text"),
        Segment(51, 100, "text"),
        Segment(101, 120, "text"),
    ]


@given(st.sets(st.integers(1, 40)))
def test_runs_of_numbers_hold_every_number(pages):
    found = list(runs(pages))
    assert {page for first, last in found for page in range(first, last + 1)} == pages
    assert all(right[0] > left[1] + 1 for left, right in itertools.pairwise(found))


def test_burnt_fingers_keep_away_from_docling_parse():
    assert [way_of(decision) for decision in ("text", "blank", "ocr")] == ["text", "text", "scan"]
    assert [way_of(decision, cautious=True) for decision in ("text", "blank", "ocr")] == [
        "cautious",
        "cautious",
        "scan",
    ]
