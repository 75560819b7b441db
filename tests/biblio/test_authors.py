# ruff: noqa: RUF001
"""Authors: the lines below the title that read as names, and metadata that the pages bear out."""

import pytest
from imaginary_papers import BODY, line, signals

from stackroom.biblio.authors import split_author_text
from stackroom.biblio.candidates import best
from stackroom.biblio.extract import offline_candidates
from stackroom.biblio.names import as_written, is_name, parse_names, split_names, surname
from stackroom.biblio.pdf_lines import MARK_CLOSE, MARK_OPEN
from stackroom.biblio.view import document_view

TITLE = line("On the Passive Properties of Long Cables", 100, 18)
ABSTRACT = line("Abstract", 260, 12, bold=True)


def mark(text):
    return f"{MARK_OPEN}{text}{MARK_CLOSE}"


def authors_of(*lines, **more):
    view = document_view(signals([TITLE, *lines, ABSTRACT, *BODY], **more))
    chosen = best(offline_candidates(view, "file")["authors"])
    return None if chosen is None else chosen.value


def test_a_line_with_commas_and_marks():
    text = f"Ana Ruiz{mark('1,2*')}, Ben J. Ito{mark('2')} and Carla de la Peña{mark('†')}"
    assert authors_of(line("x" * 40, 130, 12, marked=text)) == ["Ana Ruiz", "Ben J. Ito", "Carla de la Peña"]


def test_a_name_broken_over_two_lines():
    first = f"Jonas Fritzsch{mark('1')} Ana Cristina Franco da"
    rows = [
        line("x" * 40, 130, 12, bold=True, marked=first),
        line("x", 146, 12, bold=True, marked=f"Silva{mark('1')} Carolin Rubner{mark('2')}"),
    ]
    assert authors_of(*rows) == ["Jonas Fritzsch", "Ana Cristina Franco da Silva", "Carolin Rubner"]


def test_a_grid_of_authors_with_affiliations_below():
    rows = []
    for left, name in ((80, "Martin Becker"), (260, "Rick Rabiser"), (430, "Goetz Botterweck")):
        rows += [
            line(name, 130, 12, left=left),
            line("Some Institute", 145, 10, left=left),
            line("Linz, Austria", 157, 10, left=left),
        ]
    assert authors_of(*rows) == ["Martin Becker", "Rick Rabiser", "Goetz Botterweck"]


def test_one_author_per_line_with_affiliation_after_a_comma():
    rows = [
        line("TAL AUGUST, University of Washington, USA", 130, 9),
        line("LUCY LU WANG, Allen Institute for AI, USA", 145, 9),
    ]
    assert authors_of(*rows) == ["Tal August", "Lucy Lu Wang"]


def test_one_author_per_line_with_email_in_brackets_or_below():
    rows = [
        line("Margriet FC de Jong (m@x.org)", 130, 12),
        line("Nienke Molenaar", 150, 12),
        line("Email: n@y.org", 165, 12),
        line("Kim Lee", 180, 12),
    ]
    assert authors_of(*rows) == ["Margriet FC de Jong", "Nienke Molenaar", "Kim Lee"]


def test_a_longer_printed_list_beats_the_first_author_of_the_pdf_information():
    assert authors_of(line("Ana Ruiz, Ben Ito", 130, 12), info={"Author": "Ana Ruiz"}) == ["Ana Ruiz", "Ben Ito"]


@pytest.mark.parametrize(
    "account", ["anonymous", "Microsoft Office User", "python-docx", "DSI 2", "admin", "http://www.gao.gov"]
)
def test_names_of_software_and_accounts_are_no_authors(account):
    assert authors_of(info={"Author": account}) is None


def test_authors_of_another_article_left_in_xmp_are_not_believed():
    assert authors_of(xmp=[{"dc:creator": ["Andrew C Miklos"]}]) is None


def test_given_authors_that_are_printed_serve_where_the_layout_gives_none():
    row = line("with contributions by ana ruiz and by ben ito from the cable laboratory of the university", 130, 10)
    assert authors_of(row, info={"Author": "Ruiz, Ana; Ito, Ben"}) == ["Ana Ruiz", "Ben Ito"]


@pytest.mark.parametrize(
    "text", ["Department of Physics, University of Leeds", "Received 3 May 2004", "A Review of Methods", "Leeds", ""]
)
def test_lines_that_are_no_names(text):
    assert parse_names(text) is None


@pytest.mark.parametrize(
    "name", ["Ana Ruiz", "J. R. R. Tolkien", "Wen-tau Yih", "Mary J. O’Connell", "France Légaré", "Dominik Fuchß"]
)
def test_names_are_recognised(name):
    assert is_name(name)


def test_degrees_and_affiliation_letters_are_no_names():
    assert split_names("Ana Ruiz, MD, PhD a,b; Ben Ito c") == ["Ana Ruiz", "PhD a", "Ben Ito c"]
    assert parse_names(f"Ana Ruiz, MD{mark('a,b')}; Ben Ito{mark('c')}") == ["Ana Ruiz", "Ben Ito"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ana Ruiz; Ben Ito", ["Ana Ruiz", "Ben Ito"]),
        ("Ruiz, Ana; Ito, Ben", ["Ana Ruiz", "Ben Ito"]),
        ("Ana Ruiz, Ben Ito and Carl Ek", ["Ana Ruiz", "Ben Ito", "Carl Ek"]),
        ("Ruiz, Ana", ["Ana Ruiz"]),
        ("Ana Ruiz", ["Ana Ruiz"]),
    ],
)
def test_author_entries_are_split(text, names):
    assert split_author_text(text) == names


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Maurits W van Tulder", "van Tulder"), ("Ruiz, Ana", "Ruiz"), ("Martin King Jr.", "King"), ("Plato", "Plato")],
)
def test_surnames_keep_their_particles(name, expected):
    assert surname(name) == expected


def test_names_in_capitals_are_written_as_names():
    assert as_written("MARTI A. HEARST") == "Marti A. Hearst"
    assert as_written("Simon YW Ho") == "Simon YW Ho"
