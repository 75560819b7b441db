"""Which files of a folder are sources: found by name and place, identified by their path below the folder.

Nothing of a file is read but the first bytes of one without suffix (is it a PDF?). What a file truly is, and whether it
can be read, is found by :mod:`stackroom.media`.
"""

import hashlib
import logging
import os
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from stackroom.errors import SourceError
from stackroom.folder_walk import (
    LINK_OUT,
    LINK_TO_FOLDER,
    NOT_REGULAR,
    LeftOut,
    WalkedFile,
    walk_folder,
    why_file_is_left_out,
    why_folder_is_left_out,
)
from stackroom.formats import RECORDINGS, declared_media, looks_like_pdf, may_lack_suffix, supported_suffixes
from stackroom.identity import display_name, source_id
from stackroom.path_patterns import PathPatterns

__all__ = [
    "Scan",
    "Skipped",
    "SourceFile",
    "content_hash",
    "find_source_files",
    "scan_folder",
    "supported_suffixes",
]

_EXCLUDED = "excluded"
UNSUPPORTED = "not a supported type of document"
WORTH_TELLING = frozenset({UNSUPPORTED, NOT_REGULAR, LINK_TO_FOLDER, LINK_OUT})
"""Reasons for which a person wants to know what was left out; hidden and temporary files are left out in silence."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that is a source, and what tells whether it changed since it was last seen."""

    source_id: str
    """Path below the corpus folder, POSIX, Unicode NFC."""
    path: Path
    """Where it lies, under the very name it has on disk."""
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not a source, and why."""

    path: str
    """Path below the corpus folder, safe to print."""
    reason: str


@dataclass(frozen=True)
class Scan:
    """What a folder holds."""

    files: tuple[SourceFile, ...] = ()
    """Sources, sorted by id."""
    skipped: tuple[Skipped, ...] = ()
    """Left out, as is right: hidden, generated, temporary, excluded, of another type."""
    problems: tuple[Skipped, ...] = ()
    """Left out, and somebody should know: unreadable folders, broken links, names that are not UTF-8, two names that
    are one after Unicode normalisation."""

    def hides(self, source: str) -> bool:
        """Return whether a source lies where the scan could not look, so that its absence means nothing."""
        paths = (problem.path for problem in self.problems)
        return any(source == path or source.startswith(f"{path}/") for path in paths)


@dataclass
class _Sorter:
    """Sorts what the walk yields into sources, skipped entries and problems."""

    include: PathPatterns
    exclude: PathPatterns
    every_type: bool = False
    files: dict[str, SourceFile] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[Skipped] = field(default_factory=list)

    def take(self, found: WalkedFile) -> None:
        try:
            # What the walk yields is a clean path already; in ASCII there is nothing to normalise either.
            identity = found.relative if found.relative.isascii() else source_id(PurePosixPath(found.relative))
        except SourceError as error:
            self.problems.append(Skipped(_printable(found.relative), str(error)))
            return
        reason = self._why_not(identity, found)
        if reason is not None:
            self.skipped.append(Skipped(display_name(identity), reason))
            return
        status = found.status
        file = SourceFile(identity, Path(found.path), status.st_size, status.st_mtime_ns, status.st_ino)
        other = self.files.setdefault(identity, file)
        if other is not file:
            self._settle(identity, file, found.relative, other)

    def _why_not(self, identity: str, found: WalkedFile) -> str | None:
        if not self.include.match(identity):
            return "not among the included patterns"
        if self.exclude.match(identity):
            return _EXCLUDED
        if self.every_type:
            return None
        name = identity.rpartition("/")[2]
        media = declared_media(name)
        if media in RECORDINGS:
            return "a recording; speech is not read"
        if media is None and not (may_lack_suffix(name) and _begins_as_pdf(found.path)):
            return UNSUPPORTED
        return None

    def _settle(self, identity: str, file: SourceFile, relative: str, other: SourceFile) -> None:
        """Of two names that are equal after normalisation keep the one that is normalised already, and report."""
        kept, lost = (file, other) if relative == identity else (other, file)
        self.files[identity] = kept
        reason = "has the same name as another file after Unicode normalisation (NFC), which is taken; rename one"
        self.problems.append(Skipped(ascii(lost.path.name)[1:-1], reason))


def scan_folder(
    folder: Path,
    include: Sequence[str] = ("**/*",),
    exclude: Sequence[str] = (),
    skip_folders: Collection[Path] = (),
    every_type: bool = False,
) -> Scan:
    """Find the sources of a folder.

    Args:
        folder: the corpus folder.
        include: patterns of files to take, relative to the folder; see :mod:`stackroom.path_patterns`.
        exclude: patterns of files to leave out; one that matches a folder leaves out all of it.
        skip_folders: folders of stores and state that may lie inside.
        every_type: take every file the patterns name, also those that are no documents.

    Raises:
        SourceError: the folder is missing or cannot be listed.
        ConfigError: a pattern is not relative to the folder.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder} is not an existing folder; check that the disk is mounted and the path is right")
    excluded = PathPatterns(exclude)
    sorter = _Sorter(PathPatterns(include), excluded, every_type)

    def judge(relative: str, name: str, is_folder: bool) -> str | None:
        if not is_folder:
            return why_file_is_left_out(name)
        if excluded.match(unicodedata.normalize("NFC", relative)):
            return _EXCLUDED
        return why_folder_is_left_out(folder / relative)

    try:
        for found in walk_folder(folder, judge, skip_folders):
            if isinstance(found, WalkedFile):
                sorter.take(found)
            else:
                _leave_out(sorter, found)
    except OSError as error:
        culprit = error.filename or folder
        raise SourceError(f"{culprit} cannot be listed: {error.strerror}; check its permissions") from error
    return Scan(
        tuple(sorter.files[identity] for identity in sorted(sorter.files)),
        tuple(sorted(sorter.skipped, key=lambda skipped: skipped.path)),
        tuple(sorted(sorter.problems, key=lambda skipped: skipped.path)),
    )


