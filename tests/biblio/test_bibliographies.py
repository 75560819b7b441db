"""Bibliographies out as BibTeX and CSL JSON, and back in as BibTeX."""

from stackroom.biblio.bib_import import import_bibtex, read_bibtex
from stackroom.biblio.exports import citation_keys, to_bibtex, to_csl

ENTRIES = {
    "a/ruiz.pdf": {
        "title": "The DNA & 50% of Müller: x_1",
        "authors": ["Jürgen Müller", "Ana Cristina da Silva", "Working Group on Cables and Wires"],
        "year": 2004,
        "journal": "J & K",
        "doi": "10.5555/x_y(2)",
        "keywords": ["a", "b"],
    },
    "b.pdf": {"title": "On cables", "authors": ["Ana Ruiz"], "arxiv": "2203.00130v1", "year": 2022},
    "c.pdf": {"title": "c"},
}


def test_bibtex_that_is_written_reads_back_the_same():
    fields, problems = read_bibtex(to_bibtex(ENTRIES))
    assert problems == ()
    assert fields["muller2004dna"] == {**ENTRIES["a/ruiz.pdf"], "file": "a/ruiz.pdf"}
    assert fields["ruiz2022cables"]["arxiv"] == "2203.00130v1"


def test_everything_written_finds_its_source_again():
    assert import_bibtex(to_bibtex(ENTRIES), ENTRIES).values.keys() == ENTRIES.keys()


def test_citation_keys_are_unique_and_ascii():
    entries = {name: {"title": "Über Kabel", "authors": ["Ö. Äü"], "year": 2004} for name in ("a", "b")}
    assert citation_keys(entries) == {"a": "au2004uber", "b": "au2004uber_2"}
    assert citation_keys({"a": {}}) == {"a": "source"}


def test_csl_items_have_parted_names_and_dates():
    item, preprint, bare = to_csl(ENTRIES)
    assert item["type"] == "article-journal"
    assert item["author"][:2] == [
        {"family": "Müller", "given": "Jürgen"},
        {"family": "da Silva", "given": "Ana Cristina"},
    ]
    assert item["author"][2] == {"literal": "Working Group on Cables and Wires"}
    assert item["issued"] == {"date-parts": [[2004]]}
    assert (preprint["type"], preprint["number"]) == ("article", "arXiv:2203.00130v1")
    assert bare == {"id": "c", "type": "document", "title": "c"}


LATEX = r"""
@string{jk = "Journal of K"}
@article{a, title = {The {DNA} of M{\"u}ller}, author = {M{\"u}ller, J{\"u}rgen and {The Group}}, year = 2004,
  journal = jk, doi = {https://doi.org/10.5555/x_y(2)}}
@article{broken, title = {unclosed}
@book{b, title = {On   cables}, date = {2021-05}, author = {Ana Ruiz}}
@misc{c, title = {Something else entirely}}
@misc{d, title = {x}, file = {:sub/c.pdf:PDF}}
"""


def test_latex_is_read_as_text_and_a_broken_block_is_named_with_its_line():
    fields, problems = read_bibtex(LATEX)
    assert fields["a"] == {
        "title": "The DNA of Müller",
        "authors": ["Jürgen Müller", "The Group"],
        "year": 2004,
        "journal": "Journal of K",
        "doi": "10.5555/x_y(2)",
    }
    assert len(problems) == 1
    assert problems[0].startswith("line 5: Unexpected block start")


def test_entries_are_matched_by_file_then_doi_then_title():
    found = import_bibtex(LATEX, ENTRIES)
    assert found.values["a/ruiz.pdf"]["title"] == "The DNA of Müller"
    assert found.values["b.pdf"] == {"title": "On cables", "authors": ["Ana Ruiz"], "year": 2021}
    assert found.values["c.pdf"] == {"title": "x"}
    assert found.unmatched == ("c",)


def test_an_entry_that_fits_two_sources_is_left_to_the_person():
    twins = {"a.pdf": {"title": "Passive cables"}, "b.pdf": {"title": "Passive cables"}}
    assert import_bibtex("@misc{k, title={Passive Cables}}", twins).unmatched == ("k",)
