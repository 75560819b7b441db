"""Asset `drift_report`: do the stores hold what the artefacts say? A report and a check, on a weekly schedule."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.show import markdown_table, table
from assets.stage_asset import asset_key, pool_name
from resources.bench import KINDS, bench_of, resource_key
from stackroom.config import Config
from stackroom.doctor import examine, repair
from stackroom.identity import display_name
from stackroom.words import count


class DriftConfig(dg.Config):
    """Launchpad options of the drift report."""

    repair: bool = False


def drift_asset(config: Config, corpus: str) -> dg.AssetsDefinition:
    """Return the drift report of a corpus."""
    settings = config  # the asset's own parameter has to be called `config`

    @dg.asset(
        name="drift_report",
        key_prefix=[corpus],
        group_name=corpus,
        owners=["team:library"],
        kinds={"json"},
        tags={"stackroom/corpus": corpus},
        deps=[asset_key(corpus, "bm25_index")],
        description="Compares ledger, manifest, vector store and keyword index with the artefacts; mends on request.",
        required_resource_keys={resource_key(corpus, kind) for kind in KINDS},
        pool=pool_name(config, corpus),
        check_specs=[
            dg.AssetCheckSpec(
                "no_drift",
                asset=asset_key(corpus, "drift_report"),
                description="No row of any store is missing, extra, foreign or altered.",
            )
        ],
    )
    def drift_report(context: dg.AssetExecutionContext, config: DriftConfig) -> Iterator[Any]:
        resources = {kind: getattr(context.resources, resource_key(corpus, kind)) for kind in KINDS}
        with bench_of(settings, corpus, resources) as bench:
            problems = examine(bench)
            left = repair(bench, problems) if config.repair else problems
        rows = [{**problem.to_json(), "source": display_name(problem.source_id or "")} for problem in problems]
        columns = {"check": "string", "kind": "string", "source": "string", "message": "string"}
        yield dg.MaterializeResult(
            metadata={
                "problems": dg.MetadataValue.int(len(problems)),
                "left": dg.MetadataValue.int(len(left)),
                "repaired": dg.MetadataValue.bool(config.repair),
                "found": table(rows, columns),
            }
        )
        yield dg.AssetCheckResult(
            check_name="no_drift",
            passed=not left,
            description="none"
            if not left
            else f"{count(len(left), 'problem')}; materialize this asset with `repair: true` to mend",
            metadata={"problems": dg.MetadataValue.md(markdown_table(rows, list(columns)))},
        )

    return drift_report
