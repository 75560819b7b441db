"""Stage 6: the rows of the source in the vector store; the manifest is written after the rows.

Rows are replaced as a whole, except where the manifest says that the store holds the same chunks with the same vectors:
then only texts and metadata are written. Before anything is written the manifest takes back what it said of the source.
"""

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreError, StoreUnavailableError
from stackroom.fingerprint import fingerprint
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, ReasonCode, Unchanged
from stackroom.stages import embeddings
from stackroom.stages.bench import FileWork
from stackroom.stages.rows import rows_with_vectors
from stackroom.stores.collection import ReplaceResult
from stackroom.stores.manifest import ManifestRow
from stackroom.words import count

STAGE = "vector_collection"
VERSION = 1

_NOTHING = {"upserted": 0, "metadata_only": 0, "deleted": 0}


def run(work: FileWork) -> Outcome:
    """Make the store hold exactly the current rows of the source."""
    gathered = rows_with_vectors(work)
    if isinstance(gathered, Failed):
        return gathered
    rows, rows_fingerprint = gathered
    footer = embeddings.read_fingerprint(work)
    vectors = footer.fingerprint if footer else ""
    bench = work.bench
    uri, collection = bench.settings.store_uri, bench.collection
    made_for = fingerprint(STAGE, VERSION, rows=rows_fingerprint.digest, store=uri, collection=collection.name)
    try:
        recorded = bench.manifest.get(uri, collection.name, work.source_id, instance=bench.store.instance)
    except StoreError as error:
        return unavailable(error, collection.name)
    summary = {"backend": uri.partition(":")[0], "collection": collection.name, "rows": len(rows)}
    if recorded and recorded.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, {**summary, **_NOTHING}, (_counted(len(rows), len(rows)),))
    try:
        written = _write(work, rows, None if work.force else recorded, vectors)
        stored = bench.store.count(work.source_id)
    except StoreError as error:
        return unavailable(error, collection.name)
    bench.manifest.put(
        ManifestRow(
            store=uri,
            collection=collection.name,
            source_id=work.source_id,
            fingerprint=made_for.digest,
            chunk_ids=tuple(row.chunk_id for row in rows),
            model=collection.model,
            dimension=collection.dimension,
            instance=bench.store.instance,
            vectors=vectors,
        )
    )
    return Produced(made_for.digest, {**summary, **written}, (_counted(stored, len(rows)),))


def _write(work: FileWork, rows: list[StoredRow], recorded: ManifestRow | None, vectors: str) -> dict[str, int]:
    """Bring the rows into the store and return what that took."""
    store, collection, source = work.bench.settings.store_uri, work.bench.collection.name, work.source_id
    ids = {row.chunk_id for row in rows}
    if recorded and vectors and recorded.vectors == vectors and work.bench.store.ids_of_source(source) == ids:
        work.bench.manifest.begin(store, collection, source, keeps_vectors=True)
        try:
            return {**_NOTHING, "metadata_only": work.bench.store.update_metadata(source, rows)}
        except StoreUnavailableError:
            raise
        except StoreError:  # the store is not what it was noted to be: rows went missing, an index is damaged
            pass
    work.bench.manifest.begin(store, collection, source, keeps_vectors=False)
    result: ReplaceResult = work.bench.store.replace_source(source, rows)
    return {**_NOTHING, "upserted": result.upserted, "deleted": result.deleted}


def unavailable(error: StoreError, collection: str) -> Failed:
    """Return the failure of a store that cannot be reached or written."""
    return Failed(ReasonCode.STORE_UNAVAILABLE, str(error), {"collection": collection}, retryable=True)


def _counted(stored: int, expected: int) -> CheckResult:
    return CheckResult(
        "count_matches_manifest",
        passed=stored == expected,
        message=f"{count(stored, 'row')} in the store, {expected} in the manifest",
    )
