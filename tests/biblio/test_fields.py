"""Year, journal, keywords, arXiv id, abstract: where each is printed, and what is not taken for it."""

import json

import pytest
from imaginary_papers import BODY, line, signals

from stackroom.biblio.candidates import best
from stackroom.biblio.details import chunk_heading_title, split_keywords
from stackroom.biblio.extract import offline_candidates
from stackroom.biblio.journal import is_abbreviation
from stackroom.biblio.journal_text import Mention, journals_in, mentions
from stackroom.biblio.patterns import extract_regex_metadata
from stackroom.biblio.view import document_view

TITLE = line("On the Passive Properties of Long Cables", 100, 18)


def value(field, *pages, **more):
    chosen = best(offline_candidates(document_view(signals(*pages, **more)), "file")[field])
    return None if chosen is None else chosen.value


def running(text):
    return [{"text": text, "where": "top", "pages": [1, 2, 3], "size": 8}]


@pytest.mark.parametrize(
    "text",
    [
        "Published: December 31, 2014",
        "© 2014 Ruiz et al.; licensee Cable Central",
        "Copyright c 2014 ACM 978-1-60558-392-1",
        "2014 The Authors. Published by the Cable Society",
        "CABLE'14, June 15-20, 2014, Dublin, Ireland.",
        "Ruiz et al. Cable Letters 2014, 14:70",
    ],
)
def test_dates_of_publication_on_the_first_page(text):
    assert value("year", [TITLE, *BODY, line(text, 780, 7)]) == 2014


def test_the_arxiv_stamp_dates_a_preprint():
    stamp = line("arXiv:2203.00130v1 [cs.HC] 28 Feb 2022", 300, 20, rotated=True)
    assert value("year", [TITLE, *BODY, stamp]) == 2022
    assert value("arxiv", [TITLE, *BODY, stamp]) == "2203.00130v1"


def test_an_arxiv_id_in_the_text_is_a_cited_one():
    assert value("arxiv", [TITLE, line("as shown in arXiv:1706.03762", 500), *BODY]) is None


def test_years_of_licences_references_and_reception_do_not_date_a_paper():
    rows = [
        line("Creative Commons Attribution License 2.0 (2001) permits use", 780, 7),
        line("Received: 7 August 2009", 300, 8),
        line("as Smith (2003) and Jones (2005) found", 500),
    ]
    assert value("year", [TITLE, *rows, *BODY]) is None


def test_a_year_out_of_reach_is_no_year():
    assert value("year", [TITLE, *BODY, line("© 2099 The Authors", 780, 7)]) is None


def test_an_article_that_appeared_online_the_year_before_bears_that_year():
    rows = [
        line("Accepted: 22 October 2022", 30, 7),
        line("© 2022 The Authors. Cable Letters published by X", 780, 7),
        line("Cable Letters. 2023;53:790-810.", 790, 7),
    ]
    assert value("year", [TITLE, *rows, *BODY], info={"Subject": "Cable Letters 2023.53:790-810"}) == 2022


def test_a_draft_has_neither_year_nor_journal():
    rows = [line("Published: unpublished", 300, 8), line("Ruiz (2025). Cables. Journal of Cables, 1(2), 3", 780, 8)]
    packet = {"dc:title": ["On the Passive Properties of Long Cables"], "prism:publicationName": ["Journal of Cables"]}
    page = [TITLE, *rows, *BODY]
    assert value("year", page, info={"CreationDate": "D:20251004"}, xmp=[packet]) is None
    assert value("journal", page, xmp=[packet]) is None


@pytest.mark.parametrize(
    ("text", "journal"),
    [
        ("Ruiz et al. BMC Evolutionary Biology 2014, 14:70", "BMC Evolutionary Biology"),
        ("Empirical Software Engineering (2023) 28:132", "Empirical Software Engineering"),
        ("Metabolites 2014, 4, 932-945; doi:10.5555/m", "Metabolites"),
        ("Ruiz et al. (2019), PeerJ Comput. Sci., DOI 10.5555/p", "PeerJ Comput. Sci."),
        ("Softw: Pract Exper. 2023;53:790-810.", "Softw: Pract Exper"),
        ("PLoS ONE 9(12): e115884", "PLoS ONE"),
        ("R. Soc. open sci. 2: 150395", "R. Soc. open sci."),
        ("Datta et al. Journal of Trauma Management & Outcomes 2010, 4:1", "Journal of Trauma Management & Outcomes"),
        ("© 2022 The Authors. Software: Practice and Experience published by X", "Software: Practice and Experience"),
    ],
)
def test_journals_are_told_by_the_volume_that_follows(text, journal):
    assert next(journals_in(text)) == journal


@pytest.mark.parametrize(
    "text",
    [
        "Proceedings of the 58th Annual Meeting of the Association, pages 2270-2282",
        "PLOS ONE | DOI:10.5555/j December 31, 2014 1 / 14",
        "This work is licensed under a Creative Commons Attribution 4.0",
        "PLDI'09, June 15-20, 2009, Dublin, Ireland.",
        "Page 3 of 11",
    ],
)
def test_what_is_no_journal(text):
    assert list(journals_in(text)) == []


