"""The finder over a corpus of the product."""

import asyncio
import uuid

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.articles import AsyncCorpusStore, AsyncEmbedder, AsyncSimilarArticleFinder
from stackroom.errors import EmbeddingStoreError, ModelMismatchError
from stackroom.stores.base import open_store
from stackroom.stores.collection import CollectionSpec

from .conftest import chunk, keys


class Fixed(AsyncEmbedder):
    model_key = "m-1"

    async def embed(self, texts):
        return [[1.0, 0.0] for _ in texts]


@pytest.fixture(params=["memory", "sqlite"])
def corpus(request, tmp_path):
    uri = f"memory:{uuid.uuid4()}" if request.param == "memory" else f"sqlite:{tmp_path / 'vectors.db'}"
    spec = CollectionSpec("papers-m-1", "papers", "m-1", 2)
    vectors = {"a.pdf": [[1, 0], [1, 1]], "b.pdf": [[1, 0.2]], "c.pdf": [[0, 1]]}
    store = open_store(uri, spec)
    for source, rows in vectors.items():
        store.replace_source(
            source,
            [
                StoredRow(
                    str(uuid.uuid5(uuid.NAMESPACE_URL, f"{source}{n}")),
                    source,
                    f"{source} {n}",
                    {"source_id": source, "chunk_index": n},
                    np.array(row, dtype=np.float32),
                )
                for n, row in enumerate(rows)
            ],
        )
    if request.param == "sqlite":
        store.close()
    return AsyncCorpusStore(lambda: open_store(uri, spec, create=False))


def test_documents_of_a_corpus_are_ranked_like_articles(corpus):
    async def go():
        finder = AsyncSimilarArticleFinder(Fixed(), corpus)
        assert keys(await finder.find_best_chunks("x", top_k=2)) == [("a.pdf", 0), ("b.pdf", 0)]
        assert keys(await finder.find_best_chunks("x", exclude_record_id="a.pdf")) == [("b.pdf", 0), ("c.pdf", 0)]
        assert keys(await finder.find_similar_chunks("x", min_score=0.9)) == [("a.pdf", 0), ("b.pdf", 0)]
        await corpus.aclose()

    asyncio.run(go())


def test_records_are_the_sources_in_order(corpus):
    async def go():
        assert await corpus.count() == 4
        records = [record async for record in corpus.iter_records()]
        assert [(record.record_id, record.passages) for record in records] == [
            ("a.pdf", ("a.pdf 0", "a.pdf 1")),
            ("b.pdf", ("b.pdf 0",)),
            ("c.pdf", ("c.pdf 0",)),
        ]
        await corpus.aclose()

    asyncio.run(go())


def test_a_corpus_is_not_written_to_and_not_searched_with_another_model(corpus):
    async def go():
        for write in (
            corpus.add([chunk("x", 0, [1.0, 0.0])]),
            corpus.delete_record("a.pdf"),
            corpus.replace_record("a.pdf", []),
        ):
            with pytest.raises(EmbeddingStoreError, match="folder"):
                await write
        with pytest.raises(ModelMismatchError, match=r"corpus 'papers'.*'m-1'.*'m-2'"):
            await corpus.bind_model("m-2", record=False)
        await corpus.aclose()

    asyncio.run(go())
