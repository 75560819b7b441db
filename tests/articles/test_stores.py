"""Both article memories, one behaviour: every test here runs on each of them."""

import asyncio
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackroom.articles import (
    AsyncEmbeddingStore,
    AsyncSqliteEmbeddingStore,
    EmbeddingChunk,
    InMemoryEmbeddingStore,
    StoredRecord,
)
from stackroom.embedding.vectors import unit_vector
from stackroom.errors import EmbeddingStoreError, ModelMismatchError

from .conftest import chunk, keys


def run(coroutine):
    return asyncio.run(coroutine)


async def records_of(store, batch_size=100):
    return [record async for record in store.iter_records(batch_size)]


def test_recorded_unit_vectors(cases):
    for case in cases("unit_vector_float32"):
        assert unit_vector(case["input"]["vector"]).tolist() == case["expected"], case["id"]


def test_recorded_queries(cases, tmp_path):
    for case in cases("store.query"):
        given_ = dict(case["input"])
        chunks = [chunk(each["record_id"], each["chunk_index"], each["vector"]) for each in given_.pop("chunks")]
        vector = [math.nan if value == "NaN" else value for value in given_.pop("query")]
        expected = case["expected"]
        if given_.get("min_score") == "NaN":
            given_["min_score"], expected = math.nan, expected["sqlite"]
        for store in (InMemoryEmbeddingStore(), AsyncSqliteEmbeddingStore(tmp_path / f"{case['id']}.sqlite")):
            hits = run(_query(store, chunks, vector, given_))
            assert [(h.record_id, h.chunk_index) for h in hits] == [(r, i) for r, i, _ in expected], case["id"]
            assert [h.score for h in hits] == pytest.approx([score for _, _, score in expected], abs=1e-6)


async def _query(store, chunks, vector, arguments):
    await store.add(chunks)
    hits = await store.query(vector, **arguments)
    await store.aclose()
    return hits


def test_recorded_writes(cases, store):
    """Three kinds of recorded steps on the same small store."""

    async def go():
        await store.add([chunk("b", 1, [0, 1]), chunk("b", 0, [1, 0], title="B"), chunk("a", 0, [1, 1])])
        expected = next(case["expected"] for case in cases("store.iter_records") if isinstance(case["expected"], list))
        assert [[r.record_id, list(r.passages), dict(r.metadata)] for r in await records_of(store)] == expected
        await store.add([chunk("a", 0, [1, 1], "first"), chunk("a", 0, [1, 1], "second")])
        assert await store.count() == 3
        assert (await store.query([1, 1], 1))[0].text == "second"
        await store.replace_record("b", [chunk("b", 0, [1, 0])])
        assert await store.count() == 2
        for case in cases("store.iter_records"):
            if isinstance(case["expected"], dict):
                with pytest.raises(ValueError, match="batch_size"):
                    await records_of(store, case["input"]["batch_size"])
        await store.aclose()

    run(go())


def test_a_new_store_is_empty(store):
    async def go():
        assert await store.count() == 0
        assert await store.query([1.0], 3) == []
        assert await records_of(store) == []
        await store.delete_record("unknown")
        await store.replace_record("unknown", [])
        await store.add([])
        await store.aclose()

    run(go())


def test_ties_are_ranked_by_record_then_index_whatever_the_order_of_writing(store):
    async def go():
        chunks = [chunk(record, index, [0.3, 0.1, 0.7]) for record in "dbca" for index in (2, 0, 1)]
        for one in chunks:
            await store.add([one])
        await store.add([chunk("z", 0, [0.3, 0.1, 0.70001])])
        hits = await store.query([0.3, 0.1, 0.7], 8)
        ranked = [("z", 0)] if hits[0].record_id == "z" else []
        assert keys(hits)[len(ranked) :] == [(r, i) for r in "abcd" for i in (0, 1, 2)][: 8 - len(ranked)]
        await store.aclose()

    run(go())


def test_many_equal_vectors_tie_exactly_at_any_position(store):
    """A matrix product sums in an order that depends on the row; ties must not depend on it."""

    async def go():
        generator = np.random.default_rng(3)
        same = generator.normal(size=383).tolist()
        others = generator.normal(size=(203, 383)).tolist()
        await store.add([chunk(f"r{n:03}", 0, same if n % 3 == 0 else others[n]) for n in range(203)])
        hits = await store.query(same, 68)
        assert keys(hits) == [(f"r{n:03}", 0) for n in range(0, 203, 3)]
        assert len({hit.score for hit in hits}) == 1
        await store.aclose()

    run(go())


