"""Comparing a corpus's folder with the ledger: look at the folder, work out revisions, make the plan."""

import time
from collections.abc import Collection, Sequence

from stackroom.errors import StoreError
from stackroom.ledger import SourceState
from stackroom.metadata_map.renamed import remember_contents
from stackroom.outcome import ReasonCode
from stackroom.plan import Plan, plan, still_written, young_files
from stackroom.stages import metadata_map
from stackroom.stages.bench import Bench
from stackroom.stages.verdict import revision, settings_digest


def plan_corpus(
    bench: Bench,
    *,
    force: bool = False,
    retry_quarantined: bool = False,
    confirm_deletions: bool = False,
    busy: Collection[str] = (),
    settle_seconds: float = 0.0,
    ask_again: bool = False,
) -> Plan:
    """Scan the folder, note it in the ledger, and return what has to be done.

    Args:
        bench: bench of the corpus.
        force: process every file again.
        retry_quarantined: try quarantined files again although nothing changed.
        confirm_deletions: accept that more than half of the files are gone.
        busy: sources that runs in flight are working on.
        settle_seconds: leave files that were modified so recently for the next look, unless they look the same as at
            the previous one. Zero takes every file as it is.
        ask_again: also process files for which something besides files and settings may be different now: see
            :func:`_worth_another_try`. Not for the sensor: it would open stores and ask services twice a minute.

    Raises:
        SourceError: the folder cannot be read; nothing is planned then, least of all deletions.
    """
    young = young_files(bench.scan.files, time.time(), settle_seconds) if settle_seconds else {}
    settling = still_written(young, bench.ledger.swap_young(bench.name, young)) if settle_seconds else frozenset()
    hashes = bench.ledger.observe(bench.name, bench.scan, leave=settling)
    if bench.curated.entries:
        remember_contents(bench.curated_contents, bench.curated, hashes, bench.scan.files)
    settings = settings_digest(bench)
    known = bench.ledger.sources(bench.name)
    return plan(
        {source: revision(bench, source, digest, settings) for source, digest in hashes.items()},
        [state for state in known if state.source_id in hashes or not bench.scan.hides(state.source_id)],
        force=force,
        retry_quarantined=retry_quarantined,
        confirm_deletions=confirm_deletions,
        busy=busy,
        settling=settling,
        again=_worth_another_try(bench, known) if ask_again else (),
    )


def _worth_another_try(bench: Bench, known: Sequence[SourceState]) -> frozenset[str]:
    """Return files about which a DOI service did not answer, whose password is known now, or whose store was lost."""
    done = {state.source_id for state in known if state.state != "quarantined"}
    encrypted = {state.source_id for state in known if state.reason == ReasonCode.ENCRYPTED.value}
    opened = {source for source in encrypted if bench.password(source) is not None}
    return metadata_map.unanswered(bench, done) | opened | (_lost(bench) & done)


def _lost(bench: Bench) -> set[str]:
    """Return the sources that are noted in a collection which does not exist any more."""
    uri = bench.settings.store_uri
    noted = bench.manifest.rows(uri, bench.collection.name)
    if not noted or uri.lower().startswith("memory:"):
        return set()
    try:
        instance = bench.store.instance
    except StoreError:  # a store that is away is told of by searches and by whatever is to be written
        return set()
    return {row.source_id for row in noted if row.instance != instance}
