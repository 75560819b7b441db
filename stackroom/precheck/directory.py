"""The pre-check of a whole folder, outside any corpus: classify its PDFs, print a report, sort files into two folders.

Files are copied, never moved: the researcher's own folder stays as it is.
"""

import filecmp
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from stackroom.atomic import atomic_write, write_text
from stackroom.errors import SourceError
from stackroom.folder_walk import (
    ORGANISED_MARKER,
    WalkedFile,
    walk_folder,
    why_file_is_left_out,
    why_folder_is_left_out,
)
from stackroom.formats import Media, declared_media, looks_like_pdf, may_lack_suffix
from stackroom.outcome import Failed
from stackroom.precheck.classify import classify_pdf
from stackroom.precheck.result import PdfClassification

OCR_DIR_NAME = "ocr"
"""Output folder of PDFs that need OCR, and of those that could not be read."""
NO_OCR_DIR_NAME = "no-ocr"
"""Output folder of PDFs with a text layer, and of everything that is no PDF."""

Verdict = PdfClassification | Failed
Classifications = Mapping[Path, Verdict]


def classify_directory(
    source_dir: Path,
    classify: Callable[[Path], Verdict] = classify_pdf,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Path, Verdict]:
    """Classify every PDF below a folder.

    Hidden and temporary files, caches, and the folders ``ocr`` and ``no-ocr`` directly inside are left out.

    Args:
        source_dir: folder to walk.
        classify: what classifies one file; give one that runs in a worker process where files may be hostile.
        progress: called before each file with its number (from 0) and the number of files.

    Returns:
        Path to result, sorted by path; a file that cannot be read has a ``Failed``.

    Raises:
        SourceError: the folder is missing or cannot be listed.
    """
    paths = [path for path in _documents(source_dir) if _is_pdf(path)]
    results: dict[Path, Verdict] = {}
    for number, path in enumerate(paths):
        if progress is not None:
            progress(number, len(paths))
        results[path] = classify(path)
    return results


def format_precheck_report(classifications: Classifications) -> str:
    """Return a report as text: a line with the totals, then one line per PDF, sorted by name."""
    needing = sum(needs_ocr(verdict) for verdict in classifications.values())
    total = len(classifications)
    lines = [f"{total} PDF{'' if total == 1 else 's'}: {needing} OCR, {total - needing} no-OCR"]
    for path, verdict in sorted(classifications.items(), key=lambda item: (item[0].name, item[0])):
        label = "OCR" if needs_ocr(verdict) else "no-OCR"
        lines.append(f"{label:<6}  {path.name:<40}  {_figures(verdict)}")
    return "\n".join(lines)


def organise_directory(source_dir: Path, classifications: Classifications | None = None) -> tuple[Path, Path]:
    """Copy the files of a folder into its sub-folders ``ocr`` and ``no-ocr``.

    PDFs with a text layer and everything that is no PDF go to ``no-ocr``, all other PDFs to ``ocr``. Paths below the
    folder are kept. Running it again copies only what is new or changed, and takes away copies whose source has gone or
    has changed sides; files that it did not make itself are never deleted.

    Args:
        source_dir: folder with the documents.
        classifications: results of :func:`classify_directory` (default: it is called).

    Returns:
        The two folders, ``ocr`` and ``no-ocr``.

    Raises:
        SourceError: the folder is missing, or a file cannot be copied.
    """
    known = classify_directory(source_dir) if classifications is None else classifications
    verdicts = {path.resolve(): verdict for path, verdict in known.items()}
    folders = {True: source_dir / OCR_DIR_NAME, False: source_dir / NO_OCR_DIR_NAME}
    made: dict[bool, list[str]] = {True: [], False: []}
    for path in list(_documents(source_dir)):
        scanned = _is_pdf(path) and needs_ocr(verdicts.get(path.resolve()))
        relative = path.relative_to(source_dir)
        _copy(path, folders[scanned] / relative)
        made[scanned].append(relative.as_posix())
    for scanned, folder in folders.items():
        _remove_stale(folder, set(made[scanned]))
        write_text(folder / ORGANISED_MARKER, json.dumps({"files": sorted(made[scanned])}, indent=1) + "\n")
    return folders[True], folders[False]


def needs_ocr(verdict: Verdict | None) -> bool:
    """Say on which side a PDF belongs; one that was not or could not be classified needs OCR, the safe side."""
    return not isinstance(verdict, PdfClassification) or verdict.needs_ocr


def _documents(source_dir: Path) -> Iterator[Path]:
    """Return the files of a folder that may be documents, sorted, as paths below it."""
    outputs = {OCR_DIR_NAME, NO_OCR_DIR_NAME}

    def judge(relative: str, name: str, is_folder: bool) -> str | None:
        if not is_folder:
            return why_file_is_left_out(name)
        if relative in outputs:
            return "output of organise_directory"
        return why_folder_is_left_out(source_dir / relative)

    if not source_dir.is_dir():
        raise SourceError(f"{source_dir} is not an existing folder")
    try:
        walked = [found.relative for found in walk_folder(source_dir, judge) if isinstance(found, WalkedFile)]
    except OSError as error:
        raise SourceError(f"{source_dir} cannot be listed: {error.strerror}") from error
    return (source_dir / relative for relative in sorted(walked))


def _is_pdf(path: Path) -> bool:
    if declared_media(path.name) is Media.PDF:
        return True
    if declared_media(path.name) is not None or not may_lack_suffix(path.name):
        return False
    with path.open("rb") as handle:
        return looks_like_pdf(handle.read(1024))


def _copy(source: Path, target: Path) -> None:
    """Copy a file with its times unless the target is the same already; never leaves half a file."""
    try:
        if target.is_file() and filecmp.cmp(source, target):
            return
        with source.open("rb") as reader, atomic_write(target) as writer:
            shutil.copyfileobj(reader, writer)
        shutil.copystat(source, target)
    except OSError as error:
        raise SourceError(f"{source} cannot be copied to {target}: {error}") from error


def _remove_stale(folder: Path, made: set[str]) -> None:
    """Delete what an earlier run copied and this one did not."""
    try:
        recorded = json.loads((folder / ORGANISED_MARKER).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in recorded:
        relative = PurePosixPath(str(name))
        if str(name) not in made and not relative.is_absolute() and ".." not in relative.parts:
            (folder / relative).unlink(missing_ok=True)


def _figures(verdict: Verdict) -> str:
    if isinstance(verdict, Failed):
        return f"cannot be read ({verdict.reason}): {verdict.message}"
    figures = f"{verdict.pages} pages, {verdict.image_pages} image pages, {verdict.total_chars} characters"
    return f"{figures}, {verdict.garbled_pages} garbled pages" if verdict.garbled_pages else figures