@pytest.mark.parametrize(
    ("text", "journal", "year"),
    [
        ("Journal of Cleaner Production 263 (2020) 121414", "Journal of Cleaner Production", 2020),
        (
            "IEEE TRANSACTIONS ON SOFTWARE ENGINEERING, VOL. 45, NO. 3, MARCH 2019",
            "IEEE Transactions on Software Engineering",
            2019,
        ),
        ("Nucleic Acids Research, 2014, Vol. 42, Database issue D1091-D1097", "Nucleic Acids Research", 2014),
        ("Bioinformatics, 34(13), 2018, i457-i466", "Bioinformatics", 2018),
        ("SCIENTIFIC REPORTS | 5:12345 | DOI: 10.5555/srep12345", "Scientific Reports", None),
        ("Scientific Reports | (2020) 10:12345 | https://doi.org/10.5555/s", "Scientific Reports", 2020),
        ("Frontiers in Psychology | www.frontiersin.org 1 March 2020 | Volume 11", "Frontiers in Psychology", None),
        ("Ruiz et al. eLife 2020;9:e12345. DOI: https://doi.org/10.5555/eLife.12345", "eLife", 2020),
        ("BMJ 2014;349:g4330 doi: 10.5555/bmj.g4330", "BMJ", 2014),
        ("PHYSICAL REVIEW D 98, 123456 (2018)", "Physical Review D", 2018),
        ("J. Chem. Phys. 123, 234567 (2005)", "J. Chem. Phys.", 2005),
        ("Biogeosciences, 11, 1234-1250, 2014", "Biogeosciences", 2014),
        ("BioMed Research International Volume 2014, Article ID 123456", "BioMed Research International", 2014),
        (
            "Ruiz et al., (2020). Cables. Journal of Open Source Software, 5(45), 1234.",
            "Journal of Open Source Software",
            None,
        ),
        ("Proc. ACM Hum.-Comput. Interact., Vol. 4, No. CSCW1, Article 12.", "Proc. ACM Hum.-Comput. Interact.", None),
        ("JOURNAL OF THINGS 2020, VOL. 34, NO. 2, 123-145", "Journal of Things", 2020),
    ],
)
def test_journals_of_many_publishers_and_the_year_beside_them(text, journal, year):
    assert next(mentions(text)) == Mention(journal, year)


def test_a_nameplate_larger_than_the_title_is_the_journal():
    plate = line("Journal of Cleaner Production", 60, 18)
    page = [
        line("Journal of Cleaner Production 263 (2020) 121414", 30, 8), plate,
        line("On the passive properties of long cables", 110, 13), line("Ana Ruiz, Ben Ito", 140, 10), *BODY,
    ]  # fmt: skip
    assert value("title", page) == "On the passive properties of long cables"
    assert value("journal", [*page, line("Abstract", 200), line("a@b.org", 210)]) == "Journal of Cleaner Production"
    assert value("year", page) == 2020


def test_a_journal_in_a_running_line_is_found_and_its_full_name_beats_an_abbreviation():
    page = [TITLE, *BODY, line("© 2022 The Authors. Software: Practice and Experience published by X", 790, 7)]
    assert (
        value("journal", page, repeated=running("Softw: Pract Exper. 2023;53:790-810."))
        == "Software: Practice and Experience"
    )
    assert is_abbreviation("Softw Pract Exp", "Software: Practice and Experience")
    assert not is_abbreviation("Trials", "Trials")


def test_the_journal_after_the_title_in_a_self_citation_is_not_mixed_with_it():
    rows = [
        line("Citation: Ruiz A (2014) On the Passive Properties", 300, 8),
        line("of Long Cables. PLoS ONE 9(12): e115884.", 310, 8),
    ]
    assert value("journal", [TITLE, *rows, *BODY]) == "PLoS ONE"


def test_keywords_over_two_lines_end_where_the_next_heading_begins():
    rows = [
        line("Keywords: Elderly, Home care, Shared decision", 300, 10),
        line("making; Training", 312, 10),
        line("Introduction", 330, 10),
    ]
    assert value("keywords", [TITLE, *rows, *BODY]) == ["Elderly", "Home care", "Shared decision making", "Training"]


def test_a_sentence_about_keywords_is_no_list_of_them():
    assert value("keywords", [TITLE, line("Keywords are often chosen badly by authors.", 300), *BODY]) is None


def test_keyword_lists_are_split_at_any_usual_sign():
    assert split_keywords("a; b, c · d • e") == ["a", "b", "c", "d", "e"]
    assert split_keywords("SPME-GC/MS; a, a") == ["SPME-GC/MS", "a"]


def test_the_abstract_is_the_text_between_its_heading_and_the_next():
    items = [
        {"label": "section_header", "text": "Abstract", "page": 1},
        {"label": "text", "text": "Background: " + "We measured cables. " * 10, "page": 1},
        {"label": "section_header", "text": "Introduction", "page": 1},
        {"label": "text", "text": "Not this.", "page": 1},
    ]
    found = value("abstract", [TITLE, *BODY], docling={"first": items})
    assert found.startswith("Background: We measured cables.")
    assert "Not this" not in found


def test_labelled_text_agrees_with_the_reference(shared):
    for vector in json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]:
        if vector["function"] == "extract_regex_metadata":
            assert extract_regex_metadata(vector["input"]["text"]) == vector["expected"], vector["id"]
        elif vector["function"] == "_first_heading_title":
            assert chunk_heading_title(vector["input"]["headings_per_chunk"]) == vector["expected"], vector["id"]
