import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.config import Bm25Settings
from stackroom.stores.bm25.analyser import Analyser, open_analyser


@pytest.fixture(scope="module")
def analyser() -> Analyser:
    return open_analyser(Bm25Settings())


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running runners ran", ["run", "runner", "ran"]),
        ("the WHO of it", []),
        ("Straße STRASSE", ["strass", "strass"]),
        ("\uff21\uff22\uff23 \ufb01ne", ["abc", "fine"]),
        ("co\u00adoperate", ["cooper"]),
        ("patient's patients\u2019", ["patient", "patient"]),
        ("1,000 genomes and 1000", ["1000", "genom", "1000"]),
        ("3.14", ["3.14"]),
        ("café", ["café", "cafe"]),
        ("C++ C#", ["c++", "c", "c#", "c"]),
        ("", []),
        ("?! — …", []),
    ],
)
def test_words_are_folded_stopped_and_stemmed(analyser, text, terms):
    assert analyser.tokens(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("IL-6", ["il-6", "il", "6"]),
        ("COVID19", ["covid19", "covid", "19"]),
        ("v1.2", ["v1.2", "v1", "v", "1", "2"]),
        ("trace-based", ["trace-based", "trace", "base"]),
        ("trace\u2011based", ["trace-based", "trace", "base"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("state-of-the-art", ["state-of-the-art", "state", "art"]),
        ("10.1000/abc", ["10.1000/abc", "10", "1000", "abc"]),
        ("end.", ["end"]),
    ],
)
def test_compounds_are_kept_whole_and_split(analyser, text, terms):
    assert analyser.tokens(text) == terms


def test_scripts_without_spaces_give_bigrams_and_single_characters(analyser):
    assert analyser.tokens("故乡的明月") == ["故乡", "乡的", "的明", "明月", "故", "乡", "的", "明", "月"]
    assert analyser.query_tokens("故乡") == ["故乡"]
    assert analyser.query_tokens("月") == ["月"]
    assert analyser.tokens("한국어") == ["한국", "국어", "한", "국", "어"]


def test_combining_marks_stay_with_their_letters(analyser):
    assert analyser.tokens("हिन्दी में कंप्यूटर") == ["हिन्दी", "में", "कंप्यूटर"]
    assert "ที่" in analyser.tokens("ที่")
    assert analyser.tokens("الكِتاب") == ["الكِتاب"]


def test_a_query_of_stop_words_alone_searches_for_them(analyser):
    assert analyser.query_tokens("to be or not") == ["~to", "~be", "~or", "~not"]
    assert analyser.query_tokens("to be found") == ["found"]


def test_language_none_neither_stops_nor_stems():
    plain = open_analyser(Bm25Settings(language="none"))
    assert plain.tokens("The running IL-6") == ["the", "running", "il-6", "il", "6"]


def test_the_identity_tells_languages_apart(analyser):
    assert open_analyser(Bm25Settings()).identity == analyser.identity
    assert open_analyser(Bm25Settings(language="none")).identity != analyser.identity


def test_terms_stay_short_whatever_the_text(analyser):
    assert max(map(len, analyser.tokens("x" * 5000 + " " + "a-" * 500 + "b"))) <= 64


@given(st.text())
def test_any_text_gives_the_same_terms_again(text):
    first, second = open_analyser(Bm25Settings()), open_analyser(Bm25Settings())
    assert first.tokens(text) == first.tokens(text) == second.tokens(text)
    assert all(first.tokens(text))


@given(st.text(alphabet=st.characters(whitelist_categories=["L", "M", "Nd", "Zs"]), max_size=40))
def test_a_query_finds_every_text_it_is_taken_from(text):
    analyser = open_analyser(Bm25Settings())
    assert set(analyser.query_tokens(text)) <= set(analyser.all_tokens(text))


def test_threads_share_one_analyser(analyser):
    texts = [f"Word{number} running-{number} naïve" for number in range(300)]
    wanted = [open_analyser(Bm25Settings()).tokens(text) for text in texts]
    found: dict[int, list[list[str]]] = {}

    def work(number: int) -> None:
        found[number] = [analyser.tokens(text) for text in texts]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == wanted for result in found.values())
    assert len(found) == 4
