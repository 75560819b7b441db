"""Counting tokens exactly as the embedding model will, without loading the model.

Only the ``tokenizers`` library and the model's ``tokenizer.json`` are needed; torch is never imported.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from stackroom.config import EmbedderSettings
from stackroom.embedding.model_folder import find_model, hash_file
from stackroom.errors import EmbeddingError

DEFAULT_REMOTE_TOKENS = 512
"""Token limit assumed for a remote model whose limit is not set: nearly every embedding model reads that much."""


class Tokenizer:
    """The tokenizer of an embedding model. Thread-safe; a worker process opens its own by :func:`load_tokenizer`."""

    def __init__(self, file: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer as Backend

        # The library raises a bare Exception for a damaged file; what is damaged in practice is found here first.
        try:
            content = file.read_text(encoding="utf-8")
            complete = {"model", "pre_tokenizer"} <= json.loads(content).keys()
        except (OSError, ValueError, AttributeError) as error:
            raise EmbeddingError(f"{file} is not a readable tokenizer.json: {error}") from error
        if not complete:
            raise EmbeddingError(f"{file} is not a tokenizer.json: it describes no model; give the file of the model")
        self._backend = Backend.from_str(content)
        # The file may ask for truncation and padding to a fixed length; both would falsify a count.
        self._backend.no_truncation()
        self._backend.no_padding()
        self.file = file
        self.max_tokens = max_tokens
        """Most tokens the model reads, special tokens included."""

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the tokenizer file: what token counts depend on."""
        return hash_file(self.file)

    def count(self, text: str) -> int:
        """Return the number of tokens the model sees for ``text``, special tokens included, never truncated."""
        return len(self._backend.encode(_valid(text)).ids)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return :meth:`count` of every text, in one call of the library."""
        return [len(encoding.ids) for encoding in self._backend.encode_batch([_valid(text) for text in texts])]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of every token in ``text`` (character offsets), special tokens left out."""
        return [(int(a), int(b)) for a, b in self._backend.encode(_valid(text), add_special_tokens=False).offsets]

    def model_ids(self, text: str) -> list[int]:
        """Return the token numbers the model is given: special tokens included, cut at :attr:`max_tokens`."""
        encoding = self._backend.encode(_valid(text), add_special_tokens=False)
        encoding.truncate(self.max_tokens - self.special_tokens)
        return list(self._backend.post_process(encoding).ids)

    @cached_property
    def special_tokens(self) -> int:
        """Number of special tokens the model adds to every text."""
        return len(self._backend.encode("").ids)


def open_tokenizer(settings: EmbedderSettings) -> Tokenizer:
    """Open the tokenizer of the model the settings name.

    A remote model (kind ``openai``) does not give its tokenizer away: ``tokenizer`` in the settings names a
    ``tokenizer.json``; without one the bundled model's tokenizer estimates the count.

    Raises:
        EmbeddingError: the model is not on this machine, or has no tokenizer.
    """
    if settings.kind == "openai":
        file = settings.tokenizer or find_model(EmbedderSettings()).tokenizer_file
        return load_tokenizer(file, settings.max_tokens or DEFAULT_REMOTE_TOKENS)
    model = find_model(settings)
    own = model.max_tokens()
    return load_tokenizer(model.tokenizer_file, min(own, settings.max_tokens or own))


def load_tokenizer(file: Path, max_tokens: int) -> Tokenizer:
    """Open a ``tokenizer.json``; the form worker processes use.

    Args:
        file: path of the file.
        max_tokens: most tokens the model reads, special tokens included.

    Raises:
        EmbeddingError: the file is missing or damaged.
    """
    if not file.is_file():
        raise EmbeddingError(f"there is no tokenizer file {file}")
    return Tokenizer(file, max_tokens)


def _valid(text: str) -> str:
    # Lone surrogates (from broken PDFs) are not UTF-8 and would be refused; the model sees them as unknown anyway.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
