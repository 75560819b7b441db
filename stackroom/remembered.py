"""What is remembered in the state folder beside the settings.

Folders added with ``--source`` and stores that were moved are read by :func:`stackroom.config.load_config`. Both stand
behind what ``stackroom.yaml`` says: an added folder gives way to a corpus of its name, and a move counts only as long
as the settings name the store it moved from. And, for each corpus, the collection that searches are answered from: it
is the one of the settings, unless they have changed and the collection they ask for is still being built.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackroom.atomic import write_text
from stackroom.errors import ConfigError

if TYPE_CHECKING:
    from stackroom.config import Config

ADDED_CORPORA_FILE = "corpora.json"
MOVED_STORES_FILE = "moved-stores.json"
SERVING_FOLDER = "serving"
"""Holds one file per corpus, so that runs of two corpora never write the same one."""


_STATE = "{state}"
"""Stands for the state folder in the URI of a store inside it, so that the folder can be moved."""


@dataclass(frozen=True)
class KeptStore:
    """A collection that a corpus was moved from, kept until it is dropped."""

    uri: str
    collection: str


@dataclass(frozen=True)
class MovedStore:
    """Where the vectors of a corpus are instead of where the settings say."""

    configured: str | None
    """Store URI of the settings when the corpus was moved; None if they named none."""
    uri: str | None
    """The store in use; None if the corpus was moved back to the configured one."""
    kept: tuple[KeptStore, ...] = ()

    def in_place_of(self, configured: str | None) -> str | None:
        """Return the store to use, or None if the settings have changed since the move and so count again."""
        return self.uri if self.configured == configured else None


def read_moved_stores(state_folder: Path) -> dict[str, MovedStore]:
    """Return the moved stores by corpus.

    Raises:
        ConfigError: the file is damaged.
    """
    path = state_folder / MOVED_STORES_FILE
    return {name: _moved(path, body) for name, body in _read(path, "move the corpora again").items()}


def write_moved_store(state_folder: Path, corpus: str, moved: MovedStore | None) -> None:
    """Remember where a corpus was moved; None forgets it."""
    path = state_folder / MOVED_STORES_FILE
    body = _read(path, "move the corpora again")
    if moved is None:
        body.pop(corpus, None)
    else:
        body[corpus] = asdict(moved)
    write_text(path, json.dumps(body, indent=2, ensure_ascii=False) + "\n", private=True)  # addresses hold passwords
    path.chmod(0o600)  # a URI may hold a password


@dataclass(frozen=True)
class Serving:
    """The collection that searches of a corpus are answered from."""

    uri: str
    collection: str
    model: str
    """Key of the identity of its embedding model."""
    embedder: Mapping[str, Any]
    """Settings of that model as JSON, to embed questions with."""

    @property
    def place(self) -> tuple[str, str]:
        """Store URI and name of the collection."""
        return self.uri, self.collection


def serving_file(state_folder: Path, corpus: str) -> Path:
    """Return the file that says from which collection searches of a corpus are answered."""
    return state_folder / SERVING_FOLDER / f"{corpus}.json"


def read_serving(state_folder: Path, corpus: str) -> Serving | None:
    """Return the collection that searches of a corpus are answered from; None before it was first complete.

    Raises:
        ConfigError: the file is damaged.
    """
    path = serving_file(state_folder, corpus)
    remedy = "ingest the corpus again"
    body = _read(path, remedy)
    if not body:
        return None
    try:
        uri = str(body["uri"]).replace(_STATE, str(state_folder))
        return Serving(uri, str(body["collection"]), str(body["model"]), dict(body["embedder"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} is damaged ({error!r}); delete it and {remedy}") from error


def write_serving(state_folder: Path, corpus: str, serving: Serving | None) -> None:
    """Let searches of a corpus be answered from a collection, in one atomic write; None forgets it."""
    path = serving_file(state_folder, corpus)
    if serving is None:
        path.unlink(missing_ok=True)
        return
    uri = serving.uri.replace(str(state_folder), _STATE)
    write_text(path, json.dumps({**asdict(serving), "uri": uri}, indent=2, ensure_ascii=False) + "\n", private=True)
    path.chmod(0o600)  # a URI may hold a password


def read_added_corpora(state_folder: Path) -> dict[str, dict[str, Any]]:
    """Return the corpora that were added with ``--source``, as they would stand in ``stackroom.yaml``.

    Raises:
        ConfigError: the file is damaged.
    """
    return _read(state_folder / ADDED_CORPORA_FILE, "add the folders again")


def add_corpus(config: "Config", folder: Path) -> str:
    """Remember a folder as a corpus of its own and return the corpus's name.

    The name comes from the folder; a folder that already is a corpus keeps its name, and a second folder of the same
    name gets a number. Call :func:`~stackroom.config.load_config` again to see the corpus.

    Raises:
        ConfigError: the folder does not exist, or is the state folder or the whole file system.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder; give the path of a folder of documents")
    state = config.state_folder.resolve()
    if folder == state or state in folder.parents:
        raise ConfigError(f"{folder} is where Stackroom keeps its own files; give a folder of documents")
    if folder == folder.parent:
        raise ConfigError(f"{folder} is the whole file system; give a folder of documents")
    for name, corpus in config.corpora.items():
        if corpus.folder == folder:
            return name
    path = config.state_folder / ADDED_CORPORA_FILE
    added = _read(path, "add the folders again")
    base = re.sub(r"[^a-z0-9]+", "_", folder.name.lower()).strip("_")[:36] or "corpus"
    base = base if base[0].isalpha() and len(base) > 1 else f"corpus_{base}"
    name, number = base, 1
    while name in config.corpora or name in added:
        if added.get(name, {}).get("folder") == str(folder):
            break
        number += 1
        name = f"{base}_{number}"
    added[name] = {"folder": str(folder), "description": f"Documents in {folder}"}
    write_text(path, json.dumps(added, indent=2, ensure_ascii=False) + "\n")
    return name


def forget_corpus(state_folder: Path, name: str) -> bool:
    """Forget an added folder; returns whether it was remembered. What the stores hold of it stays."""
    path = state_folder / ADDED_CORPORA_FILE
    added = _read(path, "add the folders again")
    if added.pop(name, None) is None:
        return False
    write_text(path, json.dumps(added, indent=2, ensure_ascii=False) + "\n")
    return True


def _read(path: Path, remedy: str) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{path} is damaged ({error}); delete it and {remedy}") from error
    if not isinstance(body, dict):
        raise ConfigError(f"{path} is damaged (not an object); delete it and {remedy}")
    return body


def _moved(path: Path, body: Mapping[str, Any]) -> MovedStore:
    try:
        kept = tuple(KeptStore(str(one["uri"]), str(one["collection"])) for one in body["kept"])
        return MovedStore(body["configured"], body["uri"], kept)
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path} is damaged ({error!r}); delete it and move the corpora again") from error
