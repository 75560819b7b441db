"""A filter that matched nothing says what may be wrong with it."""

import pytest

from stackroom.retrieval.filter_hints import filter_hints
from stackroom.stores.filters import validate_metadata_filter

FIELDS = {"authors": "list", "authors__names": "list", "title": "string", "year": "int", "file_name": "string"}
KNOWN = "(fields: authors, title, year, file_name)"


def test_numbered_fields_are_folded_and_internal_ones_left_out():
    fields = {"url": "string", **{f"url_{number}": "string" for number in range(1, 51)}, "_own": "string"}
    fields |= {"figure_2": "int", "source_id": "string"}
    assert filter_hints(validate_metadata_filter({"urll": "x"}), fields) == [
        "no chunk has the field 'urll', did you mean 'url'? (fields: figure_2, url, url_1…url_50, source_id)"
    ]
    assert filter_hints(validate_metadata_filter({"_owm": "x"}), {"_own": "string"}) == [
        "no chunk has the field '_owm' (fields: none)"
    ]


def test_at_most_a_dozen_fields_are_named():
    fields = {f"f{letter}": "string" for letter in "abcdefghijklmno"}
    assert filter_hints(validate_metadata_filter({"colour": "x"}), fields) == [
        "no chunk has the field 'colour' (fields: fa, fb, fc, fd, fe, ff, fg, fh, fi, fj, fk, fl, … and 3 more)"
    ]


@pytest.mark.parametrize(
    ("where", "hints"),
    [
        ({"author": "Ruiz"}, [f"no chunk has the field 'author', did you mean 'authors'? {KNOWN}"]),
        ({"colour": "red"}, [f"no chunk has the field 'colour' {KNOWN}"]),
        ({"doi": "10.1/x"}, ["no chunk has a value of 'doi'"]),
        (
            {"authors": "Ruiz"},
            ['\'authors\' is a list; ask for one of its members with {"authors": {"$contains": "…"}}'],
        ),
        ({"year": "2004"}, ["'year' holds numbers; write them without quotes"]),
        ({"year": {"$in": [1999, "2004"]}}, ["'year' holds numbers; write them without quotes"]),
        ({"title": 7}, ["'title' holds text; write values in quotes"]),
        ({"$and": [{"titel": "a"}, {"year": 1}]}, [f"no chunk has the field 'titel', did you mean 'title'? {KNOWN}"]),
        ({"authors": {"$contains": "Ruiz"}, "year": {"$gte": 3000}}, []),
    ],
)
def test_unknown_fields_and_values_of_another_kind_are_named(where, hints):
    assert filter_hints(validate_metadata_filter(where), FIELDS, {"doi", "year"}) == hints
