"""The name of the collection that holds a corpus: one per embedding model, valid in every backend."""

import hashlib
import re

_LONGEST = 60
"""Characters. Chroma takes 3 to 512, PostgreSQL cuts names at 63 bytes; below that no backend cuts anything."""


def collection_name(corpus: str, model_key: str) -> str:
    """Return the name of the collection of a corpus under an embedding model.

    Different pairs give different names: what cannot stand in a name, or is too long, is replaced by a hash.

    Args:
        corpus: corpus name.
        model_key: key of the model's identity (:attr:`stackroom.embedding.ModelIdentity.key`).

    Returns:
        3 to 60 characters of ``[a-z0-9_-]``, beginning and ending with a letter or digit.
    """
    name = f"{corpus}-{model_key}"
    slug = re.sub(r"[^a-z0-9]+", "-", model_key.lower()).strip("-")
    plain = f"{corpus}-{slug}"
    if plain == name and slug and len(plain) <= _LONGEST:
        return plain
    digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:10]
    return f"{plain[: _LONGEST - 11].rstrip('-_')}-{digest}"
