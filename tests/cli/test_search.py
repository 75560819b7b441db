"""`stackroom search`: how the question is checked, and how an answer is shown."""

import io
import json

import pytest
from rich.console import Console

from stackroom.cli import main
from stackroom.cli.output import program
from stackroom.cli.search import pages_in_words, parse_filter, print_hits, ranks_in_words
from stackroom.errors import FilterError
from stackroom.retrieval.hits import SearchHit

HIT = SearchHit(
    corpus="papers",
    source_id="a/[bold]frogs.pdf",
    chunk_id="00000000-0000-0000-0000-000000000000",
    chunk_index=4,
    score=0.8765,
    pages=(3, 4),
    headings=("Results", "Births"),
    text="The frog gives birth to tadpoles.",
    metadata={"title": "A fanged \x1b[31mfrog", "year": 2014},
    ranks={"dense": 1, "bm25": None},
)


def shown(*hits: SearchHit, explain: bool = False) -> str:
    """Return what is printed for hits."""
    screen = Console(file=io.StringIO(), width=200, highlight=False)
    print_hits(hits, screen, explain=explain)
    return screen.file.getvalue()


def test_a_hit_shows_source_pages_title_headings_score_and_ranks():
    assert shown(HIT) == (
        "1. a/[bold]frogs.pdf pages 3-4 (papers)\n"
        "   A fanged \\x1b[31mfrog\n"
        "   Results > Births\n"
        "   score 0.876 · dense #1, bm25 not found\n"
        "   The frog gives birth to tadpoles.\n"
        "\n"
    )


def test_a_title_that_is_also_the_first_heading_is_printed_once():
    hit = SearchHit(**{**vars(HIT), "headings": ("Two  Frogs", "Births"), "metadata": {"title": "Two frogs"}})
    assert shown(hit).splitlines()[1:3] == ["   Two  Frogs > Births", "   score 0.876 · dense #1, bm25 not found"]


def test_other_files_with_the_same_text_are_named():
    places = ("b/copy#1.pdf#4", "b/copy#1.pdf#5", *(f"c{number}.md#0" for number in range(6)))
    assert shown(SearchHit(**{**vars(HIT), "duplicates": places[:1]})).splitlines()[-2] == "   also in: b/copy#1.pdf"
    assert "   also in: b/copy#1.pdf, c0.md, c1.md, c2.md, c3.md, … and 2 more files\n" in shown(
        SearchHit(**{**vars(HIT), "duplicates": places})
    )


def test_the_name_of_a_record_set_points_to_the_command_that_searches_it(project, capsys):
    (project.folder / "stackroom.yaml").write_text("corpora: {}\nrecords: {plant: {folder: lines}}\n")
    assert main(["search", "pump", "--corpus", "plant"]) == 1
    assert capsys.readouterr().err == (
        f"error: 'plant' is a record set, not a corpus; `{program()} records search QUERY --set plant` searches it\n"
    )


def test_an_explanation_is_added_on_request():
    hit = SearchHit(**{**vars(HIT), "explanation": {"dense": {"score": 0.7}}})
    assert 'dense: {"score": 0.7}' in shown(hit, explain=True)
    assert "0.7}" not in shown(hit)


def test_no_hit_says_what_to_try():
    assert "Nothing found" in shown()


@pytest.mark.parametrize(("pages", "words"), [((3,), "page 3"), ((3, 4, 5), "pages 3-5")])
def test_pages_in_words(pages, words):
    assert pages_in_words(pages) == words


def test_ranks_in_words():
    assert ranks_in_words({"dense": 2, "bm25": 1}) == "dense #2, bm25 #1"


def test_a_filter_is_a_json_object():
    assert parse_filter('{"year": {"$gte": 2020}}') == {"year": {"$gte": 2020}}
    assert parse_filter(None) is None


@pytest.mark.parametrize("text", ["year=2020", "[1]", '"year"', "{"])
def test_a_filter_that_is_no_object_is_refused_with_an_example(text):
    with pytest.raises(FilterError, match=r"--filter"):
        parse_filter(text)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--corpus", "paper"], "known: papers"),
        (["--filter", "year"], "--filter is not JSON"),
        (["--filter", '{"year": {"$near": 1}}'], "$near"),
    ],
)
def test_a_question_that_cannot_be_asked_could_not_run(project, capsys, arguments, words):
    assert main(["search", "frogs", *arguments, "--json"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err


def test_an_empty_question_is_refused(project, capsys):
    assert main(["search", "   "]) == 1
    assert "empty" in capsys.readouterr().err


def test_before_any_ingestion_the_answer_is_empty_and_says_so(project, capsys):
    assert main(["search", "frogs", "--json"]) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert answer["hits"] == []
    assert "ingest" in " ".join(answer["warnings"])
    assert "ingest" in printed.err
    assert not project.state.exists()


def test_a_filter_that_matches_nothing_says_what_may_be_wrong(in_filled, capsys):
    assert main(["search", "fish", "--filter", '{"titel": "Otters"}', "--json"]) == 0
    printed = capsys.readouterr()
    (hint,) = json.loads(printed.out)["warnings"]
    assert hint.startswith("no chunk has the field 'titel', did you mean 'title'?")
    assert hint in printed.err.replace("\n", " ")
    assert main(["search", "fish", "--filter", '{"title": {"$contains": "Otter"}}', "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
