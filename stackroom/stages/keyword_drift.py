"""Whether the keyword side is what the artefacts say: the tokens of each source, and the index made of them.

Everything is made again beside what is there and compared, so that nothing altered is missed; nothing is written into
the state folder.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from stackroom.errors import ArtefactError
from stackroom.outcome import Failed
from stackroom.stages import bm25_corpus
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.rows import plain_rows
from stackroom.stores.bm25.build import fill_index, index_fingerprint
from stackroom.stores.bm25.corpus import read_corpus, read_header, tokenise_rows
from stackroom.stores.bm25.index import open_index
from stackroom.stores.bm25.versions import read_meta

_ARRAYS = ("term_ids", "counts", "heading_counts", "row_ends")
_LISTS = ("chunk_ids", "texts", "metadata", "vocabulary")
_COMPARED_BYTES = 1 << 20


def altered_tokens(work: FileWork) -> str | None:
    """Return what the token artefact of a source has that its chunks and metadata do not say; None if nothing.

    Raises:
        ArtefactError: it is missing or damaged.
    """
    corpus = read_corpus(work.artefact(bm25_corpus.STAGE, "pkl"))
    gathered = plain_rows(work)
    if isinstance(gathered, Failed):  # another check says so
        return None
    expected = tokenise_rows(gathered[0], work.bench.analyser)
    differing = [name for name in _LISTS if list(getattr(corpus, name)) != list(expected[name])]
    differing += [name for name in _ARRAYS if getattr(corpus, name).tolist() != list(expected[name])]
    if corpus.header.source_id != work.source_id or corpus.header.analyser != work.bench.analyser.identity:
        differing.append("header")
    return ", ".join(differing) or None


def index_problem(bench: Bench, sources: Sequence[str]) -> tuple[Literal["unreadable", "stale", "altered"], str] | None:
    """Return how the keyword index differs from one made now from the token artefacts of some sources.

    Args:
        bench: bench of the corpus.
        sources: the sources that should be in it.

    Returns:
        ``unreadable``, ``stale`` or ``altered``, and what it is in words; None if it does not differ, or if the token
        artefacts cannot be read and so say nothing.
    """
    folder, settings = bench.settings.state.bm25_index(bench.name), bench.settings.corpus.bm25
    try:
        version = open_index(folder).version
        meta = read_meta(version)
    except (ArtefactError, OSError) as error:
        return "unreadable", str(error)
    try:
        paths = [bench.artefacts.path(bm25_corpus.STAGE, source, "pkl") for source in sources]
        headers = sorted(((read_header(path), path) for path in paths), key=lambda pair: pair[0].source_id)
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
