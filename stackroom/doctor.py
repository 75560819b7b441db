"""The doctor: does every store hold exactly what the artefacts say, and if not, what is missing, extra or altered?

Many small checks, each a function that returns problems; one list runs them. Nothing is repaired unless asked; then the
damaged sources are written again from their artefacts, without converting or embedding anything.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import ArtefactError, StoreError, StoreUnavailableError
from stackroom.ledger import SourceState
from stackroom.outcome import Failed
from stackroom.stages import bm25_corpus, vector_collection
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.corpus import build_keyword_index
from stackroom.stages.rows import rows_with_vectors
from stackroom.stages.serving import serving_elsewhere, settle_collections
from stackroom.stages.token_drift import altered_tokens
from stackroom.stores.bm25.drift import index_problem
from stackroom.words import are, count

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

    While a new collection is being built (see :mod:`stackroom.stages.serving`), only what is in it already is compared.

    Raises:
        StoreError: the vector store cannot be reached.
    """
    if serving_elsewhere(bench) is None:
        return _run(CHECKS, bench)
    done = _done(bench, only=bench.manifest.sources(bench.settings.store_uri, bench.collection.name))
    return [problem for check in STORE_CHECKS for problem in check(bench, done)]


def examine_store(bench: Bench) -> list[Problem]:
    """Compare only manifest and vector store with the artefacts.

    Raises:
        StoreError: the vector store cannot be reached.
    """
    return _run(STORE_CHECKS, bench)


def repair(bench: Bench, problems: list[Problem]) -> list[Problem]:
    """Mend what :func:`examine` found, and return what could not be mended.

    Rows of a source are written again from its artefacts; rows of sources that do not exist are deleted; a keyword
    index that differs is built again. A vector index that does not find its rows even then is made anew: until all
    sources are written, searches find by words alone what is missing.
    """
    left = _repair_sources(bench, problems)
    if any(problem.kind == "unsearchable" for problem in problems) and bench.store.verify():
        bench.renew_store()
        left = [problem for source in _done(bench) for problem in _rewritten(bench, source)]
    if problems:
        build_keyword_index(bench, anew=any(problem.check == "index" for problem in problems))
        settle_collections(bench)
    return left


def _repair_sources(bench: Bench, problems: list[Problem]) -> list[Problem]:
    left: list[Problem] = []
    for source in sorted({problem.source_id for problem in problems if problem.source_id is not None}):
        kinds = {problem.kind for problem in problems if problem.source_id == source}
        if "foreign" in kinds:
            left += _removed(bench, source)
        else:
            left += _rewritten(bench, source)
    return left


def _manifest_agrees(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """Every searchable source is noted in the manifest, and nothing else is but what waits to be processed."""
    noted = bench.manifest.sources(bench.settings.store_uri, bench.collection.name)
    for source in sorted(done.keys() - noted.keys()):
        yield Problem("manifest", "missing", f"{source} is searchable but not noted as stored", source)
    for source in sorted(noted.keys() - done.keys() - _waiting(bench)):
        yield Problem("manifest", "foreign", f"{source} is noted as stored but is no source of the corpus", source)


def _rows_agree(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """Every source has exactly its rows in the store, each as its artefacts have it."""
    stored: dict[str, dict[str, StoredRow]] = {}
    try:
        for row in bench.store.scan():
            stored.setdefault(row.source_id, {})[row.chunk_id] = row
    except StoreUnavailableError:
        raise
    except StoreError as error:
        yield Problem("rows", "unreadable", f"the collection cannot be read: {error}")
        return
    for source in sorted(stored.keys() - done.keys() - _waiting(bench)):
        yield Problem("rows", "foreign", f"{count(len(stored[source]), 'row')} of {source}, which is no source", source)
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
            message = f"{count(len(ids), 'row')} of {source} {are(len(ids))} {kind}"
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


def _tokens_agree(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """The token artefact of every source loads and is what its chunks and metadata say."""
    for source in done:
        try:
            altered = altered_tokens(FileWork(bench, source))
        except (ArtefactError, OSError) as error:
            yield Problem("tokens", "unreadable", f"{source}: {error}", source)
            continue
        if altered:
            yield Problem("tokens", "altered", f"{source}: the tokens have been altered ({altered})", source)


def _index_agrees(bench: Bench, done: Mapping[str, SourceState]) -> Iterator[Problem]:
    """The keyword index is, byte for byte, what the token artefacts make."""
    if not done:
        return
    paths = (bench.artefacts.path(bm25_corpus.STAGE, source, "pkl") for source in bench.ledger.source_ids(bench.name))
    index = bench.settings.state.bm25_index(bench.name)
    found = index_problem(index, filter(Path.exists, paths), bench.settings.corpus.bm25)
    if found is not None:
        yield Problem("index", found[0], found[1])


_Check = Callable[[Bench, Mapping[str, SourceState]], Iterator[Problem]]

STORE_CHECKS: tuple[_Check, ...] = (_manifest_agrees, _rows_agree, _store_answers)
CHECKS: tuple[_Check, ...] = (*STORE_CHECKS, _tokens_agree, _index_agrees)

_STORED = ("searchable", "partial")


def _waiting(bench: Bench) -> set[str]:
    """Return sources that the next run will process; until then their rows are those of an earlier version."""
    return {state.source_id for state in bench.ledger.sources(bench.name) if state.state == "pending"}


def _run(checks: "tuple[_Check, ...]", bench: Bench) -> list[Problem]:
    done = _done(bench)
    return [problem for check in checks for problem in check(bench, done)]


def _done(bench: Bench, only: Collection[str] | None = None) -> dict[str, SourceState]:
    return {
        state.source_id: state
        for state in bench.ledger.sources(bench.name)
        if state.state in _STORED and (only is None or state.source_id in only)
    }


def _rewritten(bench: Bench, source: str) -> list[Problem]:
    """Write a source again from its artefacts, and return what kept it from being written."""
    work = FileWork(bench, source, force=True)
    for stage in (vector_collection.run, bm25_corpus.run):
        outcome = stage(work)
        if isinstance(outcome, Failed):
            return [Problem("repair", "unreadable", f"{source}: {outcome.message}", source)]
    return []


def _removed(bench: Bench, source: str) -> list[Problem]:
    """Delete the rows of what is no source, and return what kept them from being deleted."""
    try:
        bench.store.delete_source(source)
    except StoreError as error:
        return [Problem("repair", "unreadable", f"{source}: {error}", source)]
    bench.manifest.delete(bench.settings.store_uri, bench.collection.name, source)
    return []
