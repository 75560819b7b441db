"""Similar documents and near-duplicates over the product's own stores, against brute force."""

import uuid

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.articles.similar import near_duplicates, similar_sources
from stackroom.stores.base import open_store
from stackroom.stores.collection import CollectionSpec

DIMENSION = 24


@pytest.fixture
def collection():
    store = open_store(f"memory:{uuid.uuid4()}", CollectionSpec("papers-m-1", "papers", "m-1", DIMENSION))
    yield store
    store.close()


def fill(store, documents):
    for source, vectors in documents.items():
        rows = [
            StoredRow(
                str(uuid.uuid5(uuid.NAMESPACE_URL, f"{source}{index}")),
                source,
                f"passage {index} of {source}",
                {"source_id": source, "chunk_index": index},
                np.asarray(vector, dtype=np.float32),
            )
            for index, vector in enumerate(vectors)
        ]
        store.replace_source(source, rows)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.fixture
def documents():
    generator = np.random.default_rng(5)
    return {f"d{n:02}.pdf": unit(generator.normal(size=(int(generator.integers(1, 40)), DIMENSION))) for n in range(30)}


@pytest.mark.parametrize("k", [1, 4, 29, 100])
def test_the_ranking_is_that_of_comparing_everything_with_everything(collection, documents, k):
    fill(collection, documents)
    for own in ("d00.pdf", "d17.pdf"):
        best = {s: float((documents[own] @ v.T).max()) for s, v in documents.items() if s != own}
        expected = sorted(best, key=lambda source: (-best[source], source))[:k]
        found = similar_sources(collection, documents[own], own, k)
        assert [one.source_id for one in found] == expected
        assert [one.score for one in found] == pytest.approx([best[source] for source in expected], abs=1e-5)


def test_a_long_document_of_like_passages_hides_no_other(collection):
    """300 passages of one document fill every list of hits; the second document is found all the same."""
    axis = np.eye(DIMENSION)
    own = axis[:2]
    long = unit(axis[0] + 0.01 * np.random.default_rng(1).normal(size=(300, DIMENSION)))
    fill(collection, {"own": own, "long": long, "second": unit(axis[:1] + 0.1 * axis[5]), "third": axis[1:2] + axis[7]})
    assert [one.source_id for one in similar_sources(collection, own, "own", 3)] == ["long", "second", "third"]
    assert [one.source_id for one in similar_sources(collection, own, "own", 2)] == ["long", "second"]


def test_the_passages_that_make_it_similar_are_shown_once_each(collection):
    axis = np.eye(DIMENSION)
    fill(collection, {"other": [axis[3], axis[1], axis[2], axis[2] + axis[3]]})
    (found,) = similar_sources(collection, axis[1:3], None, 5, passages=2)
    assert [(p.own_index, p.text) for p in found.passages] == [(0, "passage 1 of other"), (1, "passage 2 of other")]
    assert found.score == pytest.approx(1.0)
    assert found.to_json()["passages"][0]["metadata"]["chunk_index"] == 1


def test_nothing_is_similar_to_nothing(collection, documents):
    assert similar_sources(collection, np.ones((1, DIMENSION)), None, 3) == []
    fill(collection, documents)
    assert similar_sources(collection, np.zeros((0, DIMENSION)), None, 3) == []
    assert similar_sources(collection, np.zeros((1, DIMENSION)), None, 3) == []
    assert similar_sources(collection, documents["d00.pdf"], None, 0) == []


def test_a_very_long_document_is_compared_by_evenly_spread_passages(collection, documents):
    fill(collection, documents)
    long = unit(np.random.default_rng(2).normal(size=(2000, DIMENSION)))
    long[0] = documents["d03.pdf"][0]
    long[-1] = documents["d04.pdf"][0]
    assert {one.source_id for one in similar_sources(collection, long, None, 2)} == {"d03.pdf", "d04.pdf"}


def test_near_duplicates_are_found_with_the_share_of_the_shorter_one(collection, documents):
    generator = np.random.default_rng(9)
    original = unit(np.ones(DIMENSION) + 0.6 * generator.normal(size=(20, DIMENSION)))
    noisy = unit(original[:12] + 0.02 * generator.normal(size=(12, DIMENSION)))
    other = unit(np.ones(DIMENSION) + 0.6 * generator.normal(size=(20, DIMENSION)))
    fill(collection, {**documents, "original": original, "twin": noisy, "same subject": other})
    found = near_duplicates(collection, min_similarity=0.97)
    assert [(one.first, one.second, one.share) for one in found] == [("original", "twin", 1.0)]
    assert found[0].similarity > 0.99


def test_the_share_decides_and_counts_passages_of_the_shorter_document(collection):
    generator = np.random.default_rng(9)
    original = unit(np.ones(DIMENSION) + 0.6 * generator.normal(size=(20, DIMENSION)))
    own = unit(np.ones(DIMENSION) + 0.6 * generator.normal(size=(4, DIMENSION)))
    fill(collection, {"original": original, "borrows": np.vstack([original[:8], own])})
    (found,) = near_duplicates(collection, min_similarity=0.99)
    assert found.share == pytest.approx(8 / 12)
    assert near_duplicates(collection, min_similarity=0.99, min_share=0.7) == []


def test_a_collection_of_one_or_no_document_has_no_duplicates(collection):
    assert near_duplicates(collection) == []
    fill(collection, {"a": np.eye(DIMENSION)[:2]})
    assert near_duplicates(collection) == []


def test_exact_copies_are_all_paired(collection):
    copy = unit(np.random.default_rng(4).normal(size=(5, DIMENSION)))
    fill(collection, dict.fromkeys("abc", copy))
    assert [(one.first, one.second) for one in near_duplicates(collection)] == [("a", "b"), ("a", "c"), ("b", "c")]
