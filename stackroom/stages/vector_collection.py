"""Stage 6: the rows of the source in the vector store, replaced as a whole; the manifest is written after the rows."""

from stackroom.errors import StoreError
from stackroom.fingerprint import fingerprint
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, ReasonCode, Unchanged
from stackroom.stages.bench import FileWork
from stackroom.stages.rows import rows_with_vectors
from stackroom.stores.manifest import ManifestRow

STAGE = "vector_collection"
VERSION = 1


def run(work: FileWork) -> Outcome:
    """Make the store hold exactly the current rows of the source."""
    gathered = rows_with_vectors(work)
    if isinstance(gathered, Failed):
        return gathered
    rows, rows_fingerprint = gathered
    bench = work.bench
    uri, collection = bench.settings.store_uri, bench.collection
    made_for = fingerprint(STAGE, VERSION, rows=rows_fingerprint.digest, store=uri, collection=collection.name)
    try:
        recorded = bench.manifest.get(uri, collection.name, work.source_id, instance=bench.store.instance)
    except StoreError as error:
        return unavailable(error, collection.name)
    summary = {"backend": uri.partition(":")[0], "collection": collection.name, "rows": len(rows)}
    if recorded and recorded.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, {**summary, "upserted": 0, "deleted": 0}, (_counted(len(rows), len(rows)),))
    try:
        result = bench.store.replace_source(work.source_id, rows)
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
        )
    )
    return Produced(
        made_for.digest,
        {**summary, "upserted": result.upserted, "deleted": result.deleted},
        (_counted(stored, len(rows)),),
    )


def unavailable(error: StoreError, collection: str) -> Failed:
    """Return the failure of a store that cannot be reached or written."""
    return Failed(ReasonCode.STORE_UNAVAILABLE, str(error), {"collection": collection}, retryable=True)


def _counted(stored: int, expected: int) -> CheckResult:
    return CheckResult(
        "count_matches_manifest",
        passed=stored == expected,
        message=f"{stored} rows in the store, {expected} in the manifest",
    )
