"""Every backend answers every filter exactly as the evaluator does."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from stackroom.artefacts import StoredRow
from stackroom.config import FilterField
from stackroom.stores.filters import matches, validate_metadata_filter

_spec = importlib.util.spec_from_file_location("filter_strategies", Path(__file__).with_name("filter_strategies.py"))
random = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(random)

DECLARED = (
    FilterField(name="kind"),
    FilterField(name="year", value_type="int"),
    FilterField(name="tags", value_type="list"),
)
UNHURRIED = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    "print_blob": True,
}

DOCUMENTS = {
    "text": {"kind": "talk", "year": "2020", "tags": "alpha, beta"},
    "number": {"kind": 1, "year": 2020, "tags": ["alpha", "beta"]},
    "flag": {"kind": True, "year": 2020.0, "tags": ["alp"]},
    "list": {"kind": ["talk", "poster"], "year": 2020.5, "tags": ["beta", "ALPHA"]},
    "other": {"kind": "poster", "year": 1999, "tags": "ALPHA"},
    "absent": {"title": "nothing else"},
}
CASES = [
    ({"kind": "talk"}, "text"),
    ({"kind": {"$ne": "talk"}}, "number flag other"),
    ({"kind": 1}, "number"),
    ({"kind": True}, "flag"),
    ({"kind": {"$in": ["talk", 1, True]}}, "text number flag"),
    ({"kind": {"$nin": ["talk", 1]}}, "flag other"),
    ({"kind": {"$contains": "talk"}}, "text list"),
    ({"kind": {"$contains": 1}}, ""),
    ({"kind": {"$gt": "q"}}, "text"),
    ({"year": 2020}, "number flag"),
    ({"year": 2020.0}, "number flag"),
    ({"year": "2020"}, "text"),
    ({"year": {"$ne": 2020}}, "text list other"),
    ({"year": {"$gte": 2020, "$lt": 2020.5}}, "number flag"),
    ({"year": {"$gt": 2020}}, "list"),
    ({"year": {"$lte": "2020"}}, "text"),
    ({"year": {"$lt": True}}, ""),
    ({"tags": {"$contains": "alpha"}}, "text number"),
    ({"tags": {"$contains": "alp"}}, "text number flag".replace("number ", "")),
    ({"tags": {"$contains": "%"}}, ""),
    ({"tags": "alpha"}, ""),
    ({"tags": {"$ne": "alpha"}}, "text other"),
    ({"nobody": {"$ne": 1}}, ""),
    ({"nobody": {"$nin": ["x"]}}, ""),
    ({"$or": [{"kind": "poster"}, {"year": {"$lt": 2000}}]}, "other"),
    ({"$and": [{"$or": [{"kind": 1}, {"kind": True}]}, {"tags": {"$contains": "alp"}}]}, "flag"),
    ({"$or": [{"tags": {"$contains": "beta"}}, {"title": {"$contains": "else"}}]}, "text number list absent"),
]


def answer(store, where):
    return sorted(hit.chunk_id for hit in store.query(np.array([1.0, 0]), 500, where))


def rows_of(documents):
    return [
        StoredRow(f"c{number:03}", "a.pdf", "text", metadata, np.array([np.cos(number / 600), np.sin(number / 600)]))
        for number, metadata in enumerate(documents)
    ]


def test_the_traps_of_the_backends_are_none(place):
    """Each line is a filter some backend answers otherwise when it is simply handed over."""
    store = place.open(place.spec(dimension=2, filter_fields=DECLARED))
    store.upsert([StoredRow(name, "a.pdf", "text", metadata, np.array([1, 1])) for name, metadata in DOCUMENTS.items()])
    wrong = {str(where): found for where, names in CASES if (found := answer(store, where)) != sorted(names.split())}
    assert wrong == {}


def check_random_filters(place, examples, filters_each):
    store = place.open(place.spec(dimension=2, filter_fields=DECLARED))

    @settings(max_examples=examples, **UNHURRIED)
    @given(
        st.lists(random.METADATA, min_size=1, max_size=10), st.lists(random.FILTERS, min_size=1, max_size=filters_each)
    )
    def check(documents, filters):
        rows = rows_of(documents)
        store.replace_source("a.pdf", rows)
        for where in filters:
            canonical = validate_metadata_filter(where)
            note(f"documents {documents} filter {where}")
            assert answer(store, where) == [row.chunk_id for row in rows if matches(row.metadata, canonical)]

    check()


def test_random_filters_are_answered_as_the_evaluator_does(place):
    check_random_filters(place, examples=12, filters_each=8)


@pytest.mark.slow
def test_many_random_filters_are_answered_as_the_evaluator_does(place):
    check_random_filters(place, examples=300, filters_each=12)


def test_a_filter_is_applied_before_the_best_are_chosen(place):
    """Cutting first and filtering then gives fewer than k hits although more rows match."""
    store = place.open(place.spec(dimension=2, filter_fields=DECLARED))
    rows = rows_of([{"year": 2000 + number % 50, "tags": ["x"] if number > 700 else "xyz"} for number in range(800)])
    store.upsert(rows)
    for where, expected in [
        ({"year": 2049}, [f"c{number:03}" for number in range(49, 800, 50)]),
        ({"tags": {"$contains": "x"}, "year": {"$gt": 2047}}, [f"c{n:03}" for n in range(800) if n % 50 > 47]),
        ({"tags": {"$ne": "nothing"}, "year": 2001}, [f"c{n:03}" for n in range(1, 701, 50)]),
    ]:
        hits = [hit.chunk_id for hit in store.query(np.array([0.0, 1.0]), 12, where)]
        assert hits == sorted(expected, reverse=True)[:12]
