"""Checks of metadata entries and whole maps."""

import datetime as dt
import json

import pytest

from stackroom.map_lint import format_metadata_lint_report, lint_file_metadata, lint_metadata_map

CLEAN = {
    "title": "Cable theory",
    "authors": ["Ana Ruiz"],
    "year": 2004,
    "journal": "J",
    "doi": "10.5555/abc",
    "keywords": ["k"],
}
NEXT = dt.datetime.now(tz=dt.UTC).year


def codes(name="x.pdf", **fields):
    entry = {"DEFAULT": {key: value for key, value in {**CLEAN, **fields}.items() if value != "absent"}}
    return [issue.code for issue in lint_file_metadata(name, entry)]


def test_entries_are_judged_as_by_the_reference_except_that_dois_may_have_two_slashes(shared):
    for vector in json.loads((shared / "vectors" / "stores.json").read_text())["vectors"]:
        if vector["function"] == "lint_file_metadata":
            given = vector["input"]
            found = [issue.code for issue in lint_file_metadata(given["file_name"], given["entry"])]
            expected = [] if vector["id"] == "ML-011" else vector["expected"]
            # The vectors were written in a year when 2028 was the last plausible one.
            assert found == expected, vector["id"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"year": NEXT + 3}, "implausible_year"),
        ({"year": "2004"}, "invalid_year"),
        ({"year": True}, "invalid_year"),
        ({"doi": "10.5555/abc.pdf"}, "suspicious_doi"),
        ({"doi": "10.5555/abc/full"}, "suspicious_doi"),
        ({"doi": "10.xxxxxx/draft"}, "suspicious_doi"),
        ({"doi": "see text"}, "suspicious_doi"),
        ({"title": "pone.0115884 1..14"}, "suspicious_title"),
        ({"authors": "Ana Ruiz"}, "invalid_type"),
        ({"authors": ["Microsoft Office User"]}, "suspicious_author"),
        ({"lab": {"nested": 1}}, "invalid_type"),
        ({"source_id": "x"}, "reserved:source_id"),
        ({f"url_{n}": "https://a" for n in range(6)}, "too_many_urls"),
        ({"_problems": ["DOI 10.5555/abc is registered for 'Other'"]}, "lookup"),
    ],
)
def test_each_kind_of_fault_has_its_code(fields, code):
    assert codes(**fields) == [code]


@pytest.mark.parametrize(
    "fields",
    [{"doi": "10.1093/nar/27.2.573"}, {"doi": "10.1016/S0896-6273(02)00569-8"}, {"year": NEXT + 2}, {"_x": {"a": 1}}],
)
def test_what_is_unusual_but_right_is_no_fault(fields):
    assert codes(**fields) == []


def test_a_whole_map_is_compared_with_the_sources_there_are():
    data = {
        "$schema": "x",
        "a.pdf": {"DEFAULT": {**CLEAN, "_metadata_complete": True}, "Intro": {}, "Methods": {}},
        "sub/b.pdf": {"DEFAULT": {**CLEAN, "year": "x"}},
        "gone.pdf": {"DEFAULT": CLEAN},
        "twice.pdf": {"DEFAULT": CLEAN},
    }
    sources = ["deep/a.pdf", "sub/b.pdf", "c.pdf", "1/twice.pdf", "2/twice.pdf"]
    report = lint_metadata_map(data, sources)
    assert (report.files, report.complete) == (4, 1)
    assert report.missing_keys == ("1/twice.pdf", "2/twice.pdf", "c.pdf")
    assert report.unknown_keys == ("gone.pdf", "twice.pdf")
    assert report.placeholders == {"a.pdf": 2}
    assert {key: [issue.code for issue in found] for key, found in report.issues.items()} == {
        "sub/b.pdf": ["invalid_year"]
    }
    text = format_metadata_lint_report(report)
    assert text.splitlines()[0] == "4 files: 1 complete, 3 need review"
    assert "Source files without an entry (3); storing fails until they have one:" in text
    assert "Entries that belong to no source file (2):" in text
    assert "  sub/b.pdf\n    - the year 'x' is not a whole number" in text
    assert "2 heading chains in 1 file are empty (most in a.pdf: 2); filling them is optional" in text


def test_every_file_is_counted_once_complete_or_not():
    complete = {**CLEAN, "_metadata_complete": True}
    report = lint_metadata_map(
        {
            "fine.pdf": {"DEFAULT": complete},
            "odd.pdf": {"DEFAULT": {**complete, "year": 1492}},
            "unsure.pdf": {"DEFAULT": CLEAN},
            "wrong.pdf": {"DEFAULT": {**CLEAN, "year": 1492}},
        }
    )
    assert format_metadata_lint_report(report).splitlines() == [
        "4 files: 2 complete (1 of them with remarks), 2 need review",
        "",
        "Needs review:",
        "  unsure.pdf",
        "    - found, but not with certainty; compare it with the document",
        "  wrong.pdf",
        f"    - {report.issues['wrong.pdf'][0]}",
        "",
        "Complete, with remarks:",
        "  odd.pdf",
        f"    - {report.issues['odd.pdf'][0]}",
    ]


def test_without_a_list_of_sources_nothing_is_missing():
    report = lint_metadata_map({"a.pdf": {"DEFAULT": CLEAN}, "b.pdf": "x"})
    assert (report.missing_keys, report.unknown_keys) == ((), ())
    assert list(report.issues) == ["b.pdf"]
