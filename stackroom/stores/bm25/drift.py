"""Whether a keyword index is what its corpus files make.

It is made again in a temporary folder and compared byte by byte, so that nothing altered is missed; nothing is written
beside the index.
"""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError
from stackroom.stores.bm25.build import fill_index, index_fingerprint
from stackroom.stores.bm25.corpus import read_corpus, read_header
from stackroom.stores.bm25.index import open_index
from stackroom.stores.bm25.versions import read_meta

_COMPARED_BYTES = 1 << 20


def index_problem(
    folder: Path, corpus_paths: Iterable[Path], settings: Bm25Settings
) -> tuple[Literal["unreadable", "stale", "altered"], str] | None:
    """Return how a keyword index differs from one made now.

    Args:
        folder: the index.
        corpus_paths: the corpus files it should be made of.
        settings: engine and parameters it should be made with.

    Returns:
        ``unreadable``, ``stale`` or ``altered``, and what it is in words; None if it does not differ, or if the corpus
        files cannot be read and so say nothing.
    """
    try:
        version = open_index(folder).version
        meta = read_meta(version)
    except (ArtefactError, OSError) as error:
        return "unreadable", str(error)
    try:
        headers = sorted(((read_header(path), path) for path in corpus_paths), key=lambda pair: pair[0].source_id)
        made_for = index_fingerprint([header for header, _ in headers], settings)
        if meta["fingerprint"] != made_for.digest:
            rows = sum(header.chunks for header, _ in headers)
            return "stale", f"the keyword index has {meta['rows']} rows of other files or settings, not these {rows}"
        with tempfile.TemporaryDirectory(prefix="stackroom-index-") as temporary:
            fill_index(Path(temporary), (read_corpus(path) for _, path in headers), settings, made_for)
            differing = [path.name for path in sorted(Path(temporary).iterdir()) if not _equal(path, version)]
    except ArtefactError:
        return None
    if not differing:
        return None
    return "altered", f"the keyword index has been altered or damaged: {', '.join(differing)}"


def _equal(path: Path, version: Path) -> bool:
    """Return whether a file is the same in a version of the index."""
    other = version / path.name
    try:
        if other.stat().st_size != path.stat().st_size:
            return False
        with path.open("rb") as ours, other.open("rb") as theirs:
            while block := ours.read(_COMPARED_BYTES):
                if block != theirs.read(_COMPARED_BYTES):
                    return False
    except OSError:
        return False
    return True
