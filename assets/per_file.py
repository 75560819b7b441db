"""The one loop over files and stages.

No stage logic, no store call and no settings stand here: outcomes come in, events go out. A file that fails costs
nobody else anything; the run fails once, at the end, with a table of the files that did not get through.
"""

import contextlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import dagster as dg

from assets.ahead import prepared
from assets.corpus_metadata import refresh_events
from assets.events import FailedFile, failure_events, run_failure, success_events
from assets.in_flight import other_runs
from assets.partitions import sources_partitions
from assets.pointers import Pointers
from assets.stage_asset import StageAsset, asset_specs, check_specs, pool_name
from resources.bench import KINDS, bench_of, resource_key
from stackroom.artefacts import load_table_libraries
from stackroom.config import Config
from stackroom.errors import ConfigError, ConversionError, StackroomError, StoreError
from stackroom.identity import source_of_partition
from stackroom.ledger import Verdict
from stackroom.outcome import Failed, Outcome, ReasonCode
from stackroom.space import why_not_writable
from stackroom.stages import chunks
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.order import BY_NAME
from stackroom.stages.removal import withdraw_source
from stackroom.stages.verdict import judge, revision, settings_digest

FORCE_TAG = "stackroom/force"
"""Run tag that makes every artefact again, even if nothing changed."""

REFRESH_TAG = "stackroom/refresh"
"""Run tag; ``false`` when whoever started the run refreshes the corpus-wide assets itself."""

TRANSIENT_ATTEMPTS = 3
"""Times a stage is tried when it fails for a passing reason (a store that is restarting)."""

Outcomes = dict[str, Outcome]
Listener = Callable[[str, Outcomes, Verdict | None], None]
"""Told about every finished file: source id, outcomes by stage, what went into the ledger."""


def per_file_assets(
    config: Config, corpus: str, stages: Sequence[StageAsset], listener: Listener | None = None
) -> dg.AssetsDefinition:
    """Return the per-file assets of a corpus: one op that takes every file of the run through the selected stages."""
    partitions = sources_partitions(corpus)
    checks = check_specs(corpus, stages, partitions)

    @dg.multi_asset(
        name=f"ingest_files_{corpus}",
        specs=asset_specs(corpus, stages),
        check_specs=checks,
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.multi_run(config.schedules.partitions_per_run),
        can_subset=True,
        required_resource_keys={resource_key(corpus, kind) for kind in KINDS},
        pool=pool_name(config, corpus),
    )
    def ingest_files(context: dg.AssetExecutionContext) -> Iterator[Any]:
        resources = {kind: getattr(context.resources, resource_key(corpus, kind)) for kind in KINDS}
        chosen = {key.path[-1] for key in context.selected_asset_keys}
        selected = [stage for stage in stages if stage.name in chosen]
        sources = [source_of_partition(key) for key in context.partition_keys]
        force = context.run.tags.get(FORCE_TAG) == "true"
        failed: list[FailedFile] = []
        pointers = Pointers(context.instance, corpus)
        with bench_of(config, corpus, resources) as bench:
            for source_id, outcomes in run_files(bench, selected, sources, force=force, listener=listener):
                yield from stage_events(corpus, selected, source_id, outcomes, failed, pointers)
            if "bm25_corpus" in chosen and refreshes(context, corpus):
                yield from refresh_events(config, bench, pointers)
        for check in checks:
            if check.key in context.selected_asset_check_keys:
                yield dg.Output(None, output_name=check.get_python_identifier())
        if failed:
            raise run_failure(failed, len(sources))

    return ingest_files


def refreshes(context: dg.AssetExecutionContext, corpus: str) -> bool:
    """Return whether this run refreshes the index: the last of several runs does it for all of them."""
    if context.run.tags.get(REFRESH_TAG) == "false":
        return False
    return not other_runs(context.instance, corpus, context.run.run_id)


def run_files(
    bench: Bench,
    stages: Sequence[StageAsset],
    sources: Sequence[str],
    *,
    force: bool = False,
    listener: Listener | None = None,
) -> Iterator[tuple[str, Outcomes]]:
    """Take every source through the stages, converting the next ones while this one is embedded and stored."""
    states = (bench.ledger.source(bench.name, source) for source in sources)  # all of the corpus would take longer
    hashes = {state.source_id: state.content_hash for state in states if state is not None}
    first = [stage for stage in stages if stage.stage.ahead]
    rest = [stage for stage in stages if not stage.stage.ahead]
    workers = _started(bench) if first and _converts(bench, sources, hashes, force=force) else 1
    settings = settings_digest(bench)
    whole = {stage.name for stage in stages} >= BY_NAME.keys()

    def prepare(source_id: str) -> Outcomes:
        unwritable = why_not_writable(bench.settings.state.root)
        if unwritable is not None and stages:
            return {stages[0].name: Failed(ReasonCode.CANNOT_WRITE, unwritable, retryable=True)}
        if whole:
            bench.ledger.begin(bench.name, source_id)
        return run_stages(FileWork(bench, source_id, force), first, {})

    for source_id, outcomes in prepared(sources, prepare, workers=workers, window=4 * workers):
        run_stages(FileWork(bench, source_id, force), rest, outcomes)
        digest = _digest(outcomes) or hashes.get(source_id)
        verdict = judge(outcomes, revision(bench, source_id, digest, settings) if digest else None)
        if verdict is not None:
            verdict = _settled(bench, source_id, verdict)
            bench.ledger.record(bench.name, source_id, verdict)
        if listener is not None:
            listener(source_id, outcomes, verdict)
        yield source_id, outcomes


