"""Word windows: nothing lost, nothing multiplied, and scripts without blanks."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.articles import SlidingWindowChunker, TextChunker, merge_passages

DEVIATIONS = {
    "S147": "the derived overlap is at most half a window",
    "S153": "the derived overlap is at most half a window",
}


def test_the_reference_cases_hold_except_for_its_defect(cases):
    for case in cases("SlidingWindowChunker"):
        given_, expected = dict(case["input"]), case["expected"]
        text = given_.pop("text")
        if "raises" in expected:
            with pytest.raises(ValueError, match="|".join(expected["message_should_name"])):
                TextChunker(**given_)
            continue
        chunker = TextChunker(**given_)
        assert chunker.chunk(text) == expected["chunks"], case["id"]
        if case["id"] not in DEVIATIONS:
            assert (chunker.chunk_words, chunker.overlap_words) == (expected["chunk_words"], expected["overlap_words"])


def test_the_reference_cases_of_merging_hold(cases):
    for case in cases("merge_passages"):
        if isinstance(case["expected"], dict):
            with pytest.raises(ValueError, match="overlap_words"):
                merge_passages(**case["input"])
        else:
            assert merge_passages(**case["input"]) == case["expected"], case["id"]


def test_both_names_cut_by_the_same_rule():
    assert SlidingWindowChunker().chunk("a b c") == TextChunker().chunk("a b c") == ["a b c"]
    assert (TextChunker().chunk_words, TextChunker().overlap_words) == (350, 50)


def test_a_small_window_does_not_multiply_the_text():
    """With an overlap of all words but one, 100 words would give 81 windows of 20."""
    text = " ".join(str(number) for number in range(100))
    passages = TextChunker(20).chunk(text)
    assert len(passages) == 9
    assert merge_passages(passages, TextChunker(20).overlap_words) == text


def test_chinese_is_cut_by_letters_and_joined_without_blanks():
    text = "深層学習は画像認識の精度を大きく改善した。 次の文。"
    passages = TextChunker(10, 2).chunk(text)
    assert passages[0] == "深層学習は画像認識の"
    assert max(len(passage.replace(" ", "")) for passage in passages) == 10
    assert merge_passages(passages, 2) == text


def test_thai_marks_stay_with_their_letter():
    passages = TextChunker(3, 0).chunk("ที่นี่มีน้ำ")
    assert "".join(passages) == "ที่นี่มีน้ำ"
    assert all(not re.match("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]", passage) for passage in passages)


def test_a_run_without_blanks_counts_as_several_words():
    passages = TextChunker(5, 0).chunk("x" * 1200 + " end")
    assert [len(passage) for passage in passages] == [500, 500, 204]
    assert passages[-1].endswith(" end")


def test_mixed_scripts_keep_their_blanks():
    assert TextChunker(100).chunk("use  深層 learning\nnow") == ["use 深層 learning now"]


@given(st.text(max_size=300), st.integers(1, 12), st.data())
def test_merging_the_windows_gives_the_words_back(text, chunk_words, data):
    overlap = data.draw(st.integers(0, chunk_words - 1))
    passages = TextChunker(chunk_words, overlap).chunk(text)
    whole = TextChunker(10_000).chunk(text)
    assert "".join(passage.replace(" ", "") for passage in whole) == re.sub(r"\s", "", text)
    if overlap == 0:
        assert "".join(passages).replace(" ", "") == re.sub(r"\s", "", text)
    assert bool(passages) == bool(text.strip())
