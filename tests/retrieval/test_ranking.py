import copy

import pytest

from stackroom.retrieval.document import Document
from stackroom.retrieval.ranking import convex_merge, min_max, rerank_by_recency, rrf_merge


def doc(text: str, **metadata) -> Document:
    return Document(text, {"file_name": "f", **metadata})


def test_weights_count_in_rrf():
    sets = [("dense", [(doc("a"), 0.9)]), ("BM25", [(doc("b"), 5.0)])]
    merged = rrf_merge(sets, weights={"BM25": 2.0})
    assert [(found.page_content, pytest.approx(score)) for found, score in merged] == [("b", 2 / 61), ("a", 1 / 61)]


def test_files_of_the_same_text_stay_apart():
    sets = [("dense", [(Document("same", {"file_name": "a"}), 0.9), (Document("same", {"file_name": "b"}), 0.8)])]
    assert len(rrf_merge(sets)) == 2


def test_convex_merge_normalises_each_list():
    sets = [
        ("dense", [(doc("a"), 0.9), (doc("b"), 0.5)]),
        ("BM25", [(doc("b"), 12.0), (doc("c"), 8.0), (doc("d"), 4.0)]),
    ]
    before = copy.deepcopy(sets)
    merged = convex_merge(sets, {"dense": 0.6, "BM25": 0.4})
    assert [(found.page_content, pytest.approx(score)) for found, score in merged] == [
        ("a", 0.6),
        ("b", 0.4),
        ("c", 0.2),
        ("d", 0.0),
    ]
    assert merged[1][0].metadata["_source_scores"] == {"dense": 0.5, "BM25": 12.0}
    assert sets == before
    assert [found.page_content for found, _ in convex_merge(sets, {}, num_refs_max=1)] == ["a"]


def test_convex_merge_gives_a_lone_list_the_full_weight():
    merged = convex_merge([("dense", []), ("BM25", [(doc("a"), 2.0), (doc("b"), 1.0)])], {"dense": 0.6, "BM25": 0.4})
    assert [score for _, score in merged] == [1.0, 0.0]
    assert convex_merge([], {}) == []


def test_convex_merge_counts_a_repeat_once():
    merged = convex_merge([("dense", [(doc("a"), 2.0), (doc("a"), 1.0)])], {})
    assert [score for _, score in merged] == [1.0]


def test_a_truth_value_is_no_year():
    merged = rerank_by_recency([(doc("a", year=True), 1.0), (doc("b", year=2000), 1.0), (doc("c", year=1990), 1.0)])
    assert [(found.page_content, pytest.approx(score)) for found, score in merged] == [
        ("b", 1.0),
        ("a", 0.95),
        ("c", 0.9),
    ]


def test_min_max_within_given_bounds():
    assert min_max([2.0, 1.0], low=0.0, high=4.0) == [0.5, 0.25]
    assert min_max([3.0, 3.0]) == [1.0, 1.0]
    assert min_max([]) == []
