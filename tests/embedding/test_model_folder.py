"""Finding a model and saying what it is, from small folders made for the test."""

import hashlib
import json
import os

import huggingface_hub
import pytest

from stackroom.config import EmbedderSettings
from stackroom.embedding import model_folder
from stackroom.embedding.cache import VectorCache
from stackroom.embedding.model_folder import ModelFolder, find_model, hash_file
from stackroom.errors import EmbeddingError


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "Some Model"
    (path / "1_Pooling").mkdir(parents=True)
    (path / "model.safetensors").write_bytes(b"weights")
    (path / "tokenizer.json").write_text("{}")
    files = {
        "config.json": {"hidden_size": 12, "max_position_embeddings": 512},
        "sentence_bert_config.json": {"max_seq_length": 128},
        "modules.json": [{"path": ""}, {"path": "1_Pooling"}],
        "1_Pooling/config.json": {"word_embedding_dimension": 12, "pooling_mode_mean_tokens": True},
    }
    for name, content in files.items():
        (path / name).write_text(json.dumps(content))
    return ModelFolder("some-model", path)


def test_identity_is_read_from_the_files_of_the_folder(folder):
    identity = folder.identity()
    assert identity.weights == hashlib.sha256(b"weights").hexdigest()
    assert (identity.dimension, identity.max_tokens) == (12, 128)


def test_a_dense_layer_decides_the_dimension(folder):
    (folder.path / "2_Dense").mkdir()
    (folder.path / "2_Dense" / "config.json").write_text(json.dumps({"in_features": 12, "out_features": 5}))
    (folder.path / "2_Dense" / "model.safetensors").write_bytes(b"dense")
    modules = [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}]
    (folder.path / "modules.json").write_text(json.dumps(modules))
    assert folder.dimension() == 5
    before = folder.weights_hash()
    (folder.path / "2_Dense" / "model.safetensors").write_bytes(b"other dense")
    assert folder.weights_hash() != before


def test_pooling_in_two_ways_doubles_the_dimension(folder):
    old = {"word_embedding_dimension": 12, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}
    (folder.path / "1_Pooling" / "config.json").write_text(json.dumps(old))
    assert folder.dimension() == 24
    new = {"embedding_dimension": 12, "pooling_mode": ["mean", "max"]}
    (folder.path / "1_Pooling" / "config.json").write_text(json.dumps(new))
    assert folder.dimension() == 24


def test_without_its_own_limit_a_model_reads_as_much_as_its_positions(folder):
    (folder.path / "sentence_bert_config.json").unlink()
    (folder.path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 1e30}))
    assert folder.max_tokens() == 512


def test_changed_pooling_changes_what_cached_vectors_depend_on(folder):
    before = folder.settings_hash()
    (folder.path / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 12}))
    assert folder.settings_hash() != before


@pytest.mark.parametrize("missing", ["model.safetensors", "tokenizer.json"])
def test_an_incomplete_folder_is_named(folder, missing):
    (folder.path / missing).unlink()
    with pytest.raises(EmbeddingError, match="Some Model"):
        folder.identity() if missing == "model.safetensors" else folder.tokenizer_file


def test_damaged_settings_of_a_model_are_named(folder):
    (folder.path / "config.json").write_text("{")
    with pytest.raises(EmbeddingError, match=r"config\.json"):
        folder.dimension()


def test_bundled_weights_that_are_not_the_published_ones_are_refused(folder, monkeypatch):
    monkeypatch.setattr(model_folder, "_bundled_path", lambda: folder.path)
    with pytest.raises(EmbeddingError, match="not those of the published"):
        find_model(EmbedderSettings()).identity()


@pytest.mark.parametrize("model", ["/no/such/folder", "./models/none", "not a model"])
def test_a_folder_that_is_not_there_is_an_error(model):
    with pytest.raises(EmbeddingError, match="no model folder"):
        find_model(EmbedderSettings(kind="sentence_transformers", model=model))


def test_a_hub_model_that_is_not_on_disk_is_not_fetched():
    settings = EmbedderSettings(kind="sentence_transformers", model="nobody/no-such-model-here")
    with pytest.raises(EmbeddingError, match="allow_download"):
        find_model(settings)


def test_the_hash_of_weights_is_remembered_until_the_file_changes(tmp_path):
    weights, memory = tmp_path / "w.bin", VectorCache(tmp_path / "cache.sqlite")
    weights.write_bytes(b"one")
    assert hash_file(weights, memory) == hashlib.sha256(b"one").hexdigest()
    with memory._transaction() as connection:
        connection.execute("UPDATE facts SET value = 'remembered'")
    model_folder._hashed.clear()
    assert hash_file(weights, memory) == "remembered"
    weights.write_bytes(b"other")
    assert hash_file(weights, memory) == hashlib.sha256(b"other").hexdigest()


def test_permission_to_fetch_a_model_does_not_put_the_process_online(monkeypatch):
    """Other libraries and child processes read the same variable."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    settings = EmbedderSettings(kind="sentence_transformers", model="nobody/no-such-model", allow_download=True)
    with pytest.raises(EmbeddingError, match="started offline"):
        find_model(settings)
    assert os.environ["HF_HUB_OFFLINE"] == "1"
