"""The doctor of a record set: do collections and keyword indexes hold exactly the records that the files say?

Nothing is repaired unless asked; then the records of damaged files are written again from their artefacts, with the
vectors of the cache.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.doctor import VECTOR_TOLERANCE, Kind, Problem
from stackroom.errors import ArtefactError, StackroomError, StoreError, StoreUnavailableError
from stackroom.outcome import Failed
from stackroom.records import collections
from stackroom.records.bench import RecordBench, RecordWork
from stackroom.records.ingest import build_indexes
from stackroom.records.naming import record_chunk_id
from stackroom.records.prepare import PreparedRecord, read_rows
from stackroom.records.record_file import STAGE as FILE_STAGE
from stackroom.records.record_file import read_report
from stackroom.records.registry import KnownCollection
from stackroom.stores.bm25.drift import index_problem
from stackroom.words import are, count

SAMPLED_VECTORS = 50
"""Rows of a collection whose vectors are compared with the model's; the cache has them."""

_Rows = Mapping[str, tuple[str, PreparedRecord]]
"""Chunk id to file and record."""


@dataclass(frozen=True)
class Overview:
    """What a record set holds, by what is noted."""

    files: Mapping[str, int]
    """Number of files by state."""
    records: int
    refused: int
    collections: Mapping[str, int]
    """Records noted as stored, by collection of the current model."""


def overview(bench: RecordBench) -> Overview:
    """Count files, records and refused lines of a record set."""
    states = [state for state in bench.ledger.sources(bench.name) if state.present]
    files: dict[str, int] = {}
    refused = 0
    for state in states:
        files[state.state] = files.get(state.state, 0) + 1
        report = read_report(RecordWork(bench, state.source_id))
        refused += len(report.data["refused"]) if report else 0
    stored = bench.registry.counts(bench.store_uri, [known.collection for known in _current(bench)])
    return Overview(files, sum(state.chunks or 0 for state in states), refused, stored)


def examine_records(bench: RecordBench) -> list[Problem]:
    """Compare files' artefacts, registry, manifest, collections and keyword indexes of a record set.

    Raises:
        StoreError: a store cannot be reached.
    """
    done = [state.source_id for state in bench.ledger.sources(bench.name) if state.state == "searchable"]
    wanted, problems = _wanted(bench, done)
    for known in _current(bench):
        problems += _examine(bench, known, wanted.pop(known.label, {}))
    for label, rows in wanted.items():
        sources = sorted({source for source, _ in rows.values()})
        missing = f"there is no collection of {label} for"
        problems += [Problem("rows", "missing", f"{missing} {source}", source) for source in sources]
    return problems


def repair_records(bench: RecordBench, problems: list[Problem]) -> list[Problem]:
    """Mend what :func:`examine_records` found, and return what could not be mended."""
    left: list[Problem] = []
    known = {state.source_id for state in bench.ledger.sources(bench.name)}
    for source in sorted({problem.source_id for problem in problems if problem.source_id is not None}):
        failed = _write_again(bench, source) if source in known else _remove(bench, source)
        if failed is not None:
            left.append(Problem("repair", "unreadable", f"{source}: {failed}", source))
    for collection in _current(bench) if any(problem.kind == "unsearchable" for problem in problems) else ():
        if bench.store(collection).verify():  # written again, and still not found: the vector index itself is damaged
            bench.renew_store(collection)
            left = [
                Problem("repair", "unreadable", f"{state.source_id}: {failed}", state.source_id)
                for state in bench.ledger.sources(bench.name)
                if state.state == "searchable" and (failed := _write_again(bench, state.source_id)) is not None
            ]
    if problems:
        build_indexes(bench, anew=any(problem.check == "index" for problem in problems))
    return left


def _wanted(
    bench: RecordBench, sources: list[str]
) -> tuple[dict[str, dict[str, tuple[str, PreparedRecord]]], list[Problem]]:
    """Return what each collection should hold, by the label of its type, and the artefacts that cannot be read."""
    wanted: dict[str, dict[str, tuple[str, PreparedRecord]]] = {}
    problems = []
    for source in sources:
        try:
            rows = read_rows(RecordWork(bench, source).artefact(FILE_STAGE, "parquet"))
        except (ArtefactError, OSError) as error:
            problems.append(Problem("rows", "unreadable", f"{source}: {error}", source))
            continue
        owned = bench.registry.owned(bench.record_set, source)
        for row in rows:
            if row.record_id in owned:
                chunk = record_chunk_id(bench.record_set, source, row.record_id)
                wanted.setdefault(row.label, {})[chunk] = (source, row)
    return wanted, problems


