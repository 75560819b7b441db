"""Asset `near_duplicates`: which documents of a corpus say mostly the same. A table and a check, looked at weekly."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.events import SEVERITIES
from assets.show import markdown_table, table
from assets.stage_asset import asset_key, pool_name
from resources.bench import KINDS, bench_of, resource_key
from stackroom.config import Config
from stackroom.identity import display_name
from stackroom.outcome import Unchanged
from stackroom.stages.near_duplicates import find_near_duplicates

NAME = "near_duplicates"


def near_duplicates_asset(config: Config, corpus: str) -> dg.AssetsDefinition:
    """Return the near-duplicates of a corpus."""

    @dg.asset(
        name=NAME,
        key_prefix=[corpus],
        group_name=corpus,
        owners=["team:library"],
        kinds={"json"},
        tags={"stackroom/corpus": corpus},
        deps=[dg.AssetDep(asset_key(corpus, "vector_collection"), partition_mapping=dg.AllPartitionMapping())],
        description="Pairs of documents most of whose passages resemble each other: versions, scans, translations.",
        required_resource_keys={resource_key(corpus, kind) for kind in KINDS},
        pool=pool_name(config, corpus),
        check_specs=[
            dg.AssetCheckSpec(
                "no_near_duplicates",
                asset=asset_key(corpus, NAME),
                description="No two documents say mostly the same; else which, and how much of the shorter one.",
            )
        ],
    )
    def near_duplicates(context: dg.AssetExecutionContext) -> Iterator[Any]:
        resources = {kind: getattr(context.resources, resource_key(corpus, kind)) for kind in KINDS}
        with bench_of(config, corpus, resources) as bench:
            outcome = find_near_duplicates(bench)
        pairs = [
            {**pair, "first": display_name(pair["first"]), "second": display_name(pair["second"])}
            for pair in outcome.summary["pairs"]
        ]
        columns = {"first": "string", "second": "string", "share": "float", "similarity": "float"}
        yield dg.MaterializeResult(
            metadata={
                "documents": dg.MetadataValue.int(outcome.summary["sources"]),
                "pairs": dg.MetadataValue.int(len(pairs)),
                "found": table(pairs, columns),
                "unchanged": dg.MetadataValue.bool(isinstance(outcome, Unchanged)),
            },
            data_version=dg.DataVersion(outcome.fingerprint),
        )
        for check in outcome.checks:
            yield dg.AssetCheckResult(
                check_name=check.name,
                passed=check.passed,
                severity=SEVERITIES[check.severity],
                description=check.message,
                metadata={"pairs": dg.MetadataValue.md(markdown_table(pairs, list(columns)))},
            )

    return near_duplicates
