"""What the lines below the title of a note say of its authors and its date."""

import pytest
from imaginary_papers import BODY, line, signals

from stackroom.biblio.byline import bylines
from stackroom.biblio.extract import extract_entry
from stackroom.biblio.view import document_view
from stackroom.config import MetadataSettings


def note(*texts, heading="title"):
    """Return the signals of a note: its title, and the paragraphs below."""
    items = [{"label": heading, "text": "Herons of the Lake"}, *({"label": "text", "text": text} for text in texts)]
    docling = {"titles": items[:1] if heading == "title" else [], "headers": [], "first": items}
    return {"version": 1, "media": "markdown", "problems": [], "docling": docling}


def said(*texts, **options):
    return [(list(line.names), line.year, line.item) for line in bylines(document_view(note(*texts, **options)))]


@pytest.mark.parametrize(
    ("text", "names", "year"),
    [
        ("By Ana Ruiz, 2004", ["Ana Ruiz"], 2004),
        ("By Ana Ruiz and Ben Ito", ["Ana Ruiz", "Ben Ito"], None),
        ("by Ana Ruiz (May 2004)", ["Ana Ruiz"], 2004),
        ("Written by J. van der Berg, Ben Ito \u2014 12 March 2019", ["J. van der Berg", "Ben Ito"], 2019),
        ("Authors: Ana Ruiz; Ben Ito", ["Ana Ruiz", "Ben Ito"], None),
        ("Published on 2004-05-01", [], 2004),
        ("Date: 1999", [], 1999),
        ("May 1, 2004", [], 2004),
    ],
)
def test_a_byline_names_authors_and_date(text, names, year):
    assert said(text, "The heron stands.") == [(names, year, 1)]
    assert said("An introduction.", text) == [(names, year, 2)]
    assert said(text, heading="section_header") == [(names, year, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "By the river stands a heron",
        "By 2004 there were none left.",
        "By and large, 2004",
        "Authors: see the last page",
        "2004",
        "In May 2004 the lake was dry",
        "By Ana Ruiz " + "and so on " * 40,
    ],
)
def test_other_sentences_are_no_bylines(text):
    assert said(text) == []


def test_a_line_in_pieces_is_read_as_one():
    assert said("Author:", "Ana Ruiz", "Date:", "2004-05-01", "The heron stands.") == [
        (["Ana Ruiz"], None, 1),
        ([], 2004, 3),
    ]
    assert said("By", "Ana Ruiz", "and", "Ben Ito", "May 2004") == [(["Ana Ruiz", "Ben Ito"], None, 1), ([], 2004, 5)]
    assert said("By") == []


def test_only_the_lines_right_below_the_title_count():
    assert said("One.", "Two.", "Three.", "Four.", "By Ana Ruiz, 2004") == []
    signed_section = note("One.")
    signed_section["docling"]["first"] += [
        {"label": "section_header", "text": "Letters"},
        {"label": "text", "text": "By Ana Ruiz, 2004"},
    ]
    assert list(bylines(document_view(signed_section))) == []
    untitled = note("By Ana Ruiz, 2004")
    del untitled["docling"]["first"][0]
    assert list(bylines(document_view(untitled))) == []


def test_pages_say_more_by_their_layout():
    paper = signals([line("On Cables", 100, 18), *BODY], docling=note("By Ana Ruiz, 2004")["docling"])
    assert list(bylines(document_view(paper))) == []


def test_the_entry_of_a_note_has_its_byline():
    entry = extract_entry(
        note("By Ana Ruiz and Ben Ito, 2004", "The heron stands."), "h.md", MetadataSettings(), None
    ).entry
    assert (entry["title"], entry["authors"], entry["year"]) == ("Herons of the Lake", ["Ana Ruiz", "Ben Ito"], 2004)
    assert entry["_sources"] == {"title": "docling", "authors": "docling", "year": "docling"}
    assert entry["_metadata_complete"]
