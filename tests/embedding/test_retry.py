"""Waiting rules, against the recorded cases."""

import json
from datetime import UTC, datetime

import pytest

from stackroom.embedding.retry import parse_retry_after, retry_after_from_headers, retry_delay


def cases(shared, function):
    everything = json.loads((shared / "vectors" / "records-and-articles.json").read_text())["vectors"]
    return [case for case in everything if case["function"] == function]


def test_recorded_header_values(shared):
    for case in cases(shared, "parse_retry_after"):
        now = datetime.fromisoformat(case["input"]["now"])
        assert parse_retry_after(case["input"]["value"], now) == case["expected"], case["id"]


def test_recorded_headers(shared):
    for case in cases(shared, "retry_after_from_headers"):
        assert retry_after_from_headers(case["input"]["headers"]) == case["expected"], case["id"]


def test_recorded_delays(shared):
    for case in cases(shared, "retry_delay"):
        assert retry_delay(**case["input"]) == case["expected"], case["id"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2026 09:28:30 +0200", 30.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
        ("inf", None),
        ("nan", None),
        ("", None),
        (None, None),
        (b"5", None),
        ("Wed, 99 Oct 2026 07:28:30 GMT", None),
    ],
)
def test_numbers_dates_and_nonsense(value, expected):
    assert parse_retry_after(value, datetime(2026, 10, 21, 7, 28, tzinfo=UTC)) == expected


def test_header_names_may_have_any_case():
    assert retry_after_from_headers({"Retry-After-MS": "500"}) == 0.5
    assert retry_after_from_headers({"RETRY-AFTER": "3"}) == 3.0
    assert retry_after_from_headers({}) is None


def test_the_first_wait_is_one_second_whatever_the_factor():
    assert [retry_delay(0, factor, None, 60) for factor in (0, 2, 10)] == [1.0, 1.0, 1.0]
