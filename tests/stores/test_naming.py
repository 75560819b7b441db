import re

from hypothesis import given
from hypothesis import strategies as st

from stackroom.stores.naming import collection_name

CORPORA = st.from_regex(r"[a-z][a-z0-9_]{1,39}", fullmatch=True)


def test_the_common_case_is_readable():
    assert collection_name("papers", "all-minilm-l6-v2-53aa5117") == "papers-all-minilm-l6-v2-53aa5117"


@given(CORPORA, st.text(max_size=200))
def test_every_name_is_valid_in_every_backend(corpus, model):
    assert re.fullmatch(r"[a-z][a-z0-9_-]{1,58}[a-z0-9]", collection_name(corpus, model))


@given(CORPORA, CORPORA, st.text(max_size=80), st.text(max_size=80))
def test_different_pairs_have_different_names(corpus, other_corpus, model, other_model):
    same = collection_name(corpus, model) == collection_name(other_corpus, other_model)
    assert same == ((corpus, model) == (other_corpus, other_model))


def test_models_that_differ_in_case_or_signs_stay_apart():
    names = {collection_name("c", model) for model in ("a/b", "a-b", "A-b", "a.b", "a" * 300, "a" * 301)}
    assert len(names) == 6
