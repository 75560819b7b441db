"""Unpartitioned assets of a corpus: what is made of all its files together.

They carry their own fingerprint over all sources: Dagster does not see staleness above 100 upstream partitions, and a
deleted partition triggers nothing. They run in a job of their own, so that one failed file does not keep the others
out of the index.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg
from pydantic import Field

from assets.corpus_metadata import check_metadata, index_metadata, lint_metadata, stores_metadata
from assets.events import SEVERITIES
from assets.in_flight import busy_sources
from assets.partitions import known_sources, remove_sources
from assets.show import plain, table
from assets.stage_asset import asset_key, freshness, pool_name
from resources.bench import KINDS, bench_of, resource_key
from stackroom.config import Config
from stackroom.identity import display_name
from stackroom.outcome import Produced, Unchanged
from stackroom.stages.bench import Bench
from stackroom.stages.corpus import refresh_stores, write_stores_config
from stackroom.stages.corpus_lint import lint_whole_corpus
from stackroom.stages.vanished import remove_vanished

INDEX_ASSETS = ("vanished_sources", "bm25_index", "corpus_lint_report", "stores_config")


class RemovalConfig(dg.Config):
    """Launchpad options of the removal of vanished files."""

    confirm_deletions: bool = False
    dry_run: bool = False


class IndexConfig(dg.Config):
    """Launchpad options of the keyword index, with which a new vector collection is put in use."""

    accept_losses: bool = Field(
        default=False,
        description="Put a new collection in use although most files are quarantined under the new settings.",
    )


def index_assets(config: Config, corpus: str) -> list[dg.AssetsDefinition]:
    """Return the unpartitioned assets of a corpus."""
    common: dict[str, Any] = {
        "key_prefix": [corpus],
        "group_name": corpus,
        "owners": ["team:library"],
        "tags": {"stackroom/corpus": corpus},
        "required_resource_keys": {resource_key(corpus, kind) for kind in KINDS},
        "pool": pool_name(config, corpus),
    }

    def all_files(name: str) -> dg.AssetDep:
        return dg.AssetDep(asset_key(corpus, name), partition_mapping=dg.AllPartitionMapping())

    def bench(context: dg.AssetExecutionContext) -> Bench:
        return bench_of(
            config, corpus, {kind: getattr(context.resources, resource_key(corpus, kind)) for kind in KINDS}
        )

    @dg.asset(
        name="vanished_sources",
        description="Files that are gone from the folder, removed from every store, the ledger and the partitions.",
        kinds={"file"},
        **common,
    )
    def vanished_sources(context: dg.AssetExecutionContext, config: RemovalConfig) -> dg.MaterializeResult:
        with bench(context) as opened:
            removal = remove_vanished(
                opened,
                confirm_deletions=config.confirm_deletions,
                busy=busy_sources(context.instance, corpus),
                dry_run=config.dry_run,
            )
            refused = removal.planned.refused
            orphans = _orphans(context.instance, corpus, opened) if not refused else []
            if not config.dry_run:
                remove_sources(context.instance, corpus, [*removal.sources, *orphans])
        shown = [{"source": display_name(source), "rows": removal.rows.get(source, 0)} for source in removal.sources]
        return dg.MaterializeResult(
            metadata={
                "removed": dg.MetadataValue.int(len(removal.sources)),
                "dry_run": dg.MetadataValue.bool(config.dry_run),
                "refused": dg.MetadataValue.text(refused or ""),
                "left_for_the_next_time": plain(removal.problem or ""),
                "sources": table(shown, {"source": "string", "rows": "int"}),
            }
        )

    @dg.asset(
        name="bm25_index",
        freshness_policy=freshness(config),
        deps=[all_files("bm25_corpus"), asset_key(corpus, "vanished_sources")],
        description="The keyword index over all files of the corpus, built from their tokens.",
        kinds={"bm25"},
        **common,
    )
    def bm25_index(context: dg.AssetExecutionContext, config: IndexConfig) -> dg.MaterializeResult:
        with bench(context) as opened:
            outcome, settled = refresh_stores(opened, accept_losses=config.accept_losses)
        for message in settled.in_words():
            context.log.info(message)
        return _result(outcome, index_metadata(outcome))

    @dg.asset(
        name="corpus_lint_report",
        freshness_policy=freshness(config),
        deps=[all_files("lint_report"), asset_key(corpus, "vanished_sources")],
        description="Findings over all files, worst first, and what only shows across files (duplicates).",
        kinds={"json"},
        check_specs=[
            dg.AssetCheckSpec(
                "nothing_quarantined",
                asset=asset_key(corpus, "corpus_lint_report"),
                description="Every file is searchable; else which are not, why, and how to try again.",
            )
        ],
        **common,
    )
    def corpus_lint_report(context: dg.AssetExecutionContext) -> Iterator[Any]:
        with bench(context) as opened:
            outcome = lint_whole_corpus(opened)
        yield _result(outcome, lint_metadata(outcome))
        for check in outcome.checks:
            yield dg.AssetCheckResult(
                check_name=check.name,
                passed=check.passed,
                severity=SEVERITIES[check.severity],
                description=check.message,
                metadata=check_metadata(check),
            )

    @dg.asset(
        name="stores_config",
        freshness_policy=freshness(config),
        deps=[all_files("vector_collection"), asset_key(corpus, "bm25_index")],
        description="The JSON that retrievers load: every corpus with its stores and filter fields.",
        kinds={"json"},
        **common,
    )
    def stores_config(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with bench(context) as opened:
            return dg.MaterializeResult(metadata=stores_metadata(config, opened, write_stores_config(config)))

    return [vanished_sources, bm25_index, corpus_lint_report, stores_config]


def _orphans(instance: dg.DagsterInstance, corpus: str, bench: Bench) -> list[str]:
    """Return sources that have a partition but no line in the ledger (left by an interrupted removal)."""
    known = set(bench.ledger.source_ids(corpus))
    return [source for source in known_sources(instance, corpus) if source not in known]


def _result(outcome: Produced | Unchanged, metadata: dict[str, dg.MetadataValue]) -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(outcome.fingerprint))
