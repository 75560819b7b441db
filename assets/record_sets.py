"""Unpartitioned assets of a record set: vanished files, keyword indexes per document type, lint report."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.events import SEVERITIES
from assets.indexes import RemovalConfig
from assets.partitions import known_sources, remove_sources
from assets.pointers import Pointers
from assets.show import markdown_table, table
from assets.stage_asset import asset_key, freshness, pool_of_store
from resources.bench import resource_key
from resources.records import RECORD_KINDS, record_bench_of
from stackroom.config import Config
from stackroom.identity import display_name
from stackroom.outcome import CheckResult, Produced, Unchanged
from stackroom.records.bench import RecordBench, record_store_uri
from stackroom.records.collections import remove_file
from stackroom.records.ingest import build_indexes, lint_records, plan_records
from stackroom.records.naming import corpus_of

RECORD_SET_ASSETS = ("vanished_sources", "record_indexes", "records_lint_report")

CHECKS = {
    "record_indexes": {
        "counts_agree": "Every collection and its keyword index hold the records that are noted as stored.",
    },
    "records_lint_report": {
        "nothing_quarantined": "Every file is searchable; else which are not, why, and what to do.",
        "nothing_refused": "Every line of every file is stored.",
    },
}
"""Asset to its checks."""


def record_set_assets(config: Config, record_set: str) -> list[dg.AssetsDefinition]:
    """Return the unpartitioned assets of a record set."""
    corpus = corpus_of(record_set)
    common: dict[str, Any] = {
        "key_prefix": [corpus],
        "group_name": corpus,
        "owners": ["team:library"],
        "tags": {"stackroom/corpus": corpus},
        "required_resource_keys": {resource_key(corpus, kind) for kind in RECORD_KINDS},
        "pool": pool_of_store(record_store_uri(config, record_set)),
    }

    def all_files(name: str) -> dg.AssetDep:
        return dg.AssetDep(asset_key(corpus, name), partition_mapping=dg.AllPartitionMapping())

    def bench(context: dg.AssetExecutionContext) -> RecordBench:
        resources = {kind: getattr(context.resources, resource_key(corpus, kind)) for kind in RECORD_KINDS}
        return record_bench_of(config, record_set, resources)

    @dg.asset(
        name="vanished_sources",
        description="Files that are gone from the folder, removed from collections, ledger and partitions.",
        kinds={"file"},
        **common,
    )
    def vanished_sources(context: dg.AssetExecutionContext, config: RemovalConfig) -> dg.MaterializeResult:
        with bench(context) as opened:
            planned = plan_records(opened, confirm_deletions=config.confirm_deletions)
            rows = {} if config.dry_run else {source: remove_file(opened, source) for source in planned.delete}
            known = set(opened.ledger.source_ids(corpus))
        if not config.dry_run:
            orphans = [source for source in known_sources(context.instance, corpus) if source not in known]
            remove_sources(context.instance, corpus, [] if planned.refused else orphans)
        shown = [{"file": display_name(source), "rows": rows.get(source, 0)} for source in planned.delete]
        return dg.MaterializeResult(
            metadata={
                "removed": dg.MetadataValue.int(len(planned.delete)),
                "dry_run": dg.MetadataValue.bool(config.dry_run),
                "refused": dg.MetadataValue.text(planned.refused or ""),
                "files": table(shown, {"file": "string", "rows": "int"}),
            }
        )

    @dg.asset(
        name="record_indexes",
        freshness_policy=freshness(config),
        deps=[all_files("record_collections"), asset_key(corpus, "vanished_sources")],
        description="The keyword index of every document type, over the records of all files.",
        kinds={"bm25"},
        check_specs=_check_specs(corpus, "record_indexes"),
        **common,
    )
    def record_indexes(context: dg.AssetExecutionContext) -> Iterator[Any]:
        with bench(context) as opened:
            outcome = _indexed(opened)
        yield _result(outcome, index_metadata(outcome))
        yield from _check_results(outcome)

    @dg.asset(
        name="records_lint_report",
        freshness_policy=freshness(config),
        deps=[all_files("record_file"), asset_key(corpus, "vanished_sources")],
        description="Findings over all files, those with the most refused lines first.",
        kinds={"json"},
        check_specs=_check_specs(corpus, "records_lint_report"),
        **common,
    )
    def records_lint_report(context: dg.AssetExecutionContext) -> Iterator[Any]:
        with bench(context) as opened:
            outcome = lint_records(opened)
        yield _result(outcome, lint_metadata(outcome))
        yield from _check_results(outcome)

    return [vanished_sources, record_indexes, records_lint_report]


def refresh_events(
    bench: RecordBench, pointers: Pointers
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Refresh keyword indexes and lint report at the end of a per-file run, and yield what the run logs about it."""
    index = _indexed(bench)
    yield from _logged(bench.name, "record_indexes", index, index_metadata(index), pointers)
    lint = lint_records(bench)
    yield from _logged(bench.name, "records_lint_report", lint, lint_metadata(lint), pointers)


