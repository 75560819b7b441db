"""The passages of a document with their vectors: of a source from its artefacts, of any other file made on the spot.

A file outside the corpus goes through the same stages as a source, with the corpus's settings and caches, but in a
temporary state folder; nothing of it is stored.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stackroom.artefacts import read_embeddings
from stackroom.conversion import open_converter
from stackroom.errors import SourceError
from stackroom.outcome import Failed
from stackroom.sources import content_hash
from stackroom.stages import chunks, embeddings, ocr_classification, source_document
from stackroom.stages.bench import Bench, FileWork
from stackroom.state import StateFolder


@dataclass(frozen=True)
class Passages:
    """What a document says, cut as the corpus is cut, and the vectors of that by the corpus's model."""

    texts: tuple[str, ...]
    vectors: np.ndarray
    """(n, dimension) float32."""


def stored_passages(bench: Bench, source_id: str) -> Passages | None:
    """Return the passages of a source as the collection has them; None if it is not stored or the file has changed."""
    work = FileWork(bench, source_id)
    document = source_document.read(work)
    if document is None or bench.manifest.get(bench.settings.store_uri, bench.collection.name, source_id) is None:
        return None
    with contextlib.suppress(SourceError, OSError):  # a source that has gone is still what it was
        if content_hash(work.path) != document.data["content_hash"]:
            return None
    return _read(work)


def passages_of_file(bench: Bench, path: Path) -> Passages | Failed:
    """Convert, cut and embed a file that need not be a source.

    Args:
        bench: bench of the corpus whose settings count.
        path: the file.
    """
    with tempfile.TemporaryDirectory() as folder, _scratch(bench, path.parent, Path(folder)) as scratch:
        work = FileWork(scratch, path.name)
        for stage in (source_document.run, ocr_classification.run, chunks.run, embeddings.run):
            outcome = stage(work)
            if isinstance(outcome, Failed):
                return outcome
        made = _read(work)
    assert made is not None  # noqa: S101 - all of its stages have just run
    return made


@contextlib.contextmanager
def _scratch(bench: Bench, folder: Path, state: Path) -> Iterator[Bench]:
    """Give a bench with the same settings, another folder, and the caches of the project."""
    settings = replace(
        bench.settings,
        corpus=bench.settings.corpus.model_copy(update={"folder": folder}),
        state=StateFolder(state),
    )
    cache = bench.settings.state.conversion_cache
    with Bench(
        settings,
        open_converter=lambda options, _: open_converter(options, cache),
        open_embedder=lambda _: bench.open_embedder(bench.settings),
    ) as scratch:
        yield scratch


def _read(work: FileWork) -> Passages | None:
    made = chunks.read(work)
    if made is None or embeddings.read_fingerprint(work) is None:
        return None
    ids, vectors = read_embeddings(work.artefact(embeddings.STAGE, "parquet"))
    if ids != [chunk.chunk_id for chunk in made]:
        return None
    return Passages(tuple(chunk.body.text for chunk in made), vectors)
