"""What a sensor and a schedule see when they look at a folder, of documents or of records.

The process that evaluates them lives for weeks, while every run loads the settings afresh. So every look reads them
again, too: ``stackroom.yaml`` may have been edited, and a corpus moved to another store.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from resources.bench import bench_of, default_resources
from resources.records import record_bench_of, record_resources
from stackroom.config import STATE_VARIABLE, Config, load_config
from stackroom.errors import ConfigError, RecordError, SourceError, StackroomError
from stackroom.plan import Plan
from stackroom.records.ingest import plan_records
from stackroom.records.naming import corpus_of
from stackroom.stages.corpus import index_is_behind
from stackroom.stages.reconcile import plan_corpus

CANNOT_LOOK = (ConfigError, RecordError, SourceError)
"""What a person has to put right before anything can be seen; :func:`why_not` says it."""

RELOAD = "stackroom.yaml has changed in corpora or schedules: press *Reload definitions* above the graph to see it"


@dataclass(frozen=True)
class Seen:
    """What there is to do, and whether the corpus-wide assets are behind."""

    plan: Plan
    version: int
    """Number of the ledger's state; the sensor's cursor."""
    behind: bool
    settings: Config
    """The settings at this look."""
    outdated: bool = False
    """Whether corpora or schedules are not what was loaded; only loading the code location again shows them."""


Look = Callable[[set[str]], Seen]
"""Looks at the folder, given the sources that runs in flight are working on.

Raises :class:`~stackroom.errors.StackroomError` when the folder or what belongs to it cannot be read.
"""


def looks(config: Config, *, settle: bool = False, ask_again: bool = False) -> dict[str, Look]:
    """Return how to look at every corpus and every record set, by the name it has in ledger and partitions.

    Args:
        config: the settings as they were loaded.
        settle: leave files that were modified a moment ago for the next look.
        ask_again: as :func:`~stackroom.stages.reconcile.plan_corpus` has it.
    """
    return {
        **{corpus: _at_corpus(config, corpus, settle=settle, ask_again=ask_again) for corpus in config.corpora},
        **{corpus_of(name): _at_records(config, name, settle=settle) for name in config.records},
    }


def why_not(error: StackroomError) -> str:
    """Return what a tick says when nothing can be seen."""
    what = "the settings cannot be used" if isinstance(error, ConfigError) else "the folder cannot be read"
    return f"{what}, so nothing was changed: {error}"


def _at_corpus(loaded: Config, corpus: str, *, settle: bool, ask_again: bool) -> Look:
    def look(busy: set[str]) -> Seen:
        config = _settings_now(loaded)
        if corpus not in config.corpora:
            raise ConfigError(f"there is no corpus {corpus!r} any more; {RELOAD}")
        seconds = config.schedules.settle_seconds if settle else 0.0
        with bench_of(config, corpus, default_resources(config, corpus)) as bench:
            planned = plan_corpus(bench, busy=busy, settle_seconds=seconds, ask_again=ask_again)
            version, behind = bench.ledger.version(corpus), index_is_behind(bench)
        return Seen(planned, version, behind, config, _built_from(loaded) != _built_from(config))

    return look


def _at_records(loaded: Config, name: str, *, settle: bool) -> Look:
    def look(busy: set[str]) -> Seen:
        config = _settings_now(loaded)
        if name not in config.records:
            raise ConfigError(f"there is no record set {name!r} any more; {RELOAD}")
        seconds = config.schedules.settle_seconds if settle else 0.0
        with record_bench_of(config, name, record_resources(config, name)) as bench:
            planned = plan_records(bench, busy=busy, settle_seconds=seconds)
            version, behind = bench.ledger.version(bench.name), bench.ledger.needs_index(bench.name)
        return Seen(planned, version, behind, config, _built_from(loaded) != _built_from(config))

    return look


def _settings_now(loaded: Config) -> Config:
    """Read the settings again, for the same state folder."""
    return load_config(loaded.project_folder, {**os.environ, STATE_VARIABLE: str(loaded.state_folder)})


def _built_from(config: Config) -> Any:
    """Return the settings that definitions are made from, and not only runs and looks."""
    measured = {name for name, corpus in config.corpora.items() if corpus.evaluation is not None}
    clock = config.schedules.model_dump(exclude={"settle_seconds", "partitions_per_run"})
    return set(config.corpora), set(config.records), measured, clock
