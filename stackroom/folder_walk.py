"""Walking a folder: every regular file below it once, without leaving it, and a reason for everything left out.

A link to a file inside the folder is a file. A link to a folder is never followed: its target is walked under its own
name when it lies inside, and is none of ours when it does not; so there are no cycles. The rules for what nobody wants
as a document (hidden, temporary and generated files, caches, stores) stand here too; which types of documents are
wanted does not: see :mod:`stackroom.sources`.
"""

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

CACHE_DIR_NAME = ".klea-cache"
"""Cache folder of the reference system."""
ORGANISED_MARKER = ".stackroom-organised.json"
"""Stands in folders into which ``organise_directory`` copied files; such a folder holds nothing of its own."""
VECTOR_STORE_FILE = "chroma.sqlite3"
"""Marks the folder of an embedded Chroma store."""
GENERATED_FILES = frozenset({"metadata-map.json", "metadata-map.template.json"})
"""Files that Stackroom, or a person working with it, keeps beside the documents."""

_TEMPORARY_SUFFIXES = (".part", ".partial", ".crdownload", ".download", ".tmp", ".temp", ".swp", "~")
_TEMPORARY_PREFIXES = ("~$", ".~lock.")


class WalkedFile(NamedTuple):  # built a hundred thousand times, faster than a frozen dataclass
    """A regular file."""

    relative: str
    """Path below the folder, with forward slashes, as on disk (undecodable bytes as surrogates)."""
    path: str
    """Absolute path."""
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file or folder that was not walked, and why."""

    relative: str
    reason: str
    problem: bool = False
    """True when somebody should look at it: an unreadable folder, a broken link."""


Judge = Callable[[str, str, bool], str | None]
"""``judge(relative, name, is_folder)`` returns why an entry is left out, or None to take it."""


def walk_folder(folder: Path, judge: Judge, skip_folders: Collection[Path] = ()) -> Iterator[WalkedFile | LeftOut]:
    """Yield every file below a folder, and every entry left out.

    Args:
        folder: the folder; may itself be a link.
        judge: decides by name; a folder that is left out is not opened.
        skip_folders: folders left out wherever they lie; compared after resolving links.

    Raises:
        OSError: the folder itself cannot be listed.
    """
    root = os.path.realpath(folder)
    skipped = {os.path.realpath(path) for path in skip_folders}
    stack = [("", root)]
    while stack:
        prefix, location = stack.pop()
        try:
            with os.scandir(location) as listing:
                entries = list(listing)
        except OSError as error:
            if not prefix:
                raise
            yield LeftOut(prefix.rstrip("/"), f"folder cannot be read: {error.strerror}", problem=True)
            continue
        for entry in entries:
            relative = prefix + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            try:
                reason = judge(relative, entry.name, is_folder)
            except OSError as error:  # looking into a folder may be forbidden; what it holds is then not known
                yield LeftOut(relative, f"folder cannot be read: {error.strerror}", problem=True)
                continue
            if reason is not None:
                yield LeftOut(relative, reason)
            elif not is_folder:
                yield _file(entry, relative, root)
            elif skipped and entry.path in skipped:
                yield LeftOut(relative, "holds a store or state of Stackroom")
            else:
                stack.append((relative + "/", entry.path))


def _file(entry: os.DirEntry[str], relative: str, root: str) -> WalkedFile | LeftOut:
    try:
        if entry.is_symlink():
            reason = _why_not_followed(entry.path, root)
            if reason is not None:
                return LeftOut(relative, reason, problem=reason in (_BROKEN, _LOOP))
        status = entry.stat()
    except OSError as error:
        return LeftOut(relative, f"cannot be read: {error.strerror}", problem=True)
    if not stat.S_ISREG(status.st_mode):
        return LeftOut(relative, NOT_REGULAR)
    return WalkedFile(relative, entry.path, status)


NOT_REGULAR = "not a regular file"
LINK_TO_FOLDER = "link to a folder"
LINK_OUT = "link out of the folder"
_BROKEN = "link to something that does not exist"
_LOOP = "link that leads back to itself"


def _why_not_followed(path: str, root: str) -> str | None:
    """Return why a link is not followed, or None when it leads to a file inside the folder."""
    target = os.path.realpath(path)
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - a string from the walk
    except OSError as error:
        return _LOOP if error.errno == errno.ELOOP else _BROKEN
    if is_folder:
        return LINK_TO_FOLDER
    if os.path.commonpath([root, target]) != root:
        return LINK_OUT
    return None


def why_folder_is_left_out(location: Path) -> str | None:
    """Return why nothing in a folder is a document, or None; the folder one walks from is never asked about."""
    if location.name == CACHE_DIR_NAME:
        return "cache of another system"
    if location.name.startswith("."):
        return "hidden folder"
    if (location / VECTOR_STORE_FILE).is_file():
        return "holds a vector store"
    if (location / ORGANISED_MARKER).is_file():
        return "holds copies made by organise_directory"
    return None


def why_file_is_left_out(name: str) -> str | None:
    """Return why a file of this name is no document, or None."""
    lowered = name.lower()
    if lowered.startswith(_TEMPORARY_PREFIXES) or lowered.endswith(_TEMPORARY_SUFFIXES):
        return "temporary file of a program that is still writing it"
    if name.startswith("."):
        return "hidden file"
    return "generated by Stackroom" if name in GENERATED_FILES else None