def test_the_excluded_record_is_left_out_before_the_cut(store):
    async def go():
        await store.add([chunk("long", index, [1, index / 1000]) for index in range(50)] + [chunk("other", 0, [0, 1])])
        assert keys(await store.query([1, 0], 2, exclude_record_id="long")) == [("other", 0)]
        assert keys(await store.query([1, 0], 1, exclude_record_id="absent")) == [("long", 0)]
        await store.aclose()

    run(go())


def test_vectors_of_another_length_are_not_considered(store):
    async def go():
        await store.add([chunk("two", 0, [1, 0]), chunk("three", 0, [1, 0, 0]), chunk("none", 0, [])])
        assert keys(await store.query([1, 0])) == [("two", 0)]
        assert keys(await store.query([1, 0, 0])) == [("three", 0)]
        assert await store.count() == 3
        await store.aclose()

    run(go())


def test_a_zero_vector_scores_zero_and_a_non_finite_one_never_matches(store):
    async def go():
        bad = [chunk("nan", 0, [math.nan, 1]), chunk("inf", 0, [math.inf, 1]), chunk("huge", 0, [1e39, 1])]
        await store.add([*bad, chunk("zero", 0, [0, 0]), chunk("minus", 0, [-1, 0])])
        hits = await store.query([1, 0], 10)
        assert [(hit.record_id, hit.score) for hit in hits] == [("zero", 0.0), ("minus", -1.0)]
        assert keys(await store.query([1, 0], 10, min_score=0.0)) == [("zero", 0)]
        await store.aclose()

    run(go())


def test_metadata_comes_back_as_json_and_is_nobody_elses(store):
    async def go():
        given_ = {"title": "T", "tags": ["a", {"b": None}], "year": 2020, "share": 0.5, "url": None}
        await store.add([EmbeddingChunk("r", 0, "text", [1.0], given_)])
        given_["tags"].append("changed later")
        (hit,) = await store.query([1.0])
        assert hit.metadata == {"title": "T", "tags": ["a", {"b": None}], "year": 2020, "share": 0.5, "url": None}
        hit.metadata["tags"].clear()
        assert (await store.query([1.0]))[0].metadata["tags"] == ["a", {"b": None}]
        await store.aclose()

    run(go())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (EmbeddingChunk("r", 0, "t", [1.0], {"tags": {1, 2}}), "metadata 'tags' is not JSON"),
        (EmbeddingChunk("r", 0, "t", [1.0], {"share": math.nan}), "metadata 'share' is not JSON"),
        (EmbeddingChunk("r", 0, "t", [1.0], {3: "x"}), "metadata key 3 is not text"),
        (EmbeddingChunk("r\ud800", 0, "t", [1.0]), "record id is not valid text"),
        (EmbeddingChunk("r", -1, "t", [1.0]), "chunk index"),
        (EmbeddingChunk("r", True, "t", [1.0]), "chunk index"),
        (EmbeddingChunk("r", 2**63, "t", [1.0]), "chunk index"),
        (EmbeddingChunk("r", 0, None, [1.0]), "its text is NoneType"),
        (EmbeddingChunk("r", 0, "t", ["x"]), "vector is not a list of numbers"),
        (EmbeddingChunk("r", 0, "t", [[1.0]]), "vector is not a list of numbers"),
    ],
)
def test_a_chunk_that_cannot_be_stored_is_named_and_nothing_of_the_call_is_kept(store, bad, message):
    async def go():
        await store.add([chunk("r", 0, [1.0], "kept")])
        for write in (store.add([chunk("a", 0, [1.0]), bad]), store.replace_record(bad.record_id, [bad])):
            with pytest.raises(EmbeddingStoreError, match=message):
                await write
        assert await records_of(store) == [StoredRecord("r", ("kept",), {})]
        await store.aclose()

    run(go())


