"""What a sensor and a schedule see when they look at a folder, of documents or of records."""

from collections.abc import Callable
from dataclasses import dataclass

from resources.bench import bench_of, default_resources
from resources.records import record_bench_of, record_resources
from stackroom.config import Config
from stackroom.plan import Plan
from stackroom.records.ingest import plan_records
from stackroom.records.naming import corpus_of
from stackroom.stages.corpus import index_is_behind
from stackroom.stages.reconcile import plan_corpus


@dataclass(frozen=True)
class Seen:
    """What there is to do, and whether the corpus-wide assets are behind."""

    plan: Plan
    version: int
    """Number of the ledger's state; the sensor's cursor."""
    behind: bool


Look = Callable[[set[str]], Seen]
"""Looks at the folder, given the sources that runs in flight are working on.

Raises :class:`~stackroom.errors.StackroomError` when the folder or what belongs to it cannot be read.
"""


def looks(config: Config, settle_seconds: float = 0.0, ask_again: bool = False) -> dict[str, Look]:
    """Return how to look at every corpus and every record set, by the name it has in ledger and partitions.

    Args:
        config: settings.
        settle_seconds: how long ago a file must have been modified to be taken for finished.
        ask_again: take files about which a DOI service did not answer for files to process.
    """
    return {
        **{corpus: _at_corpus(config, corpus, settle_seconds, ask_again) for corpus in config.corpora},
        **{corpus_of(name): _at_records(config, name, settle_seconds) for name in config.records},
    }


def _at_corpus(config: Config, corpus: str, settle_seconds: float, ask_again: bool) -> Look:
    def look(busy: set[str]) -> Seen:
        with bench_of(config, corpus, default_resources(config, corpus)) as bench:
            planned = plan_corpus(bench, busy=busy, settle_seconds=settle_seconds, ask_again=ask_again)
            return Seen(planned, bench.ledger.version(corpus), index_is_behind(bench))

    return look


def _at_records(config: Config, name: str, settle_seconds: float) -> Look:
    def look(busy: set[str]) -> Seen:
        with record_bench_of(config, name, record_resources(config, name)) as bench:
            planned = plan_records(bench, busy=busy, settle_seconds=settle_seconds)
            return Seen(planned, bench.ledger.version(bench.name), bench.ledger.needs_index(bench.name))

    return look
