"""The bundled kind of model in plain numpy, for a handful of texts.

Importing torch and sentence-transformers takes 5 to 15 seconds, embedding one query takes milliseconds: a search from
the command line, or a run with one changed file, should not wait for the former. The numbers are those of
sentence-transformers to within 1e-6 (tested); many texts are still embedded there, which is faster.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from stackroom.embedding.model_folder import ModelFolder
from stackroom.embedding.tokenizer import load_tokenizer
from stackroom.errors import EmbeddingError

_FLOAT32 = "F32"
_MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: error function to within 1.5e-7.
_ERF_STEP = np.float32(0.3275911)
_ERF_TERMS = tuple(np.float32(term) for term in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))


class SmallBert:
    """A BERT encoder with mean pooling. Texts are run one by one, so nothing is padded."""

    def __init__(self, folder: ModelFolder, max_tokens: int) -> None:
        """Read weights and tokenizer; :meth:`open` checks first that the model is of the right kind."""
        from safetensors.numpy import load_file
        from threadpoolctl import ThreadpoolController

        self._threads = ThreadpoolController()
        config = _json(folder.path / "config.json")
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._epsilon = np.float32(config["layer_norm_eps"])
        self._weights: dict[str, np.ndarray] = load_file(folder.path / "model.safetensors")
        self._tokenizer = load_tokenizer(folder.tokenizer_file, max_tokens)

    @classmethod
    def open(cls, folder: ModelFolder, max_tokens: int) -> Self | None:
        """Open a model, or return None when it is of another kind and needs sentence-transformers.

        Args:
            folder: the model.
            max_tokens: most tokens the model reads, special tokens included.
        """
        return cls(folder, max_tokens) if _is_plain_bert(folder.path) else None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors, (len(texts), dimension) float32, not yet normalised.

        Raises:
            EmbeddingError: the weights are not complete.
        """
        try:
            # A query's matrices are too small for two threads, which on a busy machine only wait for each other.
            with self._threads.limit(limits=1, user_api="blas"):
                return np.array([self._encode(self._tokenizer.model_ids(text)).mean(axis=0) for text in texts])
        except (KeyError, IndexError, ValueError) as error:
            raise EmbeddingError(f"the weights in {self._tokenizer.file.parent} do not fit its config.json") from error

    def _encode(self, ids: list[int]) -> np.ndarray:
        """Return the last hidden state, (tokens, hidden)."""
        weights = self._weights
        state = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][: len(ids)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        state = self._normalised(state, "embeddings.LayerNorm")
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            attended = self._linear(self._attention(state, f"{name}.attention.self"), f"{name}.attention.output.dense")
            state = self._normalised(attended + state, f"{name}.attention.output.LayerNorm")
            inner = _gelu(self._linear(state, f"{name}.intermediate.dense"))
            state = self._normalised(self._linear(inner, f"{name}.output.dense") + state, f"{name}.output.LayerNorm")
        return state

    def _attention(self, state: np.ndarray, name: str) -> np.ndarray:
        tokens, hidden = state.shape
        query, key, value = (
            self._linear(state, f"{name}.{part}").reshape(tokens, self._heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) * np.float32((hidden / self._heads) ** -0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = scores / scores.sum(axis=-1, keepdims=True)
        mixed: np.ndarray = (shares @ value).transpose(1, 0, 2).reshape(tokens, hidden)
        return mixed

    def _linear(self, state: np.ndarray, name: str) -> np.ndarray:
        result: np.ndarray = state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result

    def _normalised(self, state: np.ndarray, name: str) -> np.ndarray:
        centred = state - state.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + self._epsilon)
        result: np.ndarray = scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return result


def _gelu(x: np.ndarray) -> np.ndarray:
    """Return x times the share of a normal distribution below x."""
    scaled = np.abs(x) * np.float32(2**-0.5)
    step = 1 / (1 + _ERF_STEP * scaled)
    series = np.zeros_like(step)
    for term in _ERF_TERMS:
        series = (series + term) * step
    erf = np.copysign(1 - series * np.exp(-scaled * scaled), x)
    result: np.ndarray = x * np.float32(0.5) * (1 + erf)
    return result


def _is_plain_bert(folder: Path) -> bool:
    """Return whether a model is a BERT in float32 with mean pooling and nothing else."""
    config, prompts = _json(folder / "config.json"), _json(folder / "config_sentence_transformers.json")
    modules = _json(folder / "modules.json")
    if not isinstance(config, dict) or not isinstance(modules, list) or not (folder / "model.safetensors").is_file():
        return False
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    pooling = _json(folder / str(modules[1].get("path", "")) / "config.json") if kinds in _MODULES else None
    return (
        isinstance(pooling, dict)
        and _mean_only(pooling)
        and config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not (isinstance(prompts, dict) and prompts.get("default_prompt_name"))
        and not (_json(folder / "sentence_bert_config.json") or {}).get("do_lower_case")
        and _tensors_are_float32(folder / "model.safetensors")
    )


def _mean_only(pooling: dict[str, Any]) -> bool:
    if "pooling_mode" in pooling:
        return pooling["pooling_mode"] in ("mean", ["mean"])
    modes = {name for name, value in pooling.items() if name.startswith("pooling_mode_") and value is True}
    return modes == {"pooling_mode_mean_tokens"}


def _tensors_are_float32(weights: Path) -> bool:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="numpy") as tensors:
            names = set(tensors.keys())
            kinds = {tensors.get_slice(name).get_dtype() for name in names if name.endswith((".weight", ".bias"))}
    except (OSError, SafetensorError) as error:
        raise EmbeddingError(f"the model weights {weights} cannot be read: {error}") from error
    return kinds == {_FLOAT32} and "embeddings.word_embeddings.weight" in names


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
