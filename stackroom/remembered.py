"""What the command line remembers in the state folder, and :func:`stackroom.config.load_config` reads.

Folders added with ``--source``, and stores that were moved. Both stand behind what ``stackroom.yaml`` says: an added
folder gives way to a corpus of its name, and a move counts only as long as the settings name the store it moved from.
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
    write_text(path, json.dumps(body, indent=2, ensure_ascii=False) + "\n")
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
        ConfigError: the folder does not exist.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder; give the path of a folder of documents")
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
