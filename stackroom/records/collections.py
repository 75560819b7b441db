"""Stage 2 of records: every collection holds exactly the records that the files say, each embedded once.

The row of a record is written again only when its type, text or metadata changed, or when it is not in the store.
Registry and manifest are written after the rows, so that interrupted work is found and finished the next time.
"""

import contextlib
from dataclasses import dataclass, field
from typing import Any

from stackroom.artefacts import StoredRow
from stackroom.errors import ArtefactError, EmbeddingUnavailableError, StoreError, StoreNotFoundError
from stackroom.fingerprint import Fingerprint, fingerprint
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, ReasonCode, Unchanged
from stackroom.records.bench import RecordBench, RecordWork
from stackroom.records.naming import record_chunk_id
from stackroom.records.prepare import PreparedRecord, read_rows
from stackroom.records.record_file import STAGE as FILE_STAGE
from stackroom.records.registry import KnownCollection
from stackroom.stores.base import VectorStore
from stackroom.stores.bm25.corpus import corpus_fingerprint, write_corpus
from stackroom.stores.manifest import ManifestRow
from stackroom.words import count

STAGE = "record_collections"
VERSION = 1
BATCH = 2000
"""Records embedded and written at a time: bounds the memory, and what a killed process has to do again."""


@dataclass
class Written:
    """What was done for a file."""

    rows: dict[str, int] = field(default_factory=dict)
    """Rows by collection."""
    upserted: int = 0
    deleted: int = 0
    skipped: int = 0
    """Records whose rows already were as they should be."""
    embedded: int = 0
    stored: int = 0
    """Rows the stores count after a change; equal to the sum of ``rows``."""
    changed: bool = False
    digests: list[str] = field(default_factory=list)


def run(work: RecordWork) -> Outcome:
    """Bring the collections into step with a file, and with the files that hold records of the same ids."""
    bench = work.bench
    try:
        for other in bench.registry.neighbours(bench.record_set, work.source_id):
            if bench.artefacts.path(FILE_STAGE, other, "parquet").exists():
                sync_file(RecordWork(bench, other))
        written = sync_file(work)
    except ArtefactError as error:
        return Failed(ReasonCode.MISSING_INPUT, str(error))
    except (StoreError, EmbeddingUnavailableError) as error:
        return Failed(ReasonCode.STORE_UNAVAILABLE, str(error), {"store": bench.store_uri}, retryable=True)
    made_for = fingerprint(STAGE, VERSION, collections=sorted(written.digests))
    expected = sum(written.rows.values())
    summary = {
        "backend": bench.store_uri.partition(":")[0],
        "collections": written.rows,
        "records": expected,
        "upserted": written.upserted,
        "deleted": written.deleted,
        "skipped": written.skipped,
        "embedded": written.embedded,
        "model": bench.model.key,
    }
    check = CheckResult(
        "count_matches_records",
        passed=written.stored == expected,
        message=f"{count(written.stored, 'row')} in the collections, {count(expected, 'record')} of this file",
    )
    return (Produced if written.changed else Unchanged)(made_for.digest, summary, (check,))


def sync_file(work: RecordWork) -> Written:
    """Make the collections hold exactly the records that a file owns.

    Raises:
        ArtefactError: the file was not read yet.
        StoreError: a store cannot be used.
        EmbeddingError: the model failed.
    """
    bench, written = work.bench, Written()
    owned = bench.registry.owned(bench.record_set, work.source_id)
    rows = [row for row in read_rows(work.artefact(FILE_STAGE, "parquet")) if row.record_id in owned]
    groups: dict[str, list[PreparedRecord]] = {}
    for row in rows:
        groups.setdefault(row.label, []).append(row)
    for group in groups.values():
        known = collection_of(bench, group[0])
        _sync(work, known, group, written)
    # Collections of other models are left as they are: whoever goes back to such a model finds them as they were.
    for known in bench.registry.collections(bench.record_set, bench.store_uri):
        if known.model == bench.model.key and known.label not in groups and _holds(bench, known, work):
            _sync(work, known, [], written)
    return written


def collection_of(bench: RecordBench, record: PreparedRecord) -> KnownCollection:
    """Return the collection that a record belongs to."""
    spec = bench.spec(record.doc_type)
    return KnownCollection(bench.store_uri, spec.name, record.label, record.doc_type, spec.model)


def remove_file(bench: RecordBench, source_id: str) -> int:
    """Delete the records of a file that is gone from every collection that ever held them, and all that is kept of it.

    The keyword indexes still hold them until they are built again. The ledger forgets last, so that an interrupted
    removal is found and finished.

    Returns:
        Number of rows deleted.

    Raises:
        StoreError: a store cannot be reached; the removal is tried again.
    """
    deleted = withdraw_file(bench, source_id)
    bench.ledger.forget(bench.name, [source_id])
    return deleted


