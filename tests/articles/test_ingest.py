"""From text to memory and back: ingestor, finder, and embedding off the event loop."""

import asyncio
import threading
import time

import numpy as np
import pytest

from stackroom.articles import (
    AsyncChunkIngestor,
    AsyncEmbedder,
    AsyncLocalEmbedder,
    AsyncSentenceTransformerEmbedder,
    AsyncSimilarArticleFinder,
    InMemoryEmbeddingStore,
    RawRecord,
    TextChunker,
)
from stackroom.config import EmbedderSettings
from stackroom.embedding import open_embedder
from stackroom.errors import EmbeddingError, ModelMismatchError

from .conftest import chunk


class LetterEmbedder(AsyncEmbedder):
    """Counts letters; good enough to tell texts apart, and everything about it can be foretold."""

    def __init__(self, lost=0, bad=None, key="letters-1"):
        self.calls, self.lost, self.bad, self.key = [], lost, bad, key

    @property
    def model_key(self):
        return self.key

    async def embed(self, texts):
        self.calls.append(list(texts))
        vectors = [[float(text.count(letter)) + 0.01 for letter in "pqrstu"] for text in texts]
        if self.bad is not None:
            vectors[-1] = self.bad
        return vectors[: len(vectors) - self.lost]


class FixedEmbedder(AsyncEmbedder):
    def __init__(self, vector):
        self.vector = vector

    async def embed(self, texts):
        return [] if self.vector is None else [self.vector for _ in texts]


def stored(store):
    async def go():
        return [
            (hit.chunk_index, hit.text, hit.metadata)
            for hit in sorted(await store.query([1.0] * 6, 100), key=lambda hit: hit.chunk_index)
        ]

    return asyncio.run(go())


def test_recorded_ingestion_steps(cases):
    first, shorter, blank, short_of_vectors = cases("ingestor.ingest")
    record = RawRecord(**first["input"]["record"])
    store, embedder = InMemoryEmbeddingStore(), LetterEmbedder()
    ingestor = AsyncChunkIngestor(TextChunker(2, 0), embedder, store)
    assert asyncio.run(ingestor.ingest(record, first["input"]["text"])) == first["expected"]["returns"]
    assert embedder.calls == first["expected"]["embed_calls"]
    assert [list(one) for one in stored(store)] == first["expected"]["stored"]
    assert asyncio.run(ingestor.ingest(record, shorter["input"]["then_text"])) == shorter["expected"]["returns"]
    assert asyncio.run(store.count()) == shorter["expected"]["count"]
    assert asyncio.run(ingestor.ingest(record, blank["input"]["then_text"])) == blank["expected"]["returns"]
    assert (asyncio.run(store.count()), len(embedder.calls)) == (blank["expected"]["count"], 2)

    asyncio.run(store.add([chunk("r1", 0, [1.0] * 6, "kept")]))
    failing = AsyncChunkIngestor(TextChunker(2, 0), LetterEmbedder(lost=1), store)
    with pytest.raises(EmbeddingError) as caught:
        asyncio.run(failing.ingest(record, "p q r s t"))
    for name in short_of_vectors["expected"]["message_should_name"]:
        assert name in str(caught.value)
    assert [text for _, text, _ in stored(store)] == short_of_vectors["expected"]["still_stored"]


@pytest.mark.parametrize("bad", [[float("nan")] * 6, [1.0]])
def test_vectors_that_cannot_be_used_leave_the_record_as_it_was(bad):
    store = InMemoryEmbeddingStore()
    asyncio.run(store.add([chunk("r1", 0, [1.0] * 6, "kept")]))
    ingestor = AsyncChunkIngestor(TextChunker(2, 0), LetterEmbedder(bad=bad), store)
    with pytest.raises(EmbeddingError, match="record 'r1'"):
        asyncio.run(ingestor.ingest(RawRecord(record_id="r1", title="T"), "p q r s"))
    assert [text for _, text, _ in stored(store)] == ["kept"]


def test_a_memory_filled_by_one_model_is_neither_filled_nor_searched_by_another():
    store = InMemoryEmbeddingStore()
    record = RawRecord(record_id="r1", title="T")
    asyncio.run(AsyncChunkIngestor(TextChunker(), LetterEmbedder(), store).ingest(record, "p q"))
    other = LetterEmbedder(key="letters-2")
    with pytest.raises(ModelMismatchError, match="letters-1"):
        asyncio.run(AsyncChunkIngestor(TextChunker(), other, store).ingest(record, "r s"))
    with pytest.raises(ModelMismatchError, match="letters-2"):
        asyncio.run(AsyncSimilarArticleFinder(other, store).find_similar_chunks("p"))


def test_recorded_rankings_of_articles(cases):
    for case in cases("finder.find_best_chunks"):
        given = dict(case["input"])
        store = InMemoryEmbeddingStore()
        chunks = [
            chunk(c["record_id"], c["chunk_index"], c["vector"], title=c["record_id"]) for c in given.pop("chunks")
        ]
        asyncio.run(store.add(chunks))
        finder = AsyncSimilarArticleFinder(FixedEmbedder(given.pop("query_vector")), store)
        hits = asyncio.run(finder.find_best_chunks("text", **given))
        assert [[h.record_id, h.chunk_index, pytest.approx(h.score)] for h in hits] == case["expected"], case["id"]
        articles = asyncio.run(finder.find_similar_articles("text", **given))
        assert articles == [(hit.record_id, hit.score, {"title": hit.record_id}) for hit in hits]


