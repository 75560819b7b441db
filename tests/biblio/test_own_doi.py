"""The document's own DOI, told from those of other works."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imaginary_papers import BODY, line, signals

from stackroom.biblio.candidates import best
from stackroom.biblio.doi_text import (
    clean_doi,
    doi_candidates,
    doi_key,
    is_placeholder,
    normalize_doi,
    without_url_tail,
)
from stackroom.biblio.extract import offline_candidates
from stackroom.biblio.view import document_view

OWN, OTHER = "10.5555/own.1", "10.5555/other.9"
TITLE = line("On the Passive Properties of Long Cables", 100, 18)
REFERENCES = [
    line(f"{n}. Somebody A: Something. J Cable 2001, 1:2. doi:10.5555/cited.{n}", 100 + 14 * n, 9) for n in range(1, 9)
]
FILLER = [BODY, BODY, BODY]


def doi_of(*pages, **more):
    chosen = best(offline_candidates(document_view(signals(*pages, **more)), "file")["doi"])
    return None if chosen is None else chosen.value


@pytest.mark.parametrize("text", ["DOI {}", "doi:{}", "https://doi.org/{}", "Article URL http://dx.doi.org/{}"])
def test_a_labelled_doi_on_the_first_page_is_the_own_one(text):
    assert doi_of([line(text.format(OWN), 30, 8), TITLE, *BODY], REFERENCES) == OWN


def test_a_doi_of_the_running_header_is_the_own_one():
    header = {"text": f"Ruiz et al. (2004), DOI {OWN}", "where": "top", "pages": [2, 3, 4], "size": 7}
    assert doi_of([TITLE, *BODY], REFERENCES, repeated=[header]) == OWN


def test_a_doi_that_stands_only_on_the_last_page_is_found_by_the_label_beside_it():
    last = [
        *REFERENCES,
        line(f"doi:{OWN}", 300, 8),
        line("Cite this article as: Ruiz et al.: On the Passive Properties.", 312, 8),
    ]
    assert doi_of([TITLE, *BODY], *FILLER, last) == OWN


def test_cited_dois_alone_are_nobodys_own():
    assert doi_of([TITLE, *BODY], *FILLER, REFERENCES) is None


@pytest.mark.parametrize(
    "text",
    [
        "The data set is available at https://doi.org/10.5555/other.9",
        "First published: 12 Dec 2014 (doi: 10.5555/other.9)",
        "Correction to: doi 10.5555/other.9",
        "Data: https://doi.org/10.5281/zenodo.123456",
    ],
)
def test_dois_of_other_works_on_the_first_page_are_not_taken(text):
    assert doi_of([TITLE, *BODY, line(text, 700, 8)]) is None


def test_of_two_versions_the_one_called_latest_is_taken():
    rows = [
        line(f"Latest published version (doi: {OWN})", 300, 8),
        line(f"First published: 2014 (doi: {OTHER})", 320, 8),
    ]
    assert doi_of([TITLE, *rows, *BODY]) == OWN


@pytest.mark.parametrize(
    "text", ["DOI: 10.xxxxxx/draft", "https://doi.org/10.1145/nnnnnnn.nnnnnnn", "doi 10.1145/1122445.1122456"]
)
def test_placeholders_of_templates_are_no_dois(text):
    assert doi_of([line(text, 30, 8), TITLE, *BODY]) is None


def test_a_doi_broken_over_a_line_is_joined():
    page = [
        TITLE,
        line("Citation: Ruiz A (2004) Cables. J Cable 9(12): e1. doi:10.5555/journal.cab.", 300, 8),
        line("0115884", 310, 8),
        *BODY,
    ]
    assert doi_of(page) == "10.5555/journal.cab.0115884"


def test_a_doi_in_xmp_of_another_article_is_not_taken():
    packet = {"dc:title": ["An upper limit for macromolecular crowding effects"], "prism:doi": [OTHER]}
    assert doi_of([TITLE, *BODY], xmp=[packet]) is None


def test_a_doi_in_xmp_of_this_article_is_taken():
    packet = {"dc:title": ["On the Passive Properties of Long Cables"], "prism:doi": [OWN]}
    assert doi_of([TITLE, *BODY], xmp=[packet]) == OWN


LEGAL = [
    "10.3319/TAO.2009.05.25.02(IWNOP)",
    "10.1093/nar/27.2.573",
    "10.1016/S0896-6273(02)00569-8",
    "10.1002/(SICI)1096-8644(199606)100:2<273::AID-AJPA9>3.0.CO;2-0",
    "10.1000/a+b_c",
    "10.1000.10/123456",
]


@pytest.mark.parametrize("doi", LEGAL)
@pytest.mark.parametrize("around", ["{}", "see {}.", "(doi:{}),", "https://doi.org/{}; next", "[{}]"])
def test_every_legal_doi_is_kept_whole(doi, around):
    assert doi_candidates(around.format(doi)) == [doi]


def test_percent_encoded_addresses_and_fragments():
    assert clean_doi("https://doi.org/10.1002/%28SICI%291097") == "10.1002/(SICI)1097"
    assert clean_doi("http://dx.doi.org/10.7717/peerj-cs.118#supplemental-information") == "10.7717/peerj-cs.118"


def test_tails_of_addresses_are_only_offered():
    assert normalize_doi("10.5555/abc/full") == "10.5555/abc/full"
    assert without_url_tail("10.5555/abc/full") == ["10.5555/abc"]
    assert without_url_tail("10.1101/2020.01.01.123456v1.full.pdf") == ["10.1101/2020.01.01.123456"]
    assert without_url_tail("10.1093/nar/27.2.573") == []


@given(
    st.from_regex(
        r"10\.[0-9]{4,6}/[a-z0-9]{1,8}([-._][a-z0-9]{1,6}){0,3}(\([a-z0-9]{1,4}\)[a-z0-9]{0,3})?", fullmatch=True
    )
)
def test_normalising_is_idempotent_and_survives_labels_and_punctuation(doi):
    assert normalize_doi(normalize_doi(doi)) == normalize_doi(doi) == doi
    for form in (f"doi:{doi}", f"https://doi.org/{doi}", f"{doi}.", f"{doi}),"):
        assert normalize_doi(form) == doi
    assert doi_key(doi.upper()) == doi


def test_normalising_agrees_with_the_reference_except_that_dois_stay_whole(shared):
    kept_whole = {
        "BD-005": "10.5555/abc/suppl/file.pdf",
        "BD-010": "10.5555/abc/-/DC1",
        "BD-012": "10.1016/S0896-6273(02)00569-8",
    }
    for vector in json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]:
        expected = kept_whole.get(vector["id"], vector.get("expected"))
        if vector["function"] == "normalize_doi":
            assert normalize_doi(vector["input"]["doi"]) == expected, vector["id"]
        elif vector["function"] == "sanitise one DOI candidate (newest)":
            assert clean_doi(vector["input"]["doi"]) == expected, vector["id"]
        elif vector["function"] == "all DOI candidates (newest)":
            assert doi_candidates(vector["input"]["text"]) == expected, vector["id"]


def test_placeholders_are_recognised():
    assert is_placeholder("10.xxxxxx/draft")
    assert not is_placeholder("10.5555/abc")