def withdraw_file(bench: RecordBench, source_id: str) -> int:
    """Take the records of a file out of every collection; see :func:`remove_file`."""
    neighbours = bench.registry.neighbours(bench.record_set, source_id)
    bench.registry.forget_file(bench.record_set, source_id)
    for other in neighbours:
        if bench.artefacts.path(FILE_STAGE, other, "parquet").exists():
            sync_file(RecordWork(bench, other))
    deleted = 0
    for known in bench.registry.collections(bench.record_set):
        if _holds(bench, known, RecordWork(bench, source_id)):
            with contextlib.suppress(StoreNotFoundError):  # a collection that is gone holds nothing
                deleted += bench.store(known).delete_source(source_id)
            _note(bench, known, source_id, [], None, "")
    bench.artefacts.delete(source_id)
    return deleted


def _sync(work: RecordWork, known: KnownCollection, rows: list[PreparedRecord], written: Written) -> None:
    bench, source = work.bench, work.source_id
    store = bench.store(known, create=True)
    made_for = fingerprint(
        STAGE,
        VERSION,
        store=known.store,
        collection=known.collection,
        analyser=bench.analyser.identity,
        rows=[[row.record_id, row.digest] for row in rows],
    )
    written.rows[known.collection] = len(rows)
    written.digests.append(made_for.digest)
    corpus = bench.corpus_file(known.label, source)
    noted = bench.manifest.get(known.store, known.collection, source, instance=store.instance)
    in_step = noted is not None and noted.fingerprint == made_for.digest
    if in_step and corpus_fingerprint(corpus) == made_for.digest and not work.force:
        written.skipped += len(rows)
        written.stored += len(rows)
        return
    written.changed = True
    _write_rows(work, known, rows, store, written, trusted=noted is not None)
    if rows:
        write_corpus(corpus, source, [_row(work, row) for row in rows], bench.analyser, made_for)
    else:
        corpus.unlink(missing_ok=True)
    _note(bench, known, source, rows, made_for, store.instance)
    written.stored += store.count(source)


def _write_rows(
    work: RecordWork,
    known: KnownCollection,
    rows: list[PreparedRecord],
    store: VectorStore,
    written: Written,
    *,
    trusted: bool,
) -> None:
    """Write the rows that changed and delete those that are no longer there."""
    bench, source = work.bench, work.source_id
    stored = bench.registry.stored(known.store, known.collection, source) if trusted and not work.force else {}
    present = store.ids_of_source(source)
    wanted = {record_chunk_id(bench.record_set, source, row.record_id): row for row in rows}
    todo = [row for chunk, row in wanted.items() if chunk not in present or stored.get(row.record_id) != row.digest]
    if todo:  # noted before it is written: rows that a killed process left behind belong to a known file
        pending = dict.fromkeys((row.record_id for row in todo), "")
        bench.registry.set_stored(known.store, known.collection, source, {**stored, **pending})
    for start in range(0, len(todo), BATCH):
        part = todo[start : start + BATCH]
        embedded = bench.embedder.embed_counted([row.text for row in part])
        written.embedded += embedded.new
        vectors = zip(part, embedded.vectors, strict=True)
        store.upsert([_row(work, row, vector) for row, vector in vectors])
    written.upserted += len(todo)
    written.skipped += len(rows) - len(todo)
    written.deleted += store.delete_rows(source, present - wanted.keys()) if present - wanted.keys() else 0


def _row(work: RecordWork, row: PreparedRecord, vector: Any = None) -> StoredRow:
    chunk = record_chunk_id(work.bench.record_set, work.source_id, row.record_id)
    return StoredRow(chunk, work.source_id, row.text, row.metadata, vector)


def _holds(bench: RecordBench, known: KnownCollection, work: RecordWork) -> bool:
    """Return whether a collection may hold rows of a file."""
    if bench.manifest.get(known.store, known.collection, work.source_id) is not None:
        return True
    return bool(bench.registry.stored(known.store, known.collection, work.source_id))


def _note(
    bench: RecordBench,
    known: KnownCollection,
    source_id: str,
    rows: list[PreparedRecord],
    made_for: Fingerprint | None,
    instance: str,
) -> None:
    """Note in registry and manifest what a collection now holds of a file."""
    digests = {row.record_id: row.digest for row in rows}
    bench.registry.set_stored(known.store, known.collection, source_id, digests)
    if made_for is None or not rows:
        bench.manifest.delete(known.store, known.collection, source_id)
        return
    chunks = tuple(record_chunk_id(bench.record_set, source_id, row.record_id) for row in rows)
    bench.manifest.put(
        ManifestRow(
            store=known.store,
            collection=known.collection,
            source_id=source_id,
            fingerprint=made_for.digest,
            chunk_ids=chunks,
            model=known.model,
            dimension=bench.model.dimension,
            instance=instance,
        )
    )