def test_a_long_article_does_not_crowd_out_the_others():
    store = InMemoryEmbeddingStore()
    chunks = [chunk("long", n, [1.0, n / 1000]) for n in range(300)]
    asyncio.run(store.add([*chunks, chunk("b", 0, [1.0, 2.0]), chunk("c", 0, [1.0, 3.0])]))
    finder = AsyncSimilarArticleFinder(FixedEmbedder([1.0, 0.0]), store)
    found = asyncio.run(finder.find_best_chunks("text", top_k=3, chunk_pool=5))
    assert [(hit.record_id, hit.chunk_index) for hit in found] == [("long", 0), ("b", 0), ("c", 0)]


@pytest.mark.parametrize("top_k", [0, -2])
def test_no_hits_are_given_where_none_are_wanted(top_k):
    store = InMemoryEmbeddingStore()
    asyncio.run(store.add([chunk("a", 0, [1.0]), chunk("b", 0, [1.0])]))
    finder = AsyncSimilarArticleFinder(FixedEmbedder([1.0]), store)
    assert asyncio.run(finder.find_best_chunks("text", top_k=top_k)) == []
    assert asyncio.run(finder.find_similar_chunks("text", top_k=top_k)) == []


def test_an_embedder_without_an_answer_finds_nothing():
    finder = AsyncSimilarArticleFinder(FixedEmbedder(None), InMemoryEmbeddingStore())
    assert asyncio.run(finder.find_similar_chunks("text")) == []


def test_negative_scores_are_left_out_unless_asked_for():
    store = InMemoryEmbeddingStore()
    asyncio.run(store.add([chunk("a", 0, [1.0, 0.0]), chunk("b", 0, [-1.0, 0.0])]))
    finder = AsyncSimilarArticleFinder(FixedEmbedder([1.0, 0.0]), store)
    assert [hit.record_id for hit in asyncio.run(finder.find_similar_chunks("text"))] == ["a"]
    assert len(asyncio.run(finder.find_similar_chunks("text", min_score=-1.0))) == 2


class SlowModel:
    """An injected model; remembers the threads it ran in, and whether two calls ever overlapped."""

    def __init__(self, error=None):
        self.error, self.threads, self.busy, self.overlapped = error, set(), False, False

    def encode(self, sentences, *, convert_to_numpy):
        self.overlapped |= self.busy
        self.busy = True
        self.threads.add(threading.current_thread())
        time.sleep(0.05)
        self.busy = False
        if self.error:
            raise self.error
        return np.array([[3.0, 4.0 + len(text)] for text in sentences])


def test_an_injected_model_runs_off_the_event_loop_one_call_at_a_time():
    model = SlowModel()

    async def go():
        embedder = AsyncSentenceTransformerEmbedder(model=model)
        ticks = 0
        work = asyncio.gather(*(embedder.embed(["", "x"]) for _ in range(4)))
        while not work.done():
            ticks += 1
            await asyncio.sleep(0.005)
        assert await embedder.embed([]) == []
        await embedder.aclose()
        return ticks, work.result()

    ticks, results = asyncio.run(go())
    assert ticks > 10
    assert not model.overlapped
    assert threading.main_thread() not in model.threads
    assert results[0][0] == pytest.approx([0.6, 0.8])
    assert all(isinstance(value, float) for value in results[0][0])


def test_recorded_failure_of_a_local_model(cases):
    (case,) = cases("sentence_transformer.embed")
    embedder = AsyncSentenceTransformerEmbedder(model=SlowModel(RuntimeError("boom")))
    with pytest.raises(EmbeddingError, match=case["expected"]["message_should_name"][0]):
        asyncio.run(embedder.embed(case["input"]["texts"]))
    assert embedder.model_key is None


def test_a_model_that_is_not_on_this_machine_is_an_error():
    with pytest.raises(EmbeddingError, match="no-such-model"):
        AsyncSentenceTransformerEmbedder("nobody/no-such-model")


def test_articles_are_remembered_and_found_by_meaning_with_the_bundled_model(store, tmp_path):
    cache = tmp_path / "cache.sqlite"

    async def go():
        embedder = AsyncSentenceTransformerEmbedder(cache=cache)
        ingestor = AsyncChunkIngestor(TextChunker(), embedder, store)
        texts = {
            "frogs": "The fanged frog of Sulawesi gives birth to tadpoles.",
            "jit": "A tracing just-in-time compiler for a dynamic language.",
            "rag": "Dense passages are retrieved to answer open questions.",
        }
        for record_id, text in texts.items():
            await ingestor.ingest(RawRecord(record_id=record_id, title=record_id), text)
        finder = AsyncSimilarArticleFinder(embedder, store)
        hits = await finder.find_best_chunks("amphibian reproduction", top_k=2)
        assert hits[0].record_id == "frogs"
        again = await finder.find_best_chunks(texts["jit"], exclude_record_id="jit")
        assert "jit" not in {hit.record_id for hit in again}
        assert embedder.model_key == "all-minilm-l6-v2-53aa5117"
        await store.aclose()
        await embedder.aclose()

    asyncio.run(go())
    sync = AsyncLocalEmbedder(open_embedder(EmbedderSettings(), cache))
    assert len(asyncio.run(sync.embed(["amphibian reproduction"]))[0]) == 384
    asyncio.run(sync.aclose())