def index_metadata(outcome: Produced | Unchanged) -> dict[str, dg.MetadataValue]:
    """Return what the UI shows of the keyword indexes."""
    return {
        "records": dg.MetadataValue.int(outcome.summary["records"]),
        "types": dg.MetadataValue.json(outcome.summary["types"]),
        "unchanged": dg.MetadataValue.bool(isinstance(outcome, Unchanged)),
    }


def lint_metadata(outcome: Produced | Unchanged) -> dict[str, dg.MetadataValue]:
    """Return what the UI shows of the lint report."""
    summary = outcome.summary
    rows = [
        {"file": display_name(one["file"]), **finding} for one in summary["per_file"] for finding in one["findings"]
    ]
    columns = {"severity": "string", "rule": "string", "message": "string"}
    return {
        **{name: dg.MetadataValue.int(summary[name]) for name in ("files", "records", "refused")},
        "findings": table(rows, {"file": "string", **columns}),
        "across_files": table(summary["across"], columns),
        "unchanged": dg.MetadataValue.bool(isinstance(outcome, Unchanged)),
    }


def _indexed(bench: RecordBench) -> Produced | Unchanged:
    version = bench.ledger.version(bench.name)
    outcome = build_indexes(bench)
    bench.ledger.mark_indexed(bench.name, version)
    return outcome


def _check_specs(corpus: str, asset: str) -> list[dg.AssetCheckSpec]:
    return [
        dg.AssetCheckSpec(name, asset=asset_key(corpus, asset), description=description)
        for name, description in CHECKS[asset].items()
    ]


def _check_results(outcome: Produced | Unchanged) -> Iterator[dg.AssetCheckResult]:
    for check in outcome.checks:
        yield dg.AssetCheckResult(check_name=check.name, **_verdict(check))


def _verdict(check: CheckResult) -> dict[str, Any]:
    columns = ["source_id", "reason", "message", "remedy"]
    return {
        "passed": check.passed,
        "severity": SEVERITIES[check.severity],
        "description": check.message,
        "metadata": {"files": dg.MetadataValue.md(markdown_table(check.details.get("files", []), columns))},
    }


def _result(outcome: Produced | Unchanged, metadata: dict[str, dg.MetadataValue]) -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(outcome.fingerprint))


def _logged(
    corpus: str, name: str, outcome: Produced | Unchanged, metadata: dict[str, dg.MetadataValue], pointers: Pointers
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    key = asset_key(corpus, name)
    yield dg.AssetMaterialization(key, metadata=metadata, tags={"dagster/data_version": outcome.fingerprint})
    for check in outcome.checks:
        about = pointers.target(name, None)
        yield dg.AssetCheckEvaluation(
            asset_key=key, check_name=check.name, target_materialization_data=about, **_verdict(check)
        )
