"""Finding and removing what is gone: files that left the folder, and rows of files that nobody knows any more."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from stackroom.errors import StoreUnavailableError
from stackroom.plan import Plan
from stackroom.stages.bench import Bench
from stackroom.stages.reconcile import plan_corpus
from stackroom.stages.removal import remove_sources

BATCH = 200
"""Sources removed together: a store in a folder is opened and closed for every change, which costs tens of ms."""


@dataclass(frozen=True)
class Removal:
    """What was removed, or would be."""

    planned: Plan
    strays: tuple[str, ...] = ()
    """Sources that are not known any more and still had rows; see :func:`strays`."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows deleted from the vector store, by source; empty after a dry run."""
    problem: str | None = None
    """Why not everything was removed: the store does not answer. What is left is found the next time."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Everything that was removed, or would be."""
        return tuple(self.rows) if self.rows or self.problem else (*self.planned.delete, *self.strays)


def remove_vanished(
    bench: Bench, *, confirm_deletions: bool = False, busy: Collection[str] = (), dry_run: bool = False
) -> Removal:
    """Remove what is gone from the folder, and what the collection still holds of files that went earlier.

    Args:
        bench: bench of the corpus.
        confirm_deletions: accept that more than half of the files are gone.
        busy: sources that runs in flight are working on; they stay.
        dry_run: only say what would be removed.

    Raises:
        SourceError: the folder cannot be read; nothing is removed then.
        StoreError: the store is damaged, or not for this model.
    """
    planned = plan_corpus(bench, confirm_deletions=confirm_deletions, busy=busy)
    found: tuple[str, ...] = ()
    rows: dict[str, int] = {}
    try:
        found = () if planned.refused else tuple(strays(bench))
        gone = () if dry_run else (*planned.delete, *found)
        for start in range(0, len(gone), BATCH):
            rows |= remove_sources(bench, gone[start : start + BATCH])
    except StoreUnavailableError as error:  # the keyword index and the reports can be made all the same
        return Removal(planned, found, rows, str(error))
    return Removal(planned, found, rows)


def strays(bench: Bench) -> list[str]:
    """Return sources that the collection in use holds rows of although the ledger does not know them.

    They were deleted while another model or store was in use, or while a run in flight was storing them, or the state
    folder was deleted and the store was not. An empty folder proves nothing: then there are none.

    Raises:
        StoreError: the store cannot be reached.
    """
    if not bench.scan.files:
        return []
    known = set(bench.ledger.source_ids(bench.name))
    noted = list(bench.manifest.rows(bench.settings.store_uri, bench.collection.name))
    stored = {row.source_id for row in noted}
    if bench.store.count() != sum(len(row.chunk_ids) for row in noted):  # listing all sources takes much longer
        stored |= bench.store.source_ids()
    return sorted(stored - known)
