"""What is special about PostgreSQL: its index with filters, its addresses, its errors."""

import uuid

import numpy as np
import psycopg
import pytest

from stackroom.artefacts import StoredRow
from stackroom.config import FilterField
from stackroom.errors import StoreError, StoreUnavailableError
from stackroom.stores.base import CollectionSpec, open_store
from stackroom.stores.filters import to_pgvector_filter

FIELDS = (
    FilterField(name="year", value_type="int"),
    FilterField(name="tags", value_type="list"),
    FilterField(name="lab"),
)


@pytest.fixture
def spec():
    return CollectionSpec(f"test-{uuid.uuid4().hex[:12]}", "papers", "model-1", 8, FIELDS)


@pytest.fixture(scope="module")
def large(postgres_address):
    """A collection that is searched through the HNSW index."""
    spec = CollectionSpec(f"test-{uuid.uuid4().hex[:12]}", "papers", "model-1", 8, FIELDS)
    generator = np.random.default_rng(3)
    with pytest.MonkeyPatch.context() as patch, open_store(f"pgvector:{postgres_address}", spec) as store:
        patch.setattr("stackroom.stores.pgvector._SMALL", 100)
        vectors = generator.normal(size=(3000, 8))
        rows = [
            StoredRow(
                f"c{n:04}",
                "a.pdf",
                "text",
                {"year": n % 300, "tags": [f"t{n % 7}"], "lab": "x" if n % 500 else "y"},
                vector,
            )
            for n, vector in enumerate(vectors)
        ]
        store.replace_source("a.pdf", rows)
        yield store, vectors


def plan(address, store, where):
    condition = to_pgvector_filter(where)
    with psycopg.connect(address) as connection:
        connection.execute(f"ANALYZE {store.info().details['table']}")
        connection.execute("SET enable_seqscan = off")
        found = connection.execute(
            f"EXPLAIN SELECT 1 FROM {store.info().details['table']} WHERE {condition.sql}", condition.values
        )
        return "\n".join(line for (line,) in found)


def test_a_rare_filter_still_gives_k_rows_through_the_index(large):
    """Plain HNSW looks at 40 rows and then filters, which leaves next to nothing."""
    store, vectors = large
    for where, matching in (
        ({"year": 17}, range(17, 3000, 300)),
        ({"lab": "y"}, range(0, 3000, 500)),
        (
            {"tags": {"$contains": "t3"}, "year": {"$gte": 290}},
            [n for n in range(3000) if n % 7 == 3 and n % 300 >= 290],
        ),
    ):
        matching = list(matching)
        hits = [hit.chunk_id for hit in store.query(vectors[5], len(matching), where)]
        assert sorted(hits) == [f"c{n:04}" for n in matching]


def test_the_index_finds_what_comparing_all_rows_finds(large):
    store, vectors = large
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = 0
    for query in range(0, 3000, 100):
        nearest = np.argsort(units @ units[query])[-10:]
        found += len({hit.chunk_id for hit in store.query(vectors[query], 10)} & {f"c{n:04}" for n in nearest})
    assert found >= 295  # of 300


def test_declared_fields_are_answered_from_indexes(large, postgres_address):
    store, _ = large
    for where in (
        {"lab": "y"},
        {"year": 17},
        {"tags": {"$contains": "t3"}},
        {"year": {"$gte": 295}},
        {"lab": {"$in": ["y", "z"]}},
    ):
        assert "Index Scan" in plan(postgres_address, store, where), where


def test_several_drivers_may_be_named_and_the_installed_one_is_used(postgres_address, spec):
    for scheme in ("postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg2"):
        with open_store(f"pgvector:{scheme}{postgres_address.removeprefix('postgresql')}", spec) as store:
            assert store.count() == 0


def test_a_lost_connection_is_opened_again(postgres_address, spec):
    with open_store(f"pgvector:{postgres_address}", spec) as store:
        store.upsert([StoredRow("c1", "a.pdf", "text", {}, np.ones(8))])
        with psycopg.connect(postgres_address, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [store._server._connected().info.backend_pid])
        with pytest.raises(StoreUnavailableError, match="does not answer"):
            store.count()
        assert store.count() == 1


def test_a_password_never_stands_in_a_message():
    with pytest.raises(StoreUnavailableError) as error:
        open_store("pgvector:postgresql://user:secret@127.0.0.1:1/db", CollectionSpec("abc", "c", "m", 3))
    assert "PostgreSQL at 127.0.0.1:1/db does not answer" in str(error.value)
    assert "secret" not in str(error.value)


def test_an_address_that_is_none_shows_the_form():
    with pytest.raises(StoreError, match=r"it looks like pgvector:postgresql://user:password@host:5432/database"):
        open_store("pgvector:nothing", CollectionSpec("abc", "c", "m", 3))


def test_long_texts_in_filter_fields_are_stored(postgres_address, spec):
    """A B-tree index refuses values above some 2,700 bytes, and the insert with it."""
    with open_store(f"pgvector:{postgres_address}", spec) as store:
        long = "x" * 20_000
        store.upsert([StoredRow("c1", "a.pdf", "text", {"lab": long, "year": long, "tags": [long]}, np.ones(8))])
        assert len(store.query(np.ones(8), 1, {"lab": long})) == 1


def test_long_vectors_are_stored_without_an_index(postgres_address):
    spec = CollectionSpec(f"test-{uuid.uuid4().hex[:12]}", "papers", "model-1", 3072)
    with open_store(f"pgvector:{postgres_address}", spec) as store:
        store.upsert(
            [
                StoredRow("c1", "a.pdf", "text", {}, np.ones(3072)),
                StoredRow("c2", "a.pdf", "text", {}, np.eye(1, 3072)[0]),
            ]
        )
        assert [(hit.chunk_id, hit.score) for hit in store.query(np.ones(3072), 1)] == [("c1", 1.0)]
