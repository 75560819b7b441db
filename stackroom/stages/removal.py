"""Removing a source that is gone: from every collection that ever held it, the artefacts and the ledger, in that order.

The ledger forgets last, so that an interrupted removal is found and finished the next time.
"""

from stackroom.stages.bench import Bench


def withdraw_source(bench: Bench, source_id: str) -> None:
    """Take a quarantined source out of the stores: what it held before it failed is no longer what the file says.

    Raises:
        StoreError: the store cannot be reached; the manifest still notes the rows, so that it is tried again.
    """
    if bench.manifest.get(bench.settings.store_uri, bench.collection.name, source_id) is not None:
        bench.store.delete_source(source_id)
        bench.manifest.delete(bench.settings.store_uri, bench.collection.name, source_id)
    bench.artefacts.delete(source_id)


def remove_source(bench: Bench, source_id: str) -> int:
    """Delete all rows and artefacts of a source.

    The keyword index still holds the source until it is built again.

    Returns:
        Number of rows deleted from the vector store.

    Raises:
        StoreError: the store cannot be reached; nothing is forgotten, so the removal is tried again.
    """
    deleted = bench.store.delete_source(source_id)
    bench.manifest.delete(bench.settings.store_uri, bench.collection.name, source_id)
    bench.artefacts.delete(source_id)
    bench.ledger.forget(bench.name, [source_id])
    return deleted
