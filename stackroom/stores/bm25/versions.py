"""Versions of an index in one folder, and the pointer that says which one is in use.

A version is a subfolder that never changes once it is there. A new one is made under a temporary name, renamed, and
then named in the pointer file, so that a crash leaves the old version in use and a reader keeps what it has opened.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stackroom.atomic import write_text, writer_lock
from stackroom.errors import ArtefactError
from stackroom.stores.bm25.arrays import sync_file

INDEX_SCHEMA = "stackroom.bm25_index/1"
POINTER = "CURRENT"
_META = "index.json"
_WAIT_SECONDS = 120.0
_REMEDY = "materialize `bm25_index` of the corpus again"


def current_version(folder: Path) -> Path | None:
    """Return the subfolder in use; None when there is no index yet."""
    try:
        name = (folder / POINTER).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ArtefactError(f"{folder / POINTER} cannot be read ({error}); {_REMEDY}") from error
    if not name or "/" in name or name.startswith("."):
        raise ArtefactError(f"{folder / POINTER} names no version of the index; {_REMEDY}")
    return folder / name


def read_meta(version: Path) -> dict[str, Any]:
    """Return what a version says about itself.

    Raises:
        ArtefactError: the version is missing, damaged, or of another schema.
    """
    try:
        meta: dict[str, Any] = json.loads((version / _META).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtefactError(f"the keyword index {version} is damaged ({error}); {_REMEDY}") from error
    if not isinstance(meta, dict) or meta.get("schema") != INDEX_SCHEMA:
        raise ArtefactError(f"the keyword index {version} is not of this version ({INDEX_SCHEMA}); {_REMEDY}")
    return meta


def is_intact(version: Path) -> bool:
    """Return whether every file of a version is as it was written.

    Raises:
        ArtefactError: the version is missing, damaged, or of another schema.
    """
    digests = read_meta(version).get("digests")
    try:
        return isinstance(digests, dict) and digests == _digests(version)
    except OSError:
        return False


def make_version(folder: Path, digest: str, fill: Callable[[Path], Mapping[str, Any]], *, anew: bool = False) -> Path:
    """Make a version and put it in use; one writer at a time.

    Args:
        folder: the index.
        digest: fingerprint of the version's content, which names it.
        fill: writes the files of a version into an empty folder and returns what it says about itself.
        anew: make it even if it is there.

    Returns:
        The version's folder.

    Raises:
        StoreLockedError: another process is writing the index.
        OSError: the disk is full or read-only; the old version stays in use.
    """
    with writer_lock(folder / ".lock", f"the keyword index {folder}", _WAIT_SECONDS):
        before = current_version(folder)
        version = folder / f"v-{digest[:24]}"
        if anew or not (version / _META).is_file():
            _make(folder, version, fill)
        write_text(folder / POINTER, version.name + "\n")
        _tidy(folder, {version, before})
    return version


def _make(folder: Path, version: Path, fill: Callable[[Path], Mapping[str, Any]]) -> None:
    temporary = folder / f".making-{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        meta = {**fill(temporary), "digests": _digests(temporary)}
        (temporary / _META).write_text(json.dumps(meta, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        sync_file(temporary / _META)
        sync_file(temporary)
        shutil.rmtree(version, ignore_errors=True)
        temporary.rename(version)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_file(folder)


def _digests(version: Path) -> dict[str, str]:
    """Return a hash of every file of a version but its description."""
    digests = {}
    for path in sorted(version.iterdir()):
        if path.name != _META:
            with path.open("rb") as handle:
                digests[path.name] = hashlib.file_digest(handle, "blake2b").hexdigest()[:32]
    return digests


def _tidy(folder: Path, keep: set[Path | None]) -> None:
    """Delete versions but the one in use and the one before it, which a reader may be about to open."""
    for path in folder.iterdir():
        if path.is_dir() and path not in keep and path.name.startswith(("v-", ".making-")):
            shutil.rmtree(path, ignore_errors=True)
