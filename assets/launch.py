"""Running an ingestion from a terminal, in the same Dagster instance that the UI shows.

``python -m assets.launch ingest --corpus NAME`` is what ``stackroom ingest`` starts, and with ``--records NAME`` what
``stackroom records ingest`` starts. It prints one JSON object per
line on standard output; everything else (Dagster's log, library warnings) goes to standard error.
"""

import argparse
import contextlib
import ctypes
import functools
import gc
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.events import RunFailureReason
from dagster._core.storage.tags import RUN_FAILURE_REASON_TAG
from sqlalchemy.exc import SQLAlchemyError

warnings.filterwarnings("ignore", category=dg.PreviewWarning)

from assets.build import build_defs  # noqa: E402 - the filter must stand before definitions are built
from assets.in_flight import LAUNCHER_TAG, RANGE_END_TAG, RANGE_START_TAG, busy_sources, this_process  # noqa: E402
from assets.jobs import ingest_job_name, refresh_job_name  # noqa: E402
from assets.partitions import CORPUS_TAG, add_sources, known_sources  # noqa: E402
from assets.per_file import FORCE_TAG, REFRESH_TAG, Outcomes  # noqa: E402
from resources.bench import bench_of, default_resources  # noqa: E402
from resources.records import record_bench_of, record_resources  # noqa: E402
from stackroom.config import Config, load_config  # noqa: E402
from stackroom.errors import StackroomError  # noqa: E402
from stackroom.identity import partition_key  # noqa: E402
from stackroom.ledger import Ledger, Verdict  # noqa: E402
from stackroom.outcome import Failed, Outcome, Produced  # noqa: E402
from stackroom.plan import Plan, pages_to_do, ranges  # noqa: E402
from stackroom.records.doctor import overview  # noqa: E402
from stackroom.records.ingest import plan_records  # noqa: E402
from stackroom.records.naming import corpus_of  # noqa: E402
from stackroom.sources import WORTH_TELLING, Scan  # noqa: E402
from stackroom.space import why_not_writable  # noqa: E402
from stackroom.stages.corpus import index_is_behind  # noqa: E402
from stackroom.stages.reconcile import plan_corpus  # noqa: E402
from stackroom.stages.serving import building  # noqa: E402
from stackroom.state import StateFolder  # noqa: E402

QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
"""Dagster's console logger would print every event; the terminal shows our own progress instead."""

CONFIRMED = (("vanished_sources", "confirm_deletions"), ("bm25_index", "accept_losses"))
"""What `--confirm-deletions` confirms: asset and its option; record sets have the first one only."""

OLD_ANSWERS = "the old one answers searches until the new one is complete"

INTERRUPTED = RunFailureReason.UNEXPECTED_TERMINATION.value

MAX_NOTES = 20
"""Notes about a folder that are printed: a screenful."""

EXIT_FINE, EXIT_COULD_NOT_RUN, EXIT_SOME_FAILED = 0, 1, 2

Say = Callable[..., None]


class Tally:
    """What an ingestion did, counted while it runs."""

    def __init__(self, say: Say) -> None:
        """Count, and report every file through ``say``."""
        self.say = say
        self.converted = 0
        self.embedded = 0
        self.started = time.monotonic()

    def file(self, source_id: str, outcomes: Outcomes, verdict: Verdict | None) -> None:
        """Report a finished file."""
        self.converted += any(_is_new(outcomes.get(stage)) for stage in ("chunks", "record_file"))
        for stage, count in (("embeddings", "new"), ("record_collections", "embedded")):
            outcome = outcomes.get(stage)
            self.embedded += outcome.summary[count] if isinstance(outcome, Produced) else 0
        failed = next((outcome for outcome in outcomes.values() if isinstance(outcome, Failed)), None)
        self.say(
            "file",
            source_id=source_id,
            state=verdict.state if verdict else "pending",
            reason=verdict.reason if verdict else None,
            message=verdict.message if verdict else None,
            remedy=failed.remedy if failed else None,
            pages=verdict.pages if verdict else None,
            chunks=verdict.chunks if verdict else None,
        )


def _is_new(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Produced) and not outcome.summary.get("from_cache", False)