def test_replacing_refuses_chunks_of_another_record(store):
    async def go():
        await store.add([chunk("a", 0, [1.0])])
        with pytest.raises(ValueError, match="belongs to record 'b', not 'a'"):
            await store.replace_record("a", [chunk("b", 0, [1.0])])
        assert await store.count() == 1
        await store.aclose()

    run(go())


def test_text_that_is_not_valid_unicode_is_stored_readably(store):
    async def go():
        await store.add([chunk("r", 0, [1.0], "a\ud800b\x00c")])
        assert (await store.query([1.0]))[0].text == "a?b\x00c"
        await store.aclose()

    run(go())


def test_a_store_filled_with_one_model_refuses_another(store):
    async def go():
        await store.bind_model("mini-1234", record=False)
        await store.bind_model("mini-1234", record=True)
        await store.bind_model("mini-1234", record=True)
        for record in (True, False):
            with pytest.raises(ModelMismatchError, match=r"'mini-1234'.*'other-9999'"):
                await store.bind_model("other-9999", record=record)
        await store.aclose()
        with pytest.raises(ModelMismatchError):
            await store.bind_model("other-9999", record=False)
        await store.aclose()

    run(go())


def test_records_come_in_id_order_at_any_batch_size(store):
    async def go():
        ids = ["", "B", "a", "b", "é", "漢", "\U0001f600", "z" * 300, "a\x00b"]
        await store.add([chunk(record, index, [1.0]) for record in reversed(ids) for index in (1, 0)])
        for batch_size in (1, 2, 5, 1000):
            found = await records_of(store, batch_size)
            assert [record.record_id for record in found] == sorted(ids)
            assert all(record.passages == (f"{record.record_id}0", f"{record.record_id}1") for record in found)
        await store.aclose()

    run(go())


numbers = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0, 3.0])
stored = st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.lists(numbers, min_size=2, max_size=3))


@given(
    st.lists(st.lists(stored, max_size=6), max_size=4),
    st.lists(numbers, min_size=2, max_size=3),
    st.integers(0, 6),
    st.sampled_from([-1.0, 0.0, 0.5]),
    st.sampled_from([None, "a", "b"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_stores_answer_as_a_plain_loop_does(batches, vector, top_k, min_score, exclude):
    async def go(store):
        for batch in batches:
            await store.add([chunk(*one) for one in batch])
        hits = await store.query(vector, top_k, min_score, exclude)
        await store.aclose()
        return hits

    kept = {(r, i): v for batch in batches for r, i, v in batch}
    unit = unit_vector(vector).astype(np.float64)
    scored = [
        (-float(np.float32(unit_vector(v).astype(np.float64) @ unit)), r, i)
        for (r, i), v in kept.items()
        if len(v) == len(vector) and r != exclude
    ]
    wanted = [one for one in sorted(scored) if -one[0] >= min_score][:top_k] if unit.any() else []
    for store in (InMemoryEmbeddingStore(), AsyncSqliteEmbeddingStore(":memory:")):
        hits = run(go(store))
        assert keys(hits) == [(r, i) for _, r, i in wanted]
        assert [hit.score for hit in hits] == pytest.approx([-score for score, _, _ in wanted], abs=1e-7)


class PlainStore(AsyncEmbeddingStore):
    """The least a store of somebody else has to do."""

    def __init__(self):
        self.inner = InMemoryEmbeddingStore()

    async def add(self, chunks):
        await self.inner.add(chunks)

    async def delete_record(self, record_id):
        await self.inner.delete_record(record_id)

    async def query(self, vector, top_k=5, min_score=-1.0, exclude_record_id=None):
        return await self.inner.query(vector, top_k, min_score, exclude_record_id)

    async def count(self):
        return await self.inner.count()


def test_a_store_of_somebody_else_gets_the_rest_from_the_contract():
    async def go():
        store = PlainStore()
        await store.add([chunk("a", 0, [1.0]), chunk("a", 1, [1.0]), chunk("b", 0, [1.0])])
        await store.replace_record("a", [chunk("a", 0, [1.0])])
        assert await store.count() == 2
        with pytest.raises(ValueError, match="belongs to record 'b'"):
            await store.replace_record("a", [chunk("b", 0, [1.0])])
        assert await store.count() == 2
        await store.bind_model("m", record=True)
        with pytest.raises(NotImplementedError, match="PlainStore cannot list its records"):
            await records_of(store)
        await store.aclose()

    run(go())