def content_hash(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes; memory use does not depend on its size.

    Raises:
        SourceError: the file cannot be read.
    """
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error


def find_source_files(
    source_dir: Path,
    *,
    metadata_map_path: Path | None = None,
    store_dir: Path | None = None,
    logger: logging.Logger | None = None,
) -> list[Path]:
    """Return the paths of the sources of a folder, sorted; a plain view of :func:`scan_folder`.

    Args:
        source_dir: folder to walk.
        metadata_map_path: a curated map inside the folder, under whatever name.
        store_dir: a vector store that may lie inside the folder.
        logger: gets one warning per file that is left out as unsupported, and per problem.

    Raises:
        SourceError: the folder is missing or cannot be listed.
    """
    scan = scan_folder(source_dir, skip_folders=() if store_dir is None else (store_dir,))
    if logger is not None:
        unsupported = (skipped for skipped in scan.skipped if skipped.reason == UNSUPPORTED)
        for left_out in (*unsupported, *scan.problems):
            logger.warning("%s: %s", left_out.path, left_out.reason)
    curated = None if metadata_map_path is None else metadata_map_path.resolve()
    return sorted(file.path for file in scan.files if curated is None or file.path.resolve() != curated)


def _leave_out(sorter: _Sorter, left_out: LeftOut) -> None:
    entry = Skipped(_printable(left_out.relative), left_out.reason)
    (sorter.problems if left_out.problem else sorter.skipped).append(entry)


def _printable(relative: str) -> str:
    r"""Return a path that can be printed and stored: bytes that are not UTF-8 shown as ``\xff``."""
    return display_name(os.fsencode(relative).decode("utf-8", errors="backslashreplace"))


def _begins_as_pdf(path: str) -> bool:
    try:
        with open(path, "rb") as handle:  # noqa: PTH123 - a string from the walk, thousands of times
            return looks_like_pdf(handle.read(1024))
    except OSError:
        return False