def main(arguments: list[str] | None = None) -> int:
    """Run an ingestion and return the exit code: 0 fine, 2 some files failed, 1 could not run."""
    options = _parser().parse_args(arguments)
    # Dagster captures the process's standard output per run, so the messages need a descriptor of their own.
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)

    def say(event: str, **values: Any) -> None:
        messages.write(json.dumps({"event": event, **values}, ensure_ascii=False) + "\n")

    config = None
    try:
        config = load_config(Path.cwd())
        return ingest(config, options, say)
    except (StackroomError, OSError, SQLAlchemyError) as error:  # the last one: Dagster's records cannot be written
        unwritable = None if config is None else why_not_writable(config.state_folder)
        say("error", message=unwritable or str(error))
        return EXIT_COULD_NOT_RUN
    except KeyboardInterrupt:
        say("error", message="interrupted; what is done is kept, and the same command goes on with the rest")
        return EXIT_COULD_NOT_RUN
    finally:
        messages.close()


def ingest(config: Config, options: argparse.Namespace, say: Say) -> int:
    """Bring a corpus or a record set into step with its folder and report what became of its files."""
    corpus: str = corpus_of(options.records) if options.records else options.corpus
    tally = Tally(say)
    instance = dg.DagsterInstance.get()
    with _bench(config, options) as bench:
        planned = (plan_records if options.records else functools.partial(plan_corpus, ask_again=True))(
            bench,
            force=options.force,
            retry_quarantined=options.retry,
            confirm_deletions=options.confirm_deletions,
            busy=(busy := busy_sources(instance, corpus)),
        )
        new = None if options.records else building(bench)
        behind = bench.ledger.needs_index(corpus) if options.records else index_is_behind(bench) or new is not None
        notes = _notes(bench.scan, [] if options.records else [str(problem) for problem in bench.curated.problems])
        pages = pages_to_do(planned, bench.ledger.sources(corpus))
        found = len(bench.scan.files)
    say(
        "plan",
        files=len(planned.process),
        unchanged=planned.unchanged,
        delete=len(planned.delete),
        pages=pages,
        found=found,
        held_back=len(planned.held_back),
        refused=planned.refused,
    )
    waiting = f"another run is working on {len(busy)} of the files; they are left to it" if busy else None
    for note in filter(None, [waiting, new and f"{new.in_words()}; {OLD_ANSWERS}", *notes]):
        say("note", message=note)
    if options.dry_run:
        for verb, sources in (("process", planned.process), ("delete", planned.delete)):
            for source in sources:
                say("note", message=f"would {verb} {source}")
        _report(config, corpus, tally, crashed=False)
        return EXIT_FINE
    definitions = build_defs(config, listener=tally.file)
    crashed = _run_files(definitions, instance, config, corpus, planned, options.force, say)
    if planned.process or planned.delete or behind:
        crashed |= not _run(
            definitions,
            refresh_job_name(corpus),
            instance,
            {CORPUS_TAG: corpus},
            {
                **QUIET,
                "ops": {
                    f"{corpus}__{asset}": {"config": {option: options.confirm_deletions}}
                    for asset, option in CONFIRMED[: 1 if options.records else None]
                },
            },
        )
    if new is not None:
        with _bench(config, options) as bench:
            state = building(bench)
        say("note", message=f"{state.in_words()}; {OLD_ANSWERS}" if state else "the new collection is in use now")
    refused_lines = _refused_lines(config, options) if options.records and not crashed else None
    return _report(config, corpus, tally, crashed=crashed, refused_lines=refused_lines)


def _refused_lines(config: Config, options: argparse.Namespace) -> int:
    with _bench(config, options) as bench:
        return overview(bench).refused


def _bench(config: Config, options: argparse.Namespace) -> Any:
    """Return the bench of what the options name; of records or of documents, which are planned alike."""
    if options.records:
        return record_bench_of(config, options.records, record_resources(config, options.records))
    return bench_of(config, options.corpus, default_resources(config, options.corpus))


def _notes(scan: Scan, map_problems: list[str]) -> list[str]:
    """Return what a person should know of the folder: mistakes in the curated map, and files that are left out."""
    left_out = [*scan.problems, *(entry for entry in scan.skipped if entry.reason in WORTH_TELLING)]
    notes = [*map_problems, *(f"skipped {entry.path}: {entry.reason}" for entry in left_out)]
    return notes if len(notes) <= MAX_NOTES else [*notes[:MAX_NOTES], f"… and {len(notes) - MAX_NOTES} more"]


