"""The embedding service as an embedder for corpora: same cache and identity rules as a local model."""

import asyncio
import threading

import numpy as np
import pytest

from stackroom.config import EmbedderSettings
from stackroom.embedding import model_key, open_embedder
from stackroom.errors import EmbeddingError

from .conftest import Answer


def settings(service, **changes):
    return EmbedderSettings(kind="openai", model="Text Embed/3", base_url=service.url, batch_size=2, **changes)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")


def test_vectors_are_unit_float32_in_order_over_several_requests(service):
    embedder = open_embedder(settings(service))
    vectors = embedder.embed(["a", "bb", "ccc", "a"])
    root = np.sqrt([1, 2, 5, 1])
    np.testing.assert_allclose(vectors, np.array([[0, 1], [1, 1], [2, 1], [0, 1]]) / root[:, None], rtol=1e-6)
    assert vectors.dtype == np.float32
    # The first request asks for the length of the vectors.
    assert [sorted(texts) for texts in service.inputs[-2:]] == [["bb", "ccc"], ["a"]]
    assert {headers["Authorization"] for headers in service.headers} == {"Bearer sk-from-the-environment"}
    embedder.close()


def test_the_identity_names_model_and_address_and_is_learnt_once(service, tmp_path):
    cache = tmp_path / "cache.sqlite"
    first = open_embedder(settings(service), cache)
    identity = first.identity
    first.close()
    second = open_embedder(settings(service), cache)
    assert second.identity == identity
    assert len(service.requests) == 1
    assert identity.key.startswith("text-embed-3-")
    assert (identity.dimension, identity.max_tokens) == (2, 512)
    trailing = settings(service).model_copy(update={"base_url": service.url + "/"})
    assert open_embedder(trailing, cache).identity == identity
    elsewhere = settings(service, dimension=2).model_copy(update={"base_url": "http://elsewhere.invalid/v1"})
    assert open_embedder(elsewhere).identity.key != identity.key
    second.close()


def test_with_the_dimension_in_the_settings_nothing_is_asked(service):
    assert open_embedder(settings(service, dimension=7)).identity.dimension == 7
    assert service.requests == []


def test_a_vector_of_another_length_than_the_settings_say_is_an_error(service):
    embedder = open_embedder(settings(service, dimension=7))
    with pytest.raises(EmbeddingError, match=r"2 numbers.*a vector has 7"):
        embedder.embed(["a"])
    embedder.close()


def test_a_second_run_asks_nothing(service, tmp_path):
    cache = tmp_path / "cache.sqlite"
    first = open_embedder(settings(service), cache)
    done = first.embed_counted(["a", "b", "c"])
    first.close()
    before = len(service.requests)
    second = open_embedder(settings(service), cache)
    again = second.embed_counted(["c", "a", "b"])
    assert (again.reused, again.new, len(service.requests)) == (3, 0, before)
    np.testing.assert_array_equal(again.vectors, done.vectors[[2, 0, 1]])
    second.close()


def test_a_missing_key_is_named_when_the_service_asks_for_one(service, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    service.script = [Answer(status=401)]
    embedder = open_embedder(settings(service, dimension=2))
    with pytest.raises(EmbeddingError, match=r"HTTP 401.*OPENAI_API_KEY is not set"):
        embedder.embed(["a"])
    embedder.close()


def test_a_key_or_address_that_cannot_be_used_is_an_error_without_the_key(service, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\x07secret")
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY") as caught:
        open_embedder(settings(service))
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fine")
    with pytest.raises(EmbeddingError, match="base_url"):
        open_embedder(settings(service).model_copy(update={"base_url": "localhost:80"}))


def test_it_can_be_called_from_async_code_and_from_threads(service):
    embedder = open_embedder(settings(service, dimension=2))

    async def inside_a_loop():
        return embedder.embed(["a"])

    asyncio.run(inside_a_loop())
    results = {}
    threads = [
        threading.Thread(target=lambda n=n: results.update({n: embedder.embed([chr(97 + n)])})) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: round(float(vector[0, 0] / vector[0, 1])) for n, vector in results.items()} == {n: n for n in range(8)}
    embedder.close()


def test_after_closing_no_thread_is_left_and_it_can_be_used_again(service):
    embedder = open_embedder(settings(service, dimension=2))
    embedder.embed(["a"])
    embedder.close()
    embedder.embed(["b"])
    embedder.close()
    for thread in threading.enumerate():
        if thread.name == "openai-embedder":
            thread.join(5)
    assert "openai-embedder" not in {thread.name for thread in threading.enumerate()}


def test_the_key_of_a_model_is_known_without_asking_the_service(service):
    assert model_key(settings(service)) == open_embedder(settings(service, dimension=2)).identity.key
    assert service.requests == []
    assert model_key(EmbedderSettings()) == "all-minilm-l6-v2-53aa5117"
