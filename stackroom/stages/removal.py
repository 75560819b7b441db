"""Removing a source that is gone: from the collections that are searched, the artefacts and the ledger, in that order.

The ledger forgets last, so that an interrupted removal is found and finished the next time.
"""

from collections.abc import Sequence

import numpy as np

from stackroom.errors import StoreNotFoundError, StoreUnavailableError
from stackroom.stages.bench import Bench
from stackroom.stages.serving import serving_elsewhere
from stackroom.stores.base import VectorStore


def withdraw_source(bench: Bench, source_id: str) -> None:
    """Take a quarantined source out of the stores: what it held before it failed is no longer what the file says.

    While a new collection is being built, the one in use keeps a source that only the new settings have failed.

    Raises:
        StoreError: the store cannot be reached; the manifest still notes the rows, so that it is tried again.
    """
    if bench.manifest.get(bench.settings.store_uri, bench.collection.name, source_id) is not None:
        bench.store.delete_source(source_id)
        bench.manifest.delete(bench.settings.store_uri, bench.collection.name, source_id)
    known = bench.ledger.source(bench.name, source_id)
    _remove_elsewhere(bench, source_id, unless_made_of=known.content_hash if known else None)
    bench.artefacts.delete(source_id)


def remove_sources(bench: Bench, sources: Sequence[str]) -> dict[str, int]:
    """Delete all rows and artefacts of some sources.

    The keyword index still holds the sources until it is built again.

    Returns:
        Number of rows deleted from the vector store, by source.

    Raises:
        StoreError: the store cannot be reached; nothing is forgotten, so the removal is tried again.
    """
    deleted = bench.store.delete_sources(sources)
    bench.manifest.delete_sources(bench.settings.store_uri, bench.collection.name, sources)
    for source in sources:
        _remove_elsewhere(bench, source)
        bench.artefacts.delete(source)
    bench.ledger.forget(bench.name, sources)
    return deleted


def _remove_elsewhere(bench: Bench, source_id: str, unless_made_of: str | None = None) -> None:
    """Delete a source from the collection that answers while a new one is built.

    Args:
        bench: bench of the corpus.
        source_id: the source.
        unless_made_of: content hash; rows made of that very content stay.
    """
    serving = serving_elsewhere(bench)
    if serving is None or bench.manifest.get(*serving.place, source_id) is None:
        return
    try:
        store = bench.other_store(*serving.place)
        if unless_made_of is not None and not _made_of_other(store, source_id, unless_made_of):
            return
        store.delete_source(source_id)
    except StoreNotFoundError:  # dropped by hand: nothing answers from it
        pass
    except StoreUnavailableError:
        # Perhaps the very reason for which another store was configured: searches cannot reach it either, and what it
        # holds is not used any more once the new collection is complete.
        return
    bench.manifest.delete(*serving.place, source_id)


def _made_of_other(store: VectorStore, source_id: str, content_hash: str) -> bool:
    """Return whether a store holds rows of a source that were made of other content."""
    where = {"source_id": source_id, "file_hash": {"$ne": content_hash}}
    return bool(store.query(np.ones(store.spec.dimension, dtype=np.float32), 1, where))
