"""Checks of stored rows, of whole stores, and across the sources of a corpus."""

import json
from dataclasses import asdict
from types import SimpleNamespace

from stackroom.artefacts import StoredRow
from stackroom.postcheck import (
    format_chunk_sample,
    format_store_lint_report,
    lint_corpus,
    lint_curated,
    lint_source,
    lint_store,
    select_sample_windows,
)

GOOD = {"file_name": "a.pdf", "title": "T", "year": 2004, "doi": "10.5555/a"}


def row(text="x" * 40, index=0, **metadata):
    kept = {key: value for key, value in {**GOOD, "chunk_index": index, **metadata}.items() if value is not None}
    return StoredRow(f"id{index}", "a.pdf", text, kept)


def rules(rows, **report):
    return [(finding.rule, finding.severity, finding.chunk_index) for finding in lint_source(rows, report)]


def test_a_good_source_has_no_findings():
    assert rules([row()], longest_chunk_tokens=256, max_tokens=256, lost_text_ratio=0.01, missing_pages=[]) == []


def test_each_fault_of_a_chunk_is_found_at_its_place():
    rows = [row("short", 0), row(index=1, file_name=None), row(index=2, year="2004"), row(index=3, lab=[1])]
    assert rules(rows) == [
        ("short_chunk", "warning", 0),
        ("no_file_name", "error", 1),
        ("invalid_year", "error", 2),
        ("invalid_type", "error", 3),
    ]


def test_a_gap_in_every_chunk_is_one_finding():
    rows = [row(index=n, doi=None, title=None) for n in range(50)]
    assert rules(rows) == [("missing_title", "warning", None), ("missing_doi", "info", None)]
    [finding] = lint_source([row(), row(index=1, year=None)], {})
    assert finding.message == "no year in 1 of 2 chunks"


def test_faults_of_the_conversion_are_found():
    assert rules([row()], longest_chunk_tokens=300, max_tokens=256, lost_text_ratio=0.2, missing_pages=[3, 4]) == [
        ("over_token_limit", "error", None),
        ("lost_text", "warning", None),
        ("missing_pages", "warning", None),
    ]
    assert rules([]) == [("no_chunks", "error", None)]


def paper(title, doi=None, authors=("Ana Ruiz",), **more):
    return {"DEFAULT": {"title": title, "authors": list(authors), **({"doi": doi} if doi else {}), **more}}


TITLE = "On the passive properties of long cables"


def across(**entries):
    return [(finding.rule, finding.severity, finding.source_id) for finding in lint_corpus(entries)]


def test_one_doi_under_two_titles_is_a_warning_and_under_one_title_a_duplicate():
    assert across(a=paper(TITLE, "10.5555/A"), b=paper("Something else entirely", "10.5555/a")) == [
        ("duplicate_doi", "warning", "a")
    ]
    assert across(a=paper(TITLE, "10.5555/a"), b=paper(TITLE.upper(), "10.5555/a")) == [("same_paper", "info", "a")]


def test_the_same_paper_without_doi_is_found_by_title_and_first_author():
    assert across(a=paper(TITLE), b=paper(TITLE + ".", "10.5555/a")) == [("same_paper", "info", "a")]
    assert across(a=paper(TITLE), b=paper(TITLE, authors=["Ben Ito"])) == []
    assert across(a=paper(TITLE, "10.5555/1"), b=paper(TITLE, "10.5555/2")) == []
    assert across(a=paper("Editorial"), b=paper("Editorial")) == []


def test_findings_of_lookups_are_gathered():
    assert across(a=paper(TITLE, _problems=["DOI x is registered for 'Other'"])) == [("lookup", "warning", "a")]


def test_problems_of_the_curated_map_are_errors():
    [finding] = lint_curated(["metadata-map.json:3: not valid JSON; look for a comma"])
    assert (finding.rule, finding.severity) == ("curated_map", "error")


def documents(given):
    return [SimpleNamespace(**document) for document in given]


def test_stores_are_judged_as_by_the_reference(shared):
    for vector in json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]:
        given = vector["input"]
        if vector["function"] == "lint_store":
            found = json.loads(json.dumps(asdict(lint_store(documents(given["docs"])))))
            assert found == vector["expected"], vector["id"]
        elif vector["function"] == "select_sample_windows":
            windows = select_sample_windows(range(given["number_of_docs"]), given["anchors"], given["per_anchor"])
            assert windows == vector["expected"], vector["id"]


def test_windows_lie_at_a_quarter_a_half_and_three_quarters():
    assert select_sample_windows(list(range(100)), 3) == [[25, 26, 27], [50, 51, 52], [75, 76, 77]]
    assert select_sample_windows([], 3) == select_sample_windows([1], 0) == []


def test_the_report_of_a_store_names_what_is_wrong_and_shows_samples():
    docs = documents(
        [{"page_content": "short", "metadata": {"file_name": "a.pdf"}}, {"page_content": "y" * 300, "metadata": GOOD}]
    )
    text = format_store_lint_report(lint_store(docs), select_sample_windows(docs, 1))
    assert text.splitlines()[0] == "2 chunks, 1 file, 305 characters; chunks per file: 2 to 2, 2 on average"
    assert "Short chunks (1):\n  - a.pdf: 5 characters" in text
    assert "  - a.pdf: doi, title, year" in text
    assert "Sample 1 of 1:" in text
    assert f"  [1.2] {'y' * 200}...\n    [a.pdf | T | 2004 | 10.5555/a]" in text
    assert "No issues found." not in text


def test_the_report_of_a_clean_store_says_so():
    docs = documents([{"page_content": "y" * 30, "metadata": GOOD}])
    assert format_store_lint_report(lint_store(docs)).endswith("No issues found.")


def test_a_sample_shows_headings_and_question_marks_for_what_is_unknown():
    [doc] = documents([{"page_content": "text", "metadata": {"headings": ["A", "B"]}}])
    assert format_chunk_sample(doc) == "text\n    [? | ? | ? | ? | A > B]"
