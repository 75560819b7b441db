"""sentence-transformers models on this machine. The only module of this folder that imports torch."""

import logging
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stackroom.config import EmbedderSettings
from stackroom.embedding.cache import VectorCache
from stackroom.embedding.identity import ModelIdentity
from stackroom.embedding.model_folder import OFFLINE_VARIABLE, ModelFolder
from stackroom.embedding.small_bert import SmallBert
from stackroom.embedding.vectors import checked_unit_vectors
from stackroom.errors import EmbeddingError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_SMALL_TEXTS = 24
"""Texts of one process that are embedded without torch: about what can be embedded while torch would be imported."""
_QUERY_CHARACTERS = 500
"""A single text up to this length is taken for a query and never makes torch be imported."""

_log = logging.getLogger(__name__)


class LocalEmbedder:
    """A model folder, loaded at the first call of :meth:`embed`. Safe to call from several threads."""

    def __init__(self, settings: EmbedderSettings, folder: ModelFolder, cache: VectorCache | None = None) -> None:
        self.identity: ModelIdentity = folder.identity(cache)
        self.cache_key = f"{self.identity.weights}/{folder.settings_hash()}/{settings.precision}"
        """What cached vectors depend on: more than the identity, since pooling and precision decide the values too."""
        self.batch_texts = settings.batch_size
        self._settings = settings
        self._folder = folder
        self._model: SentenceTransformer | None = None
        self._small: SmallBert | None = None
        self._small_allowed = settings.device == "cpu" and settings.precision == "float32"
        self._small_texts_left = _SMALL_TEXTS if self._small_allowed else 0
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See :meth:`stackroom.embedding.Embedder.embed`.

        Texts longer than the model reads are truncated by it; chunks never are, texts that people type may be.
        """
        if not texts:
            return np.zeros((0, self.identity.dimension), dtype=np.float32)
        with self._lock:
            vectors = self._embed_few(texts) if self._model is None else None
            if vectors is None:
                vectors = self._embed_many(texts)
        return checked_unit_vectors(vectors, texts, self.identity.dimension, self.identity.name)

    def close(self) -> None:
        """Release the model; the next call loads it again."""
        with self._lock:
            self._model = self._small = None

    def _embed_few(self, texts: Sequence[str]) -> np.ndarray | None:
        """Embed without torch, or return None when there are too many texts or the model is of another kind."""
        query = self._small_allowed and len(texts) == 1 and len(texts[0]) <= _QUERY_CHARACTERS
        if not query and len(texts) > self._small_texts_left:
            return None
        self._small = self._small or SmallBert.open(self._folder, self.identity.max_tokens)
        if self._small is None:
            self._small_allowed, self._small_texts_left = False, 0
            return None
        self._small_texts_left -= 0 if query else len(texts)
        return self._small.embed(texts)

    def _embed_many(self, texts: Sequence[str]) -> np.ndarray:
        self._small = None
        model = self._model = self._model or self._load()
        try:
            # The library sorts by length before it cuts batches, so that little is padded.
            vectors = model.encode(
                [text.encode("utf-8", "replace").decode("utf-8") for text in texts],
                batch_size=self._settings.batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise EmbeddingError(f"the model {self.identity.name} failed on {len(texts)} texts: {error}") from error
        return np.asarray(vectors)

    def _load(self) -> "SentenceTransformer":
        os.environ.setdefault(OFFLINE_VARIABLE, "1")
        _log.info("loading the embedding model %s from %s", self.identity.name, self._folder.path)
        import torch
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        if self._settings.threads is not None:
            torch.set_num_threads(self._settings.threads)
        try:
            model = SentenceTransformer(
                str(self._folder.path),
                device=self._settings.device,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"dtype": getattr(torch, self._settings.precision)},
            )
        except (OSError, RuntimeError, ValueError, KeyError, AssertionError, SafetensorError) as error:
            raise EmbeddingError(f"the model in {self._folder.path} cannot be loaded: {error}") from error
        model.max_seq_length = self.identity.max_tokens
        return model
