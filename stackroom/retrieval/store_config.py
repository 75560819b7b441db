"""The stores JSON: which stores a retriever opens, per domain. Its models, how it is found, read and written.

A domain is what Stackroom calls a corpus. The format is shared with other retrievers; keys they add are ignored.
"""

import json
import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from stackroom.config import Config, FilterField
from stackroom.errors import ConfigError
from stackroom.remembered import read_serving
from stackroom.state import StateFolder
from stackroom.stores.naming import collection_name

STORES_CONFIG_ENV_VAR = "STACKROOM_STORES_CONFIG"
"""Environment variable that names the stores JSON used when a request names none."""
STORES_CONFIG_META_KEY = "stackroom/stores-config-path/v1"
"""Request metadata key that carries one absolute path of a stores JSON."""

_LOG = logging.getLogger(__name__)


class StoreInfo(BaseModel):
    """One store of a domain."""

    model_config = ConfigDict(validate_default=True)

    name: str
    """Vector stores: the collection. Keyword stores: a label."""
    path: str
    """Vector stores: a URI (``scheme:location``). Keyword stores: an index folder, or a corpus file of documents."""
    default_k: int | None = Field(default=None, ge=1)
    k_max: int | None = Field(default=None, ge=1)
    k_inc: int | None = Field(default=None, ge=1)
    loaded_object: Any = Field(default=None, exclude=True, repr=False)
    """The opened store, once something was asked of it; not part of the file."""

    @model_validator(mode="after")
    def _cap_not_below_start(self) -> Self:
        if self.default_k is not None and self.k_max is not None and self.k_max < self.default_k:
            raise ValueError(f"store {self.name!r}: `k_max` {self.k_max} is below `default_k` {self.default_k}")
        return self


class VectorStoreInfo(StoreInfo):
    """A collection of a vector store."""


class BM25StoreInfo(StoreInfo):
    """A keyword index."""


class FilterFieldInfo(FilterField):
    """A metadata field that a query of a domain may filter on."""

    model_config = ConfigDict(extra="ignore")

    description: str


class PerDomainConfig(BaseModel):
    """The stores of a domain and what may be filtered on."""

    description: str = ""
    vector_stores: list[VectorStoreInfo] = Field(default_factory=list)
    bm25_stores: list[BM25StoreInfo] = Field(default_factory=list)
    filter_fields: list[FilterFieldInfo] = Field(default_factory=list)


class RetrieverConfig(BaseModel):
    """All domains of a stores JSON."""

    domains: dict[str, PerDomainConfig]


_loaded: dict[Path, tuple[tuple[int, int], RetrieverConfig]] = {}
_lock = threading.Lock()


def load_retriever_config(path: str | Path) -> RetrieverConfig:
    """Read a stores JSON; an unchanged file (modification time and size) is answered from memory.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigError: it is not a stores configuration; the message names the file and what is wrong.
    """
    resolved = Path(path).expanduser().resolve()
    try:
        status = resolved.stat()
    except FileNotFoundError:
        raise FileNotFoundError(f"the stores configuration {path} does not exist") from None
    state = (status.st_mtime_ns, status.st_size)
    with _lock:
        known = _loaded.get(resolved)
        if known is None or known[0] != state:
            known = _loaded[resolved] = (state, _read(resolved))
        return known[1]


def resolve_stores_config_path(configured: str | Path | None = None) -> Path | None:
    """Return the stores JSON to use: the one named by the request, else by the environment, else none.

    With neither, a warning names both ways of naming one; no path is ever guessed.

    Args:
        configured: path that came with the request, if any.

    Raises:
        ValueError: the path that counts is empty, missing, not a regular file, or not a stores configuration.
    """
    if configured is not None:
        return _usable(configured, "the request")
    default = os.environ.get(STORES_CONFIG_ENV_VAR)
    if default is not None:
        return _usable(default, f"the environment variable {STORES_CONFIG_ENV_VAR}")
    _LOG.warning(
        "no stores configuration: neither the request metadata %r nor the environment variable %s names one",
        STORES_CONFIG_META_KEY,
        STORES_CONFIG_ENV_VAR,
    )
    return None


def stores_config(config: Config, model_keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the stores JSON of a project.

    A corpus whose settings ask for a collection that is still being built is listed with the one in use meanwhile.

    Args:
        config: the project's settings.
        model_keys: corpus to the key of its embedding model's identity; corpora that are not listed are left out.

    Returns:
        JSON-serialisable mapping, accepted by :func:`load_retriever_config`.
    """
    state = StateFolder(config.state_folder)
    domains: dict[str, Any] = {}
    for name, model_key in model_keys.items():
        corpus = config.corpus(name)
        depth = {
            "default_k": corpus.retrieval.default_k,
            "k_max": corpus.retrieval.k_max,
            "k_inc": corpus.retrieval.k_inc,
        }
        serving = read_serving(config.state_folder, name)
        place = serving.place if serving else (config.vector_store_uri(name), collection_name(name, model_key))
        domains[name] = {
            "description": corpus.description,
            "vector_stores": [{"name": place[1], "path": place[0], **depth}],
            "bm25_stores": [{"name": f"{name}-keywords", "path": str(state.bm25_index(name)), **depth}],
            "filter_fields": [field.model_dump() for field in corpus.filter_fields],
        }
    return {"domains": domains}


def _read(path: Path) -> RetrieverConfig:
    try:
        return RetrieverConfig.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'file'}: {item['msg']}" for item in error.errors())
        raise ConfigError(f"{path} is not a stores configuration: {problems}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not a stores configuration: {error}") from error


def _usable(path: str | Path, origin: str) -> Path:
    if not str(path).strip():
        raise ConfigError(f"{origin} names an empty path of a stores configuration; give the path of a JSON file")
    resolved = Path(path).expanduser().resolve()
    if not resolved.exists():
        raise ConfigError(f"{origin} names the stores configuration {path}, which does not exist")
    if not resolved.is_file():
        raise ConfigError(f"{origin} names the stores configuration {path}, which is not a regular file")
    load_retriever_config(resolved)
    return resolved
