"""Numbers in messages: one of something is never several."""

import pytest

from stackroom.words import are, count


@pytest.mark.parametrize(("number", "words"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_one_is_singular_and_all_else_plural(number, words):
    assert count(number, "file") == words


def test_an_irregular_plural_is_given():
    assert (count(1, "entry", "entries"), count(3, "entry", "entries")) == ("1 entry", "3 entries")


def test_the_verb_follows_the_number():
    assert [are(number) for number in (0, 1, 2)] == ["are", "is", "are"]