def _run_files(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    config: Config,
    corpus: str,
    planned: Plan,
    force: bool,
    say: Say,
) -> bool:
    """Run every range of the plan; return whether a run broke for another reason than failed files."""
    add_sources(instance, corpus, list(planned.process))
    crashed = False
    for first, last in ranges(planned.process, known_sources(instance, corpus), config.schedules.partitions_per_run):
        tags = {
            RANGE_START_TAG: partition_key(first),
            RANGE_END_TAG: partition_key(last),
            CORPUS_TAG: corpus,
            REFRESH_TAG: "false",
            FORCE_TAG: "true" if force else "false",
        }
        say("run", first=first, last=last)
        succeeded = _run(definitions, ingest_job_name(corpus), instance, tags, QUIET)
        crashed |= not succeeded and not _some_failed(config, corpus)
    return crashed


def _run(
    definitions: dg.Definitions,
    job: str,
    instance: dg.DagsterInstance,
    tags: Mapping[str, str],
    run_config: Mapping[str, Any],
) -> bool:
    """Run a job in this process and return whether it succeeded.

    Raises:
        KeyboardInterrupt: it was interrupted, or cancelled in the UI. Dagster ends the run, and keeps to itself that
            the process was asked to end.
    """
    result = definitions.resolve_job_def(job).execute_in_process(
        instance=instance,
        tags={**tags, LAUNCHER_TAG: this_process()},
        run_config=dict(run_config),
        raise_on_error=False,
    )
    with contextlib.suppress(AttributeError, OSError):  # only glibc keeps what a run has freed, 80 MB of it
        ctypes.CDLL(None).malloc_trim(0)
    ended = instance.get_run_by_id(result.run_id)
    if ended is not None and (
        ended.status == dg.DagsterRunStatus.CANCELED or ended.tags.get(RUN_FAILURE_REASON_TAG) == INTERRUPTED
    ):
        raise KeyboardInterrupt
    return bool(result.success)


def _some_failed(config: Config, corpus: str) -> bool:
    return any(state.reason for state in Ledger(StateFolder(config.state_folder).ledger).sources(corpus))


def _report(config: Config, corpus: str, tally: Tally, *, crashed: bool, refused_lines: int | None = None) -> int:
    # What is gone from the folder and still on record was kept, and so answers searches like any other file.
    states = [
        state
        for state in Ledger(StateFolder(config.state_folder).ledger).sources(corpus)
        if state.present or state.state in ("searchable", "partial")
    ]
    failed = [
        {
            "source_id": state.source_id,
            "state": state.state,
            "reason": state.reason,
            "message": state.message,
            "remedy": state.remedy,
        }
        for state in states
        if state.state == "quarantined" or (state.state == "pending" and state.reason)
    ]
    pending = sum(state.state == "pending" for state in states)
    counts = {name: sum(state.state == name for state in states) for name in ("searchable", "partial", "quarantined")}
    if crashed:
        unwritable = why_not_writable(config.state_folder)
        tally.say("error", message=unwritable or "a run broke off; its log is in the Dagster UI (`make ui`, then Runs)")
        return EXIT_COULD_NOT_RUN
    tally.say(
        "done",
        ok=not (failed or pending),
        **counts,
        pending=pending,
        kept=sum(not state.present for state in states),
        refused_lines=refused_lines,
        failed=failed,
        converted=tally.converted,
        embedded=tally.embedded,
        chunks=sum(state.chunks or 0 for state in states),
        seconds=round(time.monotonic() - tally.started, 2),
    )
    return EXIT_SOME_FAILED if failed or pending else EXIT_FINE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m assets.launch")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("ingest", help="bring a corpus into step with its folder")
    target = command.add_mutually_exclusive_group(required=True)
    target.add_argument("--corpus", help="a corpus of documents")
    target.add_argument("--records", help="a record set")
    command.add_argument("--force", action="store_true", help="process every file again")
    command.add_argument("--retry", action="store_true", help="try quarantined files again")
    command.add_argument("--confirm-deletions", action="store_true", help="accept that most files are gone")
    command.add_argument("--dry-run", action="store_true", help="say what would be done")
    return parser


if __name__ == "__main__":
    code = main()
    gc.freeze()  # everything is closed; looking for cycles among a million objects on the way out takes a second
    sys.exit(code)
