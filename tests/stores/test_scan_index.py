"""The matrix in memory gives what comparing with every vector gives, whatever was put and dropped."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.stores.scan_index import ScanIndex


def unit(numbers):
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sets(st.integers(0, 90), min_size=1, max_size=8), st.integers(0, 99)),
        st.tuples(st.just("drop"), st.sets(st.integers(0, 90), min_size=1, max_size=8), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, 10), st.none() | st.sets(st.integers(0, 90)))
def test_the_nearest_rows_are_found_after_any_changes(steps, k, among):
    index, expected = ScanIndex(3), {}
    for what, rows, seed in steps:
        numbers = np.array(sorted(rows), dtype=np.int64)
        if what == "put":
            generator = np.random.default_rng(seed)
            vectors = np.array([unit(generator.normal(size=3)) for _ in numbers])
            index.put(numbers, vectors)
            expected |= dict(zip(sorted(rows), vectors, strict=True))
        else:
            index.drop(numbers)
            expected = {row: vector for row, vector in expected.items() if row not in rows}
    assert sorted(index.rows) == sorted(expected)
    assert len(index) == len(expected)
    query = unit([1, 2, 3])
    allowed = {row: vector @ query for row, vector in expected.items() if among is None or row in among}
    best = sorted(allowed.values(), reverse=True)[:k]
    wanted = {row for row, score in allowed.items() if best and score >= best[-1] - 1e-6}
    found = index.nearest(query, k, None if among is None else np.array(sorted(among), dtype=np.int64))
    assert set(found.tolist()) == wanted


def test_rows_that_tie_with_the_last_are_all_given():
    index = ScanIndex(2)
    index.put(np.arange(50), np.tile(unit([1, 1]), (50, 1)))
    index.put(np.array([50]), unit([1, 0])[None])
    assert set(index.nearest(unit([1, 0]), 3).tolist()) == set(range(51))
    assert index.nearest(unit([1, 0]), 1).tolist() == [50]
