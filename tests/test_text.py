import json
import unicodedata
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackroom.text import normalize_counted, normalize_text

AWKWARD = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "abefiltnxAZ09 -\t\n\r\v\f.|\u00ad\ufffe\x02\x00\u00a0\u200b\ufb00\ufb01\ufb03\u0301\u1100\u1161"
        ),
        st.characters(),
        st.characters(categories=["Cs"]),
    ),
    max_size=80,
)


def _letters_and_digits(text: str) -> Counter[str]:
    return Counter(char for char in unicodedata.normalize("NFKD", text) if char.isalnum())


def test_the_reference_vectors_hold(shared):
    vectors = json.loads((shared / "vectors" / "stores.json").read_text(encoding="utf-8"))["vectors"]
    cases = [vector for vector in vectors if vector["function"] == "normalize_text"]

    assert len(cases) >= 11
    for case in cases:
        assert normalize_text(case["input"]["text"]) == case["expected"], case["note"]


@settings(max_examples=400, deadline=None)
@given(AWKWARD)
@example("a-\n\n-\nb")
@example("de\u00ad\n\u00ad\nfi\ufffe ned")
@example(" \u0301fi fi fi")
@example("a\u2003\u2003fi\u2003b")
def test_normalising_twice_changes_nothing_more(text):
    once = normalize_text(text)

    assert normalize_counted(once) == (once, {})


@settings(max_examples=400, deadline=None)
@given(AWKWARD)
def test_no_letter_and_no_digit_is_lost_or_added(text):
    assert _letters_and_digits(normalize_text(text)) == _letters_and_digits(text)


@settings(max_examples=200, deadline=None)
@given(AWKWARD)
def test_the_result_can_be_stored_anywhere(text):
    result = normalize_text(text)

    assert "\x00" not in result
    assert result == result.strip()
    result.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exam-\nple", "example"),
        ("exam\u2010\n  ple", "example"),
        ("exam\ufffe\r\nple", "example"),
        ("exam\x02ple", "example"),
        ("exam\u00ad\nple and inter\u00ad neuron", "example and interneuron"),
        ("x-\nray", "x-ray"),
        ("self-\ncontained", "self-contained"),
        ("COVID-\n19", "COVID-19"),
        ("anti-\nVEGF and DNA-\nbased", "anti-VEGF and DNA-based"),
        (
            "The well-known case of a welter. A re-used, re-\nused part",
            "The well-known case of a welter. A re-used, re-used part",
        ),
        ("pre- and postoperative", "pre- and postoperative"),
        ("a paragraph -\nnext", "a paragraph -\nnext"),
        ("first-\n\nsecond", "first-\n\nsecond"),
    ],
)
def test_words_hyphenated_at_a_line_end_are_joined(text, expected):
    assert normalize_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("veri fi cation", "verification"),
        ("veri\ufb01 cation", "verification"),
        ("veri \ufb01cation", "verification"),
        ("The Speci fi c e ff ect of di ff erent pro fi les", "The Specific effect of different profiles"),
        (
            "signi fi cant con fi dence in su ffi cient coe ffi cients",
            "significant confidence in sufficient coefficients",
        ),
        ("we fi nd the fi rst magnetic fi eld", "we find the first magnetic field"),
        ("in fl uence in fl ight of fi ce of fi ve", "influence in flight office of five"),
        ("sta ff and o ff er, o ff the cli ff.", "staff and offer, off the cliff."),
        ("o\ufb00 the di\ufb00 erent \ufb01 eld", "off the different field"),
    ],
)
def test_words_broken_around_a_ligature_are_joined(text, expected):
    assert normalize_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Wi Fi is hi fi",
        "a sci fi movie, a sci-fi movie",
        "90 fl oz and 12 fl",
        "pp. 12 ff and 14 ff.",
        "the tariff and the profit of a reef fish",
        "the file \u0444\u0438 fi \u0444\u0438",
        "de facto, fi fi",
    ],
)
def test_real_words_around_fi_and_ff_stay_apart(text):
    assert normalize_text(text) == text


def test_real_prose_is_never_taken_for_broken_words(shared):
    lines = (shared / "corpus" / "ir" / "scifact" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    changed = [line for line in lines if "spaced_ligatures" in normalize_counted(json.loads(line)["text"])[1]]

    assert len(lines) > 5000
    assert changed == []


def test_every_kind_of_change_is_counted():
    text = "a\u00a0b\x00c\u2028d\u200be\ufb01t x\u00ady  \u00b2 cut-\nting veri fi cation\ud800"

    assert normalize_counted(text) == (
        "a bc\ndefit xy 2 cutting verification",
        {
            "line_separators": 1,
            "surrogates": 1,
            "no_break_spaces": 1,
            "invisible_characters": 1,
            "hyphen_marks": 1,
            "control_characters": 1,
            "spaced_ligatures": 1,
            "ligatures": 1,
            "compatibility_characters": 1,
            "line_end_hyphens": 1,
            "blank_runs": 1,
        },
    )
