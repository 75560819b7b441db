"""The title: the largest plausible lines, and metadata that the pages bear out."""

import pytest
from imaginary_papers import BODY, line, signals

from stackroom.biblio.candidates import best
from stackroom.biblio.title import join_lines, title_candidates
from stackroom.biblio.view import document_view

TITLE = [line("On the Passive Properties of", 100, 18), line("Long Cables", 122, 18)]


def title_of(*pages, stem="file", **more):
    chosen = best(title_candidates(document_view(signals(*pages, **more)), stem))
    return None if chosen is None else chosen.value


def test_the_largest_lines_are_the_title_and_are_joined():
    assert title_of([line("RESEARCH ARTICLE", 60, 22), *TITLE, *BODY]) == "On the Passive Properties of Long Cables"


def test_a_larger_nameplate_of_the_journal_is_not_the_title():
    page = [line("Cable Letters", 40, 24), *TITLE, line("Ana Ruiz and Ben Ito", 150, 12), *BODY]
    assert title_of(page) == "On the Passive Properties of Long Cables"


@pytest.mark.parametrize(
    "junk",
    ["pone.0115884 1..14", "Microsoft Word - draft3.docx", "untitled", "paper_final.pdf", "Print", "S0896627302005698"],
)
def test_junk_in_the_pdf_information_is_passed_over(junk):
    assert title_of([*TITLE, *BODY], info={"Title": junk}) == "On the Passive Properties of Long Cables"


def test_a_title_of_the_pdf_information_that_is_not_printed_loses_against_a_printed_one():
    info = {"Title": "An upper limit for macromolecular crowding effects"}
    assert title_of([*TITLE, *BODY], info=info) == "On the Passive Properties of Long Cables"


def test_a_title_of_the_pdf_information_that_is_printed_wins_and_takes_the_printed_spacing():
    info = {"Title": "On the PassiveProperties of Long Cables"}
    view = document_view(signals([*TITLE, *BODY], info=info))
    chosen = best(title_candidates(view, "file"))
    assert (chosen.value, chosen.source) == ("On the Passive Properties of Long Cables", "pdf-info")
    assert chosen.confidence > 0.95


def test_without_readable_pages_the_pdf_information_is_believed():
    assert title_of(info={"Title": "Passive cables"}) == "Passive cables"


def test_vertical_text_and_page_wide_stamps_are_not_titles():
    page = [
        line("DRAFT", 200, 140, rotated=True),
        line("arXiv:2203.00130v1 [cs.HC]", 300, 20, rotated=True),
        *TITLE,
        *BODY,
    ]
    assert title_of(page) == "On the Passive Properties of Long Cables"


def test_the_cover_page_of_a_repository_does_not_hide_the_title():
    cover = [
        line("HAL is a multi-disciplinary open access archive for the deposit of documents", 300, 10),
        line("HAL Id: hal-01234567", 80, 16),
    ]
    assert title_of([*cover], [*TITLE, *BODY]) == "On the Passive Properties of Long Cables"


def test_version_notes_of_open_review_are_cut_off():
    page = [
        line("On the passive properties of long cables", 100, 18),
        line("[version 2; peer review: 2 approved]", 122, 18),
        *BODY,
    ]
    assert title_of(page) == "On the passive properties of long cables"


def test_a_hyphen_at_a_line_end_stays_only_if_the_word_has_one():
    view = document_view(signals([line("The behaviour of non-linear systems", 300), line("responses of neurons", 320)]))
    assert join_lines(["A non-", "linear view"], view) == "A non-linear view"
    assert join_lines(["Many neu-", "rons"], view) == "Many neurons"


def test_where_the_text_layer_is_gibberish_the_conversion_counts():
    words = [
        "binding",
        "of",
        "a",
        "fluorescence",
        "reporter",
        "and",
        "ligand",
        "to",
        "an",
        "odorant",
        "protein",
        "of",
        "yellow",
        "fever",
        "mosquito",
    ]
    garbled = [line(word[::-1].swapcase() + "»¼", 100 + 10 * n) for n, word in enumerate(words)]
    items = [
        {"label": "section_header", "page": 1, "box": [55, 110, 520, 130], "text": "Passive cables of the mosquito"},
        {
            "label": "text",
            "page": 1,
            "box": [55, 200, 520, 220],
            "text": " ".join(words) + " with more words to read here",
        },
    ]
    docling = {"first": items, "pages": {"1": [595.0, 842.0]}}
    assert title_of(garbled, docling=docling) == "Passive cables of the mosquito"
