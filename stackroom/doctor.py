"""The doctor: does every store hold exactly what the artefacts say, and if not, what is missing, extra or altered?

Many small checks, each a function that returns problems; one list runs them. Nothing is repaired unless asked; then the
damaged sources are written again from their artefacts, without converting or embedding anything.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import ArtefactError, StoreError
from stackroom.ledger import SourceState
from stackroom.outcome import Failed
from stackroom.stages import bm25_corpus, vector_collection
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.corpus import build_keyword_index
from stackroom.stages.rows import rows_with_vectors
from stackroom.stores.bm25.corpus import read_corpus
from stackroom.stores.bm25.index import open_index

VECTOR_TOLERANCE = 1e-3
"""Largest difference of a component between a stored vector and its artefact; backends store float32 or unit length."""

Kind = Literal["missing", "extra", "altered", "foreign", "unreadable", "unsearchable", "stale"]


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be."""

    check: str
    kind: Kind
    message: str
    source_id: str | None = None
    """The source to write again, where there is one."""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the problem as plain values."""
        return asdict(self)


def examine(bench: Bench) -> list[Problem]:
    """Compare ledger, artefacts, manifest, vector store and keyword index of a corpus.

    Raises:
        StoreError: the vector store cannot be reached.
    """
    return _run(CHECKS, bench)


def examine_store(bench: Bench) -> list[Problem]:
    """Compare only manifest and vector store with the artefacts.

    Raises:
        StoreError: the vector store cannot be reached.
    """
    return _run(STORE_CHECKS, bench)


def repair(bench: Bench, problems: list[Problem]) -> list[Problem]:
    """Mend what :func:`examine` found, and return what could not be mended.

    Rows of a source are written again from its artefacts; rows of sources that do not exist are deleted; a keyword
    index that differs is built again.
    """
    left: list[Problem] = []
    for source in sorted({problem.source_id for problem in problems if problem.source_id is not None}):
        kinds = {problem.kind for problem in problems if problem.source_id == source}
        failed = _remove_foreign(bench, source) if "foreign" in kinds else _write_again(bench, source)
        if failed is not None:
            left.append(Problem("repair", "unreadable", f"{source}: {failed.message}", source))
    if problems:
        build_keyword_index(bench)
    return left


def _manifest_agrees(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """Every searchable source is noted in the manifest, and nothing else is."""
    noted = bench.manifest.sources(bench.settings.store_uri, bench.collection.name)
    for source in sorted(done.keys() - noted.keys()):
        yield Problem("manifest", "missing", f"{source} is searchable but not noted as stored", source)
    for source in sorted(noted.keys() - done.keys()):
        yield Problem("manifest", "foreign", f"{source} is noted as stored but is no source of the corpus", source)


def _rows_agree(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """Every source has exactly its rows in the store, each as its artefacts have it."""
    stored: dict[str, dict[str, StoredRow]] = {}
    for row in bench.store.scan():
        stored.setdefault(row.source_id, {})[row.chunk_id] = row
    for source in sorted(stored.keys() - done.keys()):
        yield Problem("rows", "foreign", f"{len(stored[source])} rows of {source}, which is no source", source)
    for source in done:
        gathered = rows_with_vectors(FileWork(bench, source))
        if isinstance(gathered, Failed):
            yield Problem("rows", "unreadable", f"{source}: {gathered.message}", source)
            continue
        yield from _compare(source, {row.chunk_id: row for row in gathered[0]}, stored.get(source, {}))


def _compare(source: str, wanted: Mapping[str, StoredRow], found: Mapping[str, StoredRow]) -> Iterator[Problem]:
    groups: dict[Kind, list[str]] = {
        "missing": sorted(wanted.keys() - found.keys()),
        "extra": sorted(found.keys() - wanted.keys()),
        "altered": sorted(key for key in wanted.keys() & found.keys() if not _same(wanted[key], found[key])),
    }
    for kind, ids in groups.items():
        if ids:
            message = f"{len(ids)} rows of {source} are {kind}"
            yield Problem("rows", kind, message, source, {"chunk_ids": ids[:20]})


def _same(wanted: StoredRow, found: StoredRow) -> bool:
    if wanted.text != found.text or dict(wanted.metadata) != dict(found.metadata):
        return False
    if wanted.vector is None or found.vector is None:
        return False
    unit = wanted.vector / max(float(np.linalg.norm(wanted.vector)), 1e-12)
    return bool(np.allclose(unit, found.vector, atol=VECTOR_TOLERANCE))


def _store_answers(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """A live query finds sampled rows by their own vectors."""
    if done:
        yield from (Problem("query", "unsearchable", message) for message in bench.store.verify())


def _tokens_readable(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """The token artefact of every source loads."""
    for source in done:
        try:
            read_corpus(bench.artefacts.path(bm25_corpus.STAGE, source, "pkl"))
        except (ArtefactError, OSError) as error:
            yield Problem("tokens", "unreadable", f"{source}: {error}", source)


def _index_agrees(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """The keyword index opens and has as many rows as the sources have chunks."""
    if not done:
        return
    try:
        rows = open_index(bench.settings.state.bm25_index(bench.name)).rows
    except (ArtefactError, OSError) as error:
        yield Problem("index", "unreadable", str(error))
        return
    expected = sum(state.chunks or 0 for state in done.values())
    if rows != expected:
        yield Problem("index", "stale", f"the keyword index has {rows} rows, the sources have {expected} chunks")


_Check = Callable[[Bench, Mapping[str, SourceState]], Iterator[Problem]]

STORE_CHECKS: tuple[_Check, ...] = (_manifest_agrees, _rows_agree, _store_answers)
CHECKS: tuple[_Check, ...] = (*STORE_CHECKS, _tokens_readable, _index_agrees)

_STORED = ("searchable", "partial")


def _run(checks: "tuple[_Check, ...]", bench: Bench) -> list[Problem]:
    done = {state.source_id: state for state in bench.ledger.sources(bench.name) if state.state in _STORED}
    return [problem for check in checks for problem in check(bench, done)]


def _write_again(bench: Bench, source: str) -> Failed | None:
    work = FileWork(bench, source, force=True)
    for stage in (vector_collection.run, bm25_corpus.run):
        outcome = stage(work)
        if isinstance(outcome, Failed):
            return outcome
    return None


def _remove_foreign(bench: Bench, source: str) -> Failed | None:
    try:
        bench.store.delete_source(source)
    except StoreError as error:
        return vector_collection.unavailable(error, bench.collection.name)
    bench.manifest.delete(bench.settings.store_uri, bench.collection.name, source)
    return None
