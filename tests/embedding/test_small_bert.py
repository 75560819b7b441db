"""A few texts without torch: the same vectors, and honest about what it cannot do."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from stackroom.config import EmbedderSettings
from stackroom.embedding import open_embedder
from stackroom.embedding.model_folder import ModelFolder, find_model
from stackroom.embedding.small_bert import SmallBert
from stackroom.errors import EmbeddingError

TEXTS = [
    "",
    "x",
    "fanged frog that gives birth to tadpoles",
    "漢字 größe ünïcödé a\ud800b",
    "word " * 400,
    "1234 " * 60,
]


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    shutil.copytree(find_model(EmbedderSettings()).path, path)
    return ModelFolder("model", path)


def change(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_the_vectors_are_those_of_sentence_transformers(bundled):
    """`bundled` has loaded torch; this one embeds each text in numpy. The longest is cut at 256 tokens by both."""
    small = SmallBert.open(find_model(EmbedderSettings()), 256)
    vectors = small.embed(TEXTS)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert bundled._model._model is not None
    np.testing.assert_allclose(vectors, bundled.embed(TEXTS), atol=2e-6)


def test_queries_and_a_few_texts_never_import_torch():
    script = (
        "import sys\n"
        "from stackroom.config import EmbedderSettings\n"
        "from stackroom.embedding import open_embedder\n"
        "embedder = open_embedder(EmbedderSettings())\n"
        "for number in range(30): embedder.embed([f'query {number}'])\n"
        "for number in range(3): embedder.embed([f'first {number}', f'second {number}'])\n"
        "print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert result.stdout.strip() == "False"


def test_more_texts_than_the_budget_go_to_torch(bundled):
    embedder = open_embedder(EmbedderSettings())
    texts = [f"text {number}" for number in range(30)]
    np.testing.assert_allclose(embedder.embed(texts), bundled.embed(texts), atol=2e-6)
    assert embedder._model._model is not None
    embedder.close()


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        ("1_Pooling/config.json", {"pooling_mode": "cls"}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
    ],
)
def test_a_model_of_another_kind_is_left_to_sentence_transformers(folder, file, changes):
    assert SmallBert.open(folder, 256) is not None
    change(folder.path / file, **changes)
    assert SmallBert.open(folder, 256) is None


def test_weights_in_half_precision_are_left_to_sentence_transformers(folder):
    weights = {name: value.astype(np.float16) for name, value in load_file(folder.path / "model.safetensors").items()}
    save_file(weights, folder.path / "model.safetensors")
    assert SmallBert.open(folder, 256) is None


def test_damaged_or_incomplete_weights_are_named(folder):
    path = folder.path / "model.safetensors"
    weights = load_file(path)
    del weights["encoder.layer.3.output.dense.weight"]
    save_file(weights, path)
    with pytest.raises(EmbeddingError, match="do not fit"):
        SmallBert.open(folder, 256).embed(["x"])
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(EmbeddingError, match=r"model\.safetensors"):
        SmallBert.open(folder, 256)
