"""Characters that one reader of PDFs cannot name are taken from the other, where it is certain which they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.conversion.unmapped_glyphs import UNKNOWN, fill_lines, fill_words


@pytest.mark.parametrize(
    ("line", "page", "filled"),
    [
        ("Gr\ufffdning B, Guerler A", "Clements D, Grüning B,\r\nGuerler A, Hill", "Grüning B, Guerler A"),
        ("42:D917\ufffdD921", "Research 42:D917\u2013D921 DOI", "42:D917\u2013D921"),
        ("\ufffd568.5 and \ufffd2.25", "N/A \u2212568.5 and\n\u00d72.25", "\u2212568.5 and \u00d72.25"),
        # the readers differ in quotes, dashes and ligatures, and that does not hide the place
        ("O'Neil's e\ufb03cient x\ufffd10-27", "O\u2019Neil\u2019s efficient x\u00d710\u221227", None),
        # raised signs stand at another place of the line; the words around agree
        (
            "that rate \ufffd radius-1 , and so",
            "that\nrate \u221d radius-1\nn\n, and",
            "that rate \u221d radius-1 , and so",
        ),
    ],
)
def test_an_unknown_character_is_taken_from_the_other_reader(line, page, filled):
    filled = filled or "O'Neil's e\ufb03cient x\u00d710-27"
    assert fill_lines(["Another line", line], page) == ["Another line", filled]


@pytest.mark.parametrize(
    ("line", "page"),
    [
        ("alpha \ufffd beta", "alpha + beta and alpha - beta"),  # two places that fit, two characters
        ("alpha \ufffd beta", "something else"),
        ("\ufffd\ufffd\ufffd", "abc"),  # nothing to recognise the place by
        ("8 \ufffd 45", "8.45"),
        ("alpha \ufffd beta", "alpha \ue000 beta"),  # the other reader does not know either
        ("alpha \ufffd beta", "alpha \ufffd beta"),
        ("alpha \ufffd beta", "alpha \x01 beta"),
        ("alpha \ufffd beta", ""),
    ],
)
def test_nothing_is_guessed(line, page):
    assert fill_lines([line], page) == [line]


def test_places_that_agree_are_enough():
    assert fill_lines(["growth \ufffd 5"], "the growth ≥ 5, a growth ≥ 5") == ["growth ≥ 5"]


def test_words_of_a_line_get_what_the_line_got():
    before, after = "8 \ufffd 45 a\ufffdb", "8 + 45 a=b"
    assert fill_words(["8", "\ufffd", "45", "a\ufffdb"], before, after) == ["8", "+", "45", "a=b"]
    assert fill_words(["8", "45", "a\ufffdb"], before, after) == ["8", "45", "a\ufffdb"]  # a word is missing


@given(st.text(alphabet="ab c\ufffd-\u2013.(\n", max_size=40), st.text(alphabet="ab cé-\u2013.(\n", max_size=80))
def test_known_characters_never_change(line, page):
    (filled,) = fill_lines([line], page)
    assert len(filled) == len(line)
    assert all(new == old or old == UNKNOWN for old, new in zip(line, filled, strict=True))


def test_a_paper_whose_fonts_name_only_glyphs(converter, request_for, shared):
    conversion = converter.convert(request_for(shared / "corpus" / "papers" / "webb2017-peerjcs-118.pdf"))
    text = "\n".join(chunk.text for chunk in conversion.chunks)
    assert "D917\u2013D921" in text
    assert "Grüning" in text
    assert "\u2212568.578069" in text  # in a table
    assert text.count(UNKNOWN) <= 2  # two accents that stand for nothing readable
