"""From the outcomes of a file's stages to its line in the ledger."""

from collections.abc import Mapping
from typing import Any

from stackroom.biblio.extract import EXTRACTOR_VERSION
from stackroom.fingerprint import fingerprint
from stackroom.ledger import Verdict
from stackroom.outcome import Failed, Outcome, ReasonCode
from stackroom.postcheck import LINT_VERSION
from stackroom.precheck import PRECHECK_VERSION
from stackroom.stages.bench import Bench
from stackroom.stages.order import STAGES
from stackroom.stages.rows import POLICY_VERSION


def settings_digest(bench: Bench) -> str:
    """Return a hash of everything but the files and the curated map that the stores of a corpus depend on."""
    corpus, options = bench.settings.corpus, bench.conversion_options
    return fingerprint(
        "settings",
        1,
        stages={stage.name: stage.version for stage in STAGES},
        conversion=options.conversion_identity(),
        chunking=options.chunking_identity(),
        ocr=corpus.ocr.model_dump(mode="json"),
        precheck=PRECHECK_VERSION,
        limits={"file_mb": bench.settings.limits.max_file_mb, "pages": bench.settings.limits.max_pages},
        model=bench.model.key,
        store=bench.settings.store_uri,
        collection=bench.collection.name,
        analyser=bench.analyser.identity,
        metadata=corpus.metadata.model_dump(mode="json"),
        extractor=EXTRACTOR_VERSION,
        linter=LINT_VERSION,
        policy=POLICY_VERSION,
    ).digest


def revision(bench: Bench, source_id: str, content_hash: str, settings: str) -> str:
    """Return the revision a source should be at: its content, the settings, its curated metadata.

    Which variable holds its password counts, not whether that is set: a shell without it must not withdraw a file that
    was opened before.
    """
    return fingerprint(
        "revision",
        1,
        content_hash=content_hash,
        settings=settings,
        curated=bench.curated.entry(source_id),
        password_variable=bench.password_variable(source_id),
    ).digest


def outdated(bench: Bench) -> frozenset[str]:
    """Return the sources that were processed at another revision than the settings ask for now.

    The content on record counts: files are not read. No model is loaded either.
    """
    done = [state for state in bench.ledger.sources(bench.name) if state.revision is not None]
    if not done:
        return frozenset()
    settings = settings_digest(bench)
    return frozenset(
        state.source_id
        for state in done
        if state.revision != revision(bench, state.source_id, state.content_hash, settings)
    )


def judge(outcomes: Mapping[str, Outcome], at_revision: str | None) -> Verdict | None:
    """Return what to write into the ledger after running stages for a file.

    Args:
        outcomes: outcome by stage name, in the order in which the stages ran.
        at_revision: revision the file was processed at.

    Returns:
        None when nothing failed but not every stage ran: the file is then no further than before.
    """
    failed = next((outcome for outcome in outcomes.values() if isinstance(outcome, Failed)), None)
    if failed is not None:
        return _failed(failed, at_revision)
    if any(stage.name not in outcomes for stage in STAGES):
        return None
    summary: Mapping[str, Any] = getattr(outcomes["chunks"], "summary", {})
    missing = tuple(summary.get("missing_pages") or ())
    return Verdict(
        state="partial" if missing else "searchable",
        revision=at_revision,
        reason=ReasonCode.PARTIAL.value if missing else None,
        message=f"pages not read: {', '.join(map(str, missing))}" if missing else None,
        chunks=summary.get("chunks"),
        pages=summary.get("pages"),
        missing_pages=missing,
    )


def _failed(failed: Failed, at_revision: str | None) -> Verdict:
    # A file that failed for a passing reason (a store that was down) stays pending and is tried again next time.
    return Verdict(
        state="pending" if failed.retryable else "quarantined",
        revision=at_revision,
        reason=failed.reason.value,
        message=failed.message,
        remedy=failed.remedy,
    )
