"""The cascade as a whole, and what look-ups do to it."""

import json

import pytest
from imaginary_papers import BODY, line, signals

from stackroom.biblio.extract import extract_entry, merge_tiers
from stackroom.biblio.lookup import Found, NotFound, Record, Unavailable
from stackroom.biblio.services import parse_crossref, parse_datacite, parse_openalex, parse_semantic_scholar
from stackroom.config import MetadataSettings

TITLE = "On the Passive Properties of Long Cables"
PAGE = [line("doi:10.5555/cab.1/full", 30, 8), line(TITLE, 100, 18), line("Ana Ruiz, Ben Ito", 130, 12), *BODY]
RECORD = Record(TITLE, ("Ana Ruiz", "Ben Ito"), 2004, "J Cable", "10.5555/cab.1")


class Answers:
    """A resolver with fixed answers by DOI."""

    def __init__(self, answers, default=None):
        self.answers, self.default, self.asked = answers, default or NotFound(("crossref",)), []

    def resolve(self, doi):
        self.asked.append(doi)
        return self.answers.get(doi, self.default)


def extract(resolver=None, page=PAGE, **more):
    return extract_entry(signals(page, **more), "sub/file.pdf", MetadataSettings(), resolver)


def test_every_value_comes_with_the_evidence_for_it():
    extracted = extract(info={"Title": TITLE, "Keywords": "cable; passive"})
    assert extracted.entry["title"] == TITLE
    assert extracted.entry["_sources"] == {
        "title": "pdf-info",
        "authors": "layout",
        "keywords": "pdf-info",
        "doi": "layout",
    }
    evidence = extracted.to_json()["candidates"]["title"]
    assert {row["source"] for row in evidence} == {"pdf-info", "layout"}
    assert evidence[0]["where"] == {"key": "Title"}
    assert next(row for row in evidence if row["source"] == "layout")["where"]["page"] == 1
    assert json.loads(json.dumps(extracted.to_json())) == extracted.to_json()


def test_the_tail_of_an_address_is_tried_off_only_after_a_failed_lookup():
    resolver = Answers({"10.5555/cab.1": Found(RECORD, "crossref")})
    entry = extract(resolver).entry
    assert resolver.asked == ["10.5555/cab.1/full", "10.5555/cab.1"]
    assert (entry["doi"], entry["year"], entry["journal"]) == ("10.5555/cab.1", 2004, "J Cable")
    assert entry["_metadata_complete"]
    assert entry["_sources"]["title"] == "doi-service"
    assert extract().entry["doi"] == "10.5555/cab.1/full"


@pytest.mark.parametrize(
    "title",
    [TITLE.upper(), "On the passive properties of long cables: a review", "On the Passive Properties of Long Cables."],
)
def test_a_record_whose_title_resembles_the_documents_is_adopted(title):
    found = Found(Record(title, ("Ana Ruiz",), 2004), "crossref")
    assert extract(Answers({}, found)).entry["year"] == 2004


@pytest.mark.parametrize("title", ["Editorial", "On the Active Conductances of Short Dendrites", "Long Cables"])
def test_a_record_of_another_paper_is_not_adopted_and_reported(title):
    found = Found(Record(title, ("Nemo Nobody",), 1999, "Acta"), "crossref")
    entry = extract(Answers({}, found)).entry
    assert (entry["title"], entry["authors"]) == (TITLE, ["Ana Ruiz", "Ben Ito"])
    assert "year" not in entry
    assert f"is registered for {title!r}" in entry["_problems"][0]


def test_a_record_is_adopted_when_only_the_pages_show_its_title():
    text = [
        line("doi:10.5555/cab.1", 30, 8),
        line("we call it on the passive properties of long", 300),
        line("cables, and say so", 312),
        *BODY,
    ]
    entry = extract(Answers({}, Found(RECORD, "crossref")), text).entry
    assert entry["title"] == TITLE


def test_a_service_that_is_down_changes_nothing_but_says_so():
    entry = extract(Answers({}, Unavailable("crossref is busy (HTTP 429)"))).entry
    assert entry["doi"] == "10.5555/cab.1/full"
    assert "could not be looked up (crossref is busy" in entry["_problems"][0]


def test_an_empty_cache_is_no_problem():
    assert "_problems" not in extract(Answers({}, Unavailable())).entry


def test_without_any_sign_the_stem_is_the_title_and_the_entry_is_incomplete():
    entry = extract_entry({"version": 1, "media": "pdf"}, "sub/some file.pdf", MetadataSettings()).entry
    assert (entry["title"], entry["_sources"], entry["_metadata_complete"]) == (
        "some file",
        {"title": "file-name"},
        False,
    )


def test_embedded_metadata_of_other_formats_is_used():
    docling = {
        "titles": [],
        "head": TITLE,
        "first": [{"label": "text", "text": TITLE}],
        "origin": {"mimetype": "text/html"},
    }
    embedded = {
        "title": [TITLE],
        "authors": ["Ana Ruiz", "Ben Ito"],
        "date": ["2004-05-01"],
        "doi": ["10.5555/cab.1"],
        "journal": ["J Cable"],
    }
    found = extract_entry(
        {"media": "html", "docling": docling, "embedded": embedded}, "a.html", MetadataSettings()
    ).entry
    assert (found["title"], found["authors"], found["year"]) == (TITLE, ["Ana Ruiz", "Ben Ito"], 2004)
    assert (found["doi"], found["journal"], found["source_type"]) == ("10.5555/cab.1", "J Cable", "text/html")


def test_the_merge_of_tiers_agrees_with_the_reference(shared):
    for vector in json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]:
        if vector["function"] == "merge of tiers":
            given = vector["input"]
            tiers = [(label, fields) for label, fields in given["tiers"]]
            assert merge_tiers(tiers, "x", given["record"], given["pdf_info_fields"]) == vector["expected"], vector[
                "id"
            ]


def test_answers_of_services_are_read_as_by_the_reference(shared):
    parsers = {
        "Crossref response": parse_crossref,
        "OpenAlex response": parse_openalex,
        "Semantic Scholar response": parse_semantic_scholar,
    }
    for vector in json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]:
        if vector["function"] in parsers:
            record = parsers[vector["function"]](vector["input"])
            expected = vector["expected"]
            for field, value in expected.items():
                own = getattr(record, field)
                assert (list(own) if field == "authors" else own) == value, (vector["id"], field)


def test_datacite_and_subtitles():
    answer = {
        "data": {
            "attributes": {
                "titles": [{"title": "Data of Cables"}],
                "creators": [{"givenName": "Ana", "familyName": "Ruiz"}, {"name": "The Lab"}],
                "publicationYear": 2004,
                "descriptions": [{"descriptionType": "Abstract", "description": "<p>All.</p>"}],
                "doi": "10.5555/data",
            }
        }
    }
    assert parse_datacite(answer) == Record(
        "Data of Cables", ("Ana Ruiz", "The Lab"), 2004, None, "10.5555/data", "All."
    )
    assert parse_crossref({"message": {"title": ["Cables"], "subtitle": ["a review"]}}).title == "Cables: a review"
