"""A sentence-transformers model that takes a second to write: the bundled one cut down to one layer of 96 numbers."""

import json
import shutil
from pathlib import Path

from safetensors.numpy import load_file, save_file

from stackroom.config import EmbedderSettings
from stackroom.embedding.model_folder import find_model

WIDTH, HEADS, INNER = 96, 3, 384


def write_small_model(folder: Path, *, factor: float = 1.0) -> Path:
    """Write the model and return its folder.

    Args:
        folder: where to.
        factor: multiplies the word embeddings; another number makes another model of the same size.
    """
    bundled = find_model(EmbedderSettings()).path
    shutil.copytree(bundled, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.md", "data_config.json"))
    _change(folder / "config.json", hidden_size=WIDTH, intermediate_size=INNER, num_attention_heads=HEADS)
    _change(folder / "config.json", num_hidden_layers=1)
    _change(folder / "1_Pooling" / "config.json", word_embedding_dimension=WIDTH)
    weights = {}
    for name, values in load_file(bundled / "model.safetensors").items():
        if "encoder.layer." in name and "encoder.layer.0." not in name:
            continue
        kept = tuple(slice(WIDTH if size == 384 else INNER if size == 1536 else size) for size in values.shape)
        weights[name] = values[kept].copy() * (factor if "word_embeddings" in name else 1)
    save_file(weights, folder / "model.safetensors")
    return folder


def _change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
