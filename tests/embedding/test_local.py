"""The bundled model: right vectors, in order, the same in any batch, and counted as the tokenizer counts."""

import math
import shutil

import numpy as np
import pytest

from stackroom.config import EmbedderSettings
from stackroom.embedding import open_embedder
from stackroom.embedding.cache import VectorCache
from stackroom.embedding.local import LocalEmbedder
from stackroom.embedding.model_folder import find_model
from stackroom.embedding.tokenizer import open_tokenizer
from stackroom.errors import EmbeddingError

TEXTS = [
    "The fanged frog gives birth to tadpoles.",
    "Amphibians of Sulawesi and their reproduction",
    "Trace-based just-in-time compilation for dynamic languages",
    "漢字 and größe — ünïcödé",
    "x",
    "",
    "long " * 240,
]


def test_the_identity_is_name_and_weights_of_the_published_model(bundled):
    assert bundled.identity.key == "all-minilm-l6-v2-53aa5117"
    assert (bundled.identity.dimension, bundled.identity.max_tokens) == (384, 256)


def test_vectors_are_unit_float32_in_the_order_of_the_texts(bundled):
    vectors = bundled.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    one_by_one = np.vstack([bundled.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(vectors, one_by_one, atol=2e-6)
    assert vectors[0] @ vectors[1] > 0.3 > vectors[0] @ vectors[2]


def test_known_similarities_of_the_published_model(bundled):
    """The figures of the sentence-transformers quickstart; another model or pooling gives others."""
    vectors = bundled.embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    expected = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=2e-4)


def test_no_texts_give_no_vectors_without_loading_the_model():
    embedder = open_embedder(EmbedderSettings())
    assert embedder.embed([]).shape == (0, 384)
    embedder.close()


def test_one_text_instead_of_a_list_is_refused(bundled):
    with pytest.raises(TypeError, match="list of texts"):
        bundled.embed("text")


def test_the_tokenizer_counts_what_the_model_sees(bundled):
    """Counting by another rule would let the model cut chunks silently."""
    model = bundled._model._model
    tokenizer = open_tokenizer(EmbedderSettings())
    assert model.max_seq_length == tokenizer.max_tokens
    for text in TEXTS:
        seen = model.tokenize([text])["input_ids"].shape[1]
        assert tokenizer.count(text) == seen


def test_text_beyond_the_limit_does_not_change_the_vector(bundled):
    full, cut = bundled.embed(["word " * 254, "word " * 254 + "elephant " * 50])
    np.testing.assert_allclose(full, cut, atol=2e-6)


def test_lone_surrogates_do_not_stop_the_model(bundled):
    assert math.isclose(float(np.linalg.norm(bundled.embed(["a\ud800b"])[0])), 1, abs_tol=1e-6)


def test_a_copied_model_folder_gives_the_same_vectors(bundled, tmp_path):
    folder = tmp_path / "My Model"
    shutil.copytree(find_model(EmbedderSettings()).path, folder)
    copy = open_embedder(EmbedderSettings(kind="sentence_transformers", model=str(folder)))
    assert copy.identity.key == "my-model-53aa5117"
    np.testing.assert_allclose(copy.embed(TEXTS[:2]), bundled.embed(TEXTS[:2]), atol=2e-6)
    copy.close()


def test_a_second_run_takes_every_vector_from_the_cache(tmp_path):
    cache = tmp_path / "cache.sqlite"
    first = open_embedder(EmbedderSettings(), cache)
    done = first.embed_counted([*TEXTS, TEXTS[0]])
    assert (done.reused, done.new) == (1, len(TEXTS))
    first.close()
    second = open_embedder(EmbedderSettings(), cache)
    again = second.embed_counted([*TEXTS[::-1], TEXTS[0]])
    assert (again.reused, again.new) == (len(TEXTS) + 1, 0)
    assert second._model._model is None
    assert second._model._small is None
    np.testing.assert_array_equal(again.vectors[:-1], done.vectors[:-1][::-1])
    second.close()


def test_another_precision_does_not_take_cached_vectors(tmp_path):
    cache = VectorCache(tmp_path / "cache.sqlite")
    keys = {
        LocalEmbedder(EmbedderSettings(precision=precision), find_model(EmbedderSettings()), cache).cache_key
        for precision in ("float32", "bfloat16")
    }
    assert len(keys) == 2


def test_damaged_weights_are_named(tmp_path):
    folder = tmp_path / "broken"
    shutil.copytree(find_model(EmbedderSettings()).path, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    embedder = open_embedder(EmbedderSettings(kind="sentence_transformers", model=str(folder)))
    with pytest.raises(EmbeddingError, match="broken"):
        embedder.embed(["x"])
