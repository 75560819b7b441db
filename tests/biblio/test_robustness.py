"""Whatever stands on a page, extraction gives an entry that can be stored, and in reasonable time."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imaginary_papers import line, signals

from stackroom.biblio.extract import extract_entry
from stackroom.config import MetadataSettings
from stackroom.metadata_map import generated_entry
from stackroom.stores.metadata import apply_store_metadata_policy

WORDS = st.sampled_from(
    [
        "Ana",
        "Ruiz,",
        "Ben",
        "J.",
        "Ito",
        "and",
        "1,2*",
        "doi:10.5555/a.",
        "10.5555/",
        "(2004)",
        "12:3",
        "Journal",
        "of",
        "Things,",
        "Vol.",
        "3",
        "et",
        "al.",
        "©",
        "Abstract",
        "by",
        "van",
        "Keywords:",
        "Cite",
        "this",
        "article",
        "as:",
        "arXiv:2203.00130v1",
        "Published:",
        "May",
        "3,",
        "2014",
        "-",
        "|",
        "·",
        ";",
        "@x.org",
        "山田",
        "É",
        "́",
        "⸨",
        "⸩",
        "[v2;",
        "{",
    ]
)
TEXT = st.one_of(st.lists(WORDS, max_size=14).map(" ".join), st.text(max_size=60))
LINE = st.tuples(
    TEXT, st.integers(0, 840), st.sampled_from([0.5, 8, 10, 18]), st.integers(0, 500), st.booleans(), st.booleans()
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(LINE, max_size=14), max_size=5),
    st.dictionaries(st.sampled_from(["Title", "Author", "Subject", "Keywords", "CreationDate"]), TEXT),
    st.lists(
        st.dictionaries(
            st.sampled_from(["dc:title", "dc:creator", "prism:doi", "dc:subject"]), st.lists(TEXT, max_size=3)
        ),
        max_size=2,
    ),
)
def test_any_page_gives_an_entry_that_can_be_stored(pages, info, xmp):
    built = [
        [line(text, top, size, left, bold, rotated, width=80) for text, top, size, left, bold, rotated in page]
        for page in pages
    ]
    extracted = extract_entry(signals(*built, info=info, xmp=xmp), "sub/file.pdf", MetadataSettings())
    entry = generated_entry(extracted, [])
    assert entry["DEFAULT"]["title"]
    apply_store_metadata_policy(entry["DEFAULT"])
    assert json.loads(json.dumps(extracted.to_json())) == extracted.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "A " * 2000,
        "Aa, " * 1500,
        "1" * 4000,
        "10.5555/" + "(" * 4000,
        "a-" * 2000,
        "Published: " * 400,
        "et al. (2004), " * 300,
        "\u2e28" * 3000,
    ],
)
def test_odd_long_lines_do_not_take_long(text):
    start = time.monotonic()
    extract_entry(signals([line(text, 100, 18, width=400), line(text, 130, width=400)]), "a.pdf", MetadataSettings())
    assert time.monotonic() - start < 20
