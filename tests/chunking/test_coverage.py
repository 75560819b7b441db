"""The measure of lost text finds what is missing and forgives what only looks different."""

import pytest

from stackroom.artefacts import ChunkBody
from stackroom.chunking import lost_text_ratio


@pytest.mark.parametrize(
    ("reference", "chunks", "expected"),
    [
        ("", [], 0.0),
        ("one two three four", [], 1.0),
        ("one two three four", ["one two three four"], 0.0),
        ("one two three four", ["four TWO one"], 0.25),
        ("frog frog frog frog", ["frog"], 0.75),
        ("an exam-\nple of ten10", ["an example of ten 10"], 0.0),
        ("the of\ufb01ce human ai", ["the office humanai"], 0.25),  # two letters inside a word prove nothing
        ("citation informed", ["citationinformed"], 0.0),
        ("12 34", ["1234"], 1.0),
    ],
)
def test_words_are_counted_as_often_as_they_occur(reference, chunks, expected):
    assert lost_text_ratio(reference, [ChunkBody(text) for text in chunks]) == expected


def test_words_in_headings_are_not_lost():
    assert lost_text_ratio("Results Many frogs", [ChunkBody("Many frogs", headings=("Results",))]) == 0.0


def test_running_headers_count_once():
    pages = [
        f"Journal of Frogs page {page}\nThe text of this page says {word}." for page, word in enumerate(["a", "b", "c"])
    ]

    ratio = lost_text_ratio(
        "\n".join(pages),
        [ChunkBody("The text of this page says a b c. The text of this page says. The text of this page says")],
    )

    assert ratio == pytest.approx(5 / 26)
