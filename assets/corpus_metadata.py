"""How the corpus-wide assets are shown, and their events when a per-file run refreshes them at its end."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from assets.events import SEVERITIES
from assets.pointers import Pointers
from assets.show import markdown_table, plain, table, words
from assets.stage_asset import asset_key
from resources.stores import shown_uri
from stackroom.config import Config
from stackroom.identity import display_name
from stackroom.outcome import CheckResult, Produced, Unchanged
from stackroom.stages.bench import Bench
from stackroom.stages.corpus import refresh_stores, write_stores_config
from stackroom.stages.corpus_lint import lint_whole_corpus
from stackroom.stages.serving import building


def refresh_events(
    config: Config, bench: Bench, pointers: Pointers
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """Refresh keyword index, corpus lint report and stores JSON, and yield what a run logs about it."""
    corpus = bench.name
    index, _ = refresh_stores(bench)
    yield _materialization(corpus, "bm25_index", index, index_metadata(index))
    lint = lint_whole_corpus(bench)
    yield _materialization(corpus, "corpus_lint_report", lint, lint_metadata(lint))
    for check in lint.checks:
        yield dg.AssetCheckEvaluation(
            asset_key=asset_key(corpus, "corpus_lint_report"),
            check_name=check.name,
            passed=check.passed,
            severity=SEVERITIES[check.severity],
            description=check.message,
            metadata=check_metadata(check),
            target_materialization_data=pointers.target("corpus_lint_report", None),
        )
    yield dg.AssetMaterialization(
        asset_key(corpus, "stores_config"), metadata=stores_metadata(config, bench, write_stores_config(config))
    )


def index_metadata(outcome: Produced | Unchanged) -> dict[str, dg.MetadataValue]:
    """Return what the UI shows of the keyword index."""
    shown = {name: _figure(value) for name, value in outcome.summary.items()}
    return {**shown, "unchanged": dg.MetadataValue.bool(isinstance(outcome, Unchanged))}


def lint_metadata(outcome: Produced | Unchanged) -> dict[str, dg.MetadataValue]:
    """Return what the UI shows of the corpus lint report: counts to plot, and tables with the worst first."""
    summary = outcome.summary
    worst = [{**row, "source": display_name(row["source_id"])} for row in summary["worst"]]
    return {
        "sources": dg.MetadataValue.int(summary["sources"]),
        "chunks": dg.MetadataValue.int(summary["chunks"]),
        "errors": dg.MetadataValue.int(summary["errors"]),
        "warnings": dg.MetadataValue.int(summary["warnings"]),
        "searchable": dg.MetadataValue.int(summary["states"].get("searchable", 0)),
        "quarantined": dg.MetadataValue.int(summary["states"].get("quarantined", 0)),
        "worst_first": table(worst, {"source": "string", "errors": "int", "warnings": "int", "chunks": "int"}),
        "across_files": table(summary["across"], {"severity": "string", "rule": "string", "message": "string"}),
        "unchanged": dg.MetadataValue.bool(isinstance(outcome, Unchanged)),
    }


def check_metadata(check: CheckResult) -> dict[str, dg.MetadataValue]:
    """Return what the UI shows of the check `nothing_quarantined`: which files, why, and how to try again."""
    columns = ["source_id", "reason", "message", "remedy"]
    return {
        "files": dg.MetadataValue.md(markdown_table(check.details["files"], columns)),
        "retry": plain(check.details["retry"]),
    }


def stores_metadata(config: Config, bench: Bench, content: Mapping[str, Any]) -> dict[str, dg.MetadataValue]:
    """Return what the UI shows of the stores JSON, and of a collection that is being built."""
    domain = content["domains"].get(bench.name, {})
    this = json.dumps(domain, ensure_ascii=False)
    for uri in (config.vector_store_uri(bench.name), *(store["path"] for store in domain.get("vector_stores", []))):
        this = this.replace(uri, shown_uri(uri))
    state = building(bench)
    return {
        "building": words(state.in_words() if state else "no: the collection of the settings is in use"),
        "path": dg.MetadataValue.path(str(bench.settings.state.stores_config)),
        "domains": dg.MetadataValue.int(len(config.corpora)),
        "this_corpus": dg.MetadataValue.json(json.loads(this)),
    }


def _materialization(
    corpus: str, name: str, outcome: Produced | Unchanged, metadata: dict[str, dg.MetadataValue]
) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        asset_key(corpus, name), metadata=metadata, tags={"dagster/data_version": outcome.fingerprint}
    )


def _figure(value: Any) -> dg.MetadataValue:
    if isinstance(value, bool):
        return dg.MetadataValue.bool(value)
    if isinstance(value, int):
        return dg.MetadataValue.int(value)
    if isinstance(value, float):
        return dg.MetadataValue.float(value)
    return words(value)
