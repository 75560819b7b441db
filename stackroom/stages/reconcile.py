"""Comparing a corpus's folder with the ledger: look at the folder, work out revisions, make the plan."""

import time
from collections.abc import Collection

from stackroom.metadata_map.renamed import remember_contents
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
        ask_again: also process files about which a DOI service did not answer. Not for the sensor: it would ask a
            service that is down twice a minute.

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
        unanswered=metadata_map.unanswered(bench, hashes) if ask_again else (),
    )