def _current(bench: RecordBench) -> list[KnownCollection]:
    every = bench.registry.collections(bench.record_set, bench.store_uri)
    return [known for known in every if known.model == bench.model.key]


def _examine(bench: RecordBench, known: KnownCollection, wanted: _Rows) -> Iterator[Problem]:
    store = bench.store(known, create=True)
    try:
        stored = {row.chunk_id: row for row in store.scan()}
    except StoreUnavailableError:
        raise
    except StoreError as error:
        yield Problem("rows", "unreadable", f"{known.label}: the collection cannot be read: {error}")
    else:
        yield from _compare(known, wanted, stored)
        yield from _vectors(bench, known, wanted, stored)
    yield from _notes(bench, known, wanted)
    if wanted:
        yield from (Problem("query", "unsearchable", f"{known.label}: {message}") for message in store.verify())
        yield from _index(bench, known)


def _compare(known: KnownCollection, wanted: _Rows, stored: Mapping[str, StoredRow]) -> Iterator[Problem]:
    """Every record of every file is stored as its artefact has it, and nothing else is."""
    groups: dict[tuple[str, Kind], list[str]] = {}
    for chunk, (source, record) in wanted.items():
        row = stored.get(chunk)
        if row is None:
            groups.setdefault((source, "missing"), []).append(record.record_id)
        elif (row.source_id, row.text, dict(row.metadata)) != (source, record.text, dict(record.metadata)):
            groups.setdefault((source, "altered"), []).append(record.record_id)
    files = {source for source, _ in wanted.values()}
    for chunk in stored.keys() - wanted.keys():
        source = stored[chunk].source_id
        groups.setdefault((source, "extra" if source in files else "foreign"), []).append(chunk)
    for (source, kind), ids in sorted(groups.items()):
        message = f"{count(len(ids), 'row')} of {source} in {known.collection} {are(len(ids))} {kind}"
        yield Problem("rows", kind, message, source, {"records": sorted(ids)[:20]})


def _vectors(
    bench: RecordBench, known: KnownCollection, wanted: _Rows, stored: Mapping[str, StoredRow]
) -> Iterator[Problem]:
    """Sampled vectors are those that the model gives."""
    both = sorted(wanted.keys() & stored.keys())
    sample = both[:: max(1, len(both) // SAMPLED_VECTORS)]
    if not sample:
        return
    made = bench.embedder.embed_counted([wanted[chunk][1].text for chunk in sample]).vectors
    for chunk, vector in zip(sample, made, strict=True):
        found = stored[chunk].vector
        if found is None or not np.allclose(vector, found, atol=VECTOR_TOLERANCE):
            source, record = wanted[chunk]
            message = f"the vector of {record.record_id} in {known.collection} is not the model's"
            yield Problem("vectors", "altered", message, source)


def _notes(bench: RecordBench, known: KnownCollection, wanted: _Rows) -> Iterator[Problem]:
    """Registry and manifest note exactly what should be stored."""
    by_source: dict[str, dict[str, str]] = {}
    for source, record in wanted.values():
        by_source.setdefault(source, {})[record.record_id] = record.digest
    noted = bench.manifest.sources(known.store, known.collection)
    for source in sorted(noted.keys() | by_source.keys()):
        stored = bench.registry.stored(known.store, known.collection, source)
        if (source in noted, stored) != (source in by_source, by_source.get(source, {})):
            message = f"what is noted of {source} in {known.collection} is not what it should hold"
            yield Problem("notes", "stale", message, source)


def _index(bench: RecordBench, known: KnownCollection) -> Iterator[Problem]:
    """The keyword index of the type is, byte for byte, what the tokens of all files make."""
    found = index_problem(bench.index_folder(known.label), bench.corpus_files(known.label), bench.settings.records.bm25)
    if found is not None:
        yield Problem("index", found[0], f"{known.label}: {found[1]}")


def _write_again(bench: RecordBench, source: str) -> str | None:
    outcome = collections.run(RecordWork(bench, source, force=True))
    return outcome.message if isinstance(outcome, Failed) else None


def _remove(bench: RecordBench, source: str) -> str | None:
    try:
        for known in _current(bench):
            bench.store(known).delete_source(source)
            bench.registry.set_stored(known.store, known.collection, source, {})
            bench.manifest.delete(known.store, known.collection, source)
    except StackroomError as error:
        return str(error)
    return None