def _converts(bench: Bench, sources: Sequence[str], hashes: Mapping[str, str], *, force: bool) -> bool:
    """Return whether a source needs a worker process. Where only metadata changed, starting one takes most of the time.

    Should one be needed after all, the first stage that does starts it.
    """
    return force or not all(chunks.is_made(FileWork(bench, source), hashes.get(source)) for source in sources)


def _started(bench: Bench) -> int:
    """Start the first worker process; meanwhile open the store and load what else the first file would wait for.

    Returns:
        How many files are prepared at once.

    Raises:
        ConfigError, ConversionError: no worker process can be started.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="converter") as aside:
        converter = aside.submit(lambda: bench.converter)
        with contextlib.suppress(Exception):  # whatever it is, the stage that needs the store says so, file by file
            load_table_libraries()
            _ = bench.store
        return converter.result().workers + 1


def _settled(bench: Bench, source_id: str, verdict: Verdict) -> Verdict:
    """Take a quarantined file out of the stores; a store that cannot be reached now leaves it for the next time."""
    if verdict.state == "quarantined":
        try:
            withdraw_source(bench, source_id)
        except StackroomError as error:
            return replace(verdict, state="pending", message=f"{verdict.message}; not yet out of the store: {error}")
    return verdict


def _digest(outcomes: Outcomes) -> str | None:
    """Return the content hash this run saw; the file may have changed since the ledger last looked."""
    document = outcomes.get("source_document")
    return None if document is None or isinstance(document, Failed) else str(document.summary["content_hash"])


def run_stages(work: FileWork, stages: Sequence[StageAsset], outcomes: Outcomes) -> Outcomes:
    """Run stages for one file until one fails; outcomes are added to ``outcomes``, which is returned."""
    for stage in stages:
        if any(isinstance(outcome, Failed) for outcome in outcomes.values()):
            break
        outcomes[stage.name] = _attempt(work, stage)
    return outcomes


def _attempt(work: FileWork, stage: StageAsset) -> Outcome:
    outcome: Outcome = Failed(ReasonCode.INTERNAL_ERROR, "not run")
    for _ in range(TRANSIENT_ATTEMPTS):
        outcome = _run_stage(work, stage)
        if not isinstance(outcome, Failed):
            return outcome
        unwritable = why_not_writable(work.bench.settings.state.root)
        if unwritable is not None:  # whatever else was said, this is why: in a worker, a cache, an embedded store
            return Failed(ReasonCode.CANNOT_WRITE, unwritable, {"first": outcome.message}, retryable=True)
        if not outcome.retryable:
            return outcome
    return outcome


def _run_stage(work: FileWork, stage: StageAsset) -> Outcome:
    """Run a stage; what it raises becomes a failure, retryable if it is not the file's fault."""
    try:
        return stage.stage.run(work)
    except StoreError as error:
        return Failed(ReasonCode.STORE_UNAVAILABLE, str(error), {"error": type(error).__name__}, retryable=True)
    except StackroomError as error:
        outside = isinstance(error, (ConfigError, ConversionError))  # no worker process can be started or prepared
        return Failed(ReasonCode.INTERNAL_ERROR, str(error), {"error": type(error).__name__}, retryable=outside)
    except OSError as error:
        return Failed(ReasonCode.CANNOT_WRITE, f"cannot write or read: {error}", retryable=True)
    except Exception as error:  # noqa: BLE001 - one file's defect must not cost the others; all evidence is kept
        evidence = {"type": type(error).__name__, "traceback": traceback.format_exc()}
        return Failed(ReasonCode.INTERNAL_ERROR, f"{type(error).__name__}: {error}", evidence)


def stage_events(
    corpus: str,
    stages: Sequence[StageAsset],
    source_id: str,
    outcomes: Outcomes,
    failed: list[FailedFile],
    pointers: Pointers,
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation | dg.AssetObservation]:
    """Yield what a run logs about a file; failures are added to ``failed``."""
    for number, stage in enumerate(stages, 1):
        outcome = outcomes.get(stage.name)
        if outcome is None:
            continue
        if isinstance(outcome, Failed):
            failed.append(FailedFile(source_id, stage.name, outcome))
            not_reached = [later.name for later in stages[number:]]
            yield from failure_events(corpus, stage, source_id, outcome, not_reached, pointers)
        else:
            yield from success_events(corpus, stage, source_id, outcome, pointers)
