"""Whatever a document holds and however a tokenizer counts: no chunk above the limit, no letter lost."""

import unicodedata
from collections import Counter

import pytest
from docling_core.types.doc import ContentLayer, DocItemLabel, DoclingDocument, GroupLabel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackroom.artefacts import embedded_text
from stackroom.chunking import chunk_document, document_text
from stackroom.text import normalize_text

WORDS = st.sampled_from(
    [
        *("a", "results", "Verification", "x-", "e.g.", "Fig. 3", "12.5", "|", "- -", "veri fi cation", "exam-\nple"),
        *("\u00e9t\u00e9", "\u4e2d\u6587\u5b57\u3002", "\U0001f600\U0001f680", "\ufb01 eld", "\u00ad", "\x00"),
        *("co\u00f6p\ufffe\nerate", "supercalifragilistic" * 12, "\u0e20\u0e32\u0e29\u0e32" * 40),
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.lists(WORDS, min_size=60, max_size=120).map(" ".join),
    st.text(max_size=60),
    st.just(" \n "),
)
TABLES = st.tuples(st.integers(1, 6), st.integers(1, 9)).flatmap(
    lambda size: st.lists(st.lists(TEXTS, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0])
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("heading"), st.integers(1, 4), TEXTS),
        st.tuples(
            st.sampled_from(["text", "code", "formula", "list", "picture", "in picture", "note", "title"]), TEXTS
        ),
        st.tuples(st.just("table"), TABLES, TEXTS),
    ),
    max_size=14,
)


class Characters:
    """As greedy a tokenizer as there can be."""

    def count(self, text):
        return len(text) + 2


class Bytes:
    def count(self, text):
        return len(text.encode("utf-8")) // 2 + 1


class Uneven:
    """Joining texts costs more than the texts: estimates made from the parts are too low."""

    def count(self, text):
        return 2 + len(text.split()) + len(text) // 3 + text.count("\n") * 3


def build(steps, grid) -> DoclingDocument:
    document = DoclingDocument(name="random")
    picture = None
    group = None
    for kind, *what in steps:
        group = group if kind == "list" else None
        if kind == "heading":
            document.add_heading(what[1], level=what[0])
        elif kind == "title":
            document.add_title(what[0])
        elif kind == "code":
            document.add_code(what[0])
        elif kind == "formula":
            document.add_formula("", orig=what[0])
        elif kind == "list":
            group = group or document.add_group(label=GroupLabel.LIST)
            document.add_list_item(what[0], parent=group)
        elif kind == "picture":
            picture = document.add_picture(caption=document.add_text(DocItemLabel.CAPTION, what[0]))
        elif kind == "in picture" and picture is not None:
            document.add_text(DocItemLabel.TEXT, what[0], parent=picture)
        elif kind == "note":
            document.add_text(DocItemLabel.TEXT, what[0], content_layer=ContentLayer.NOTES)
        elif kind == "table":
            document.add_table(grid(what[0]), caption=document.add_text(DocItemLabel.CAPTION, what[1]))
        else:
            document.add_text(DocItemLabel.TEXT, what[0])
    return document


def letters(text: str) -> Counter[str]:
    return Counter(char for char in unicodedata.normalize("NFKD", text) if char.isalnum())


def check(document, counter, limit, merge_peers):
    chunks = chunk_document(document, counter, limit, merge_peers).chunks

    for chunk in chunks:
        assert chunk.token_count == counter.count(embedded_text(chunk.headings, chunk.text)) <= limit
        assert chunk.text
        assert normalize_text(chunk.text) == chunk.text
        assert all(normalize_text(heading) == heading and "\n" not in heading for heading in chunk.headings)
    held = letters("\n".join(embedded_text(chunk.headings, chunk.text) for chunk in chunks))
    assert not letters(document_text(document)) - held


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=STEPS, limit=st.sampled_from([16, 17, 40, 256]), merge_peers=st.booleans())
def test_no_chunk_is_over_the_limit_and_no_letter_lost(tokenizer, grid, steps, limit, merge_peers):
    check(build(steps, grid), tokenizer, limit, merge_peers)


@pytest.mark.parametrize("counter", [Characters(), Bytes(), Uneven()], ids=lambda one: type(one).__name__)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=STEPS, limit=st.sampled_from([24, 60, 256]))
def test_the_limit_holds_for_tokenizers_that_do_not_add_up(counter, grid, steps, limit):
    check(build(steps, grid), counter, limit, merge_peers=True)
