"""Asset `retrieval_quality`: how well a corpus with a file of questions is searched. Figures and a check."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from assets.show import table
from assets.stage_asset import asset_key, pool_name
from stackroom.config import Config
from stackroom.retrieval.question_files import measure

NAME = "retrieval_quality"

COLUMNS = {
    "side": "string",
    "ndcg_at_10": "float",
    "recall_at_100": "float",
    "mrr": "float",
    "latency_ms_p50": "float",
    "latency_ms_p95": "float",
}


def evaluation_assets(config: Config, corpus: str) -> list[dg.AssetsDefinition]:
    """Return the evaluation of a corpus; nothing where the settings name no questions."""
    if config.corpus(corpus).evaluation is None:
        return []

    @dg.asset(
        name=NAME,
        key_prefix=[corpus],
        group_name=corpus,
        owners=["team:library"],
        tags={"stackroom/corpus": corpus},
        deps=[asset_key(corpus, "stores_config")],
        description="Answers to the corpus's questions, compared with the known ones: each side alone, and both fused.",
        pool=pool_name(config, corpus),
        check_specs=[
            dg.AssetCheckSpec(
                "good_enough",
                asset=asset_key(corpus, NAME),
                description="nDCG@10 of the fused ranking is not below `min_ndcg` of the settings.",
            )
        ],
    )
    def retrieval_quality(context: dg.AssetExecutionContext) -> Iterator[Any]:
        report = measure(config, corpus)
        for warning in report.evaluation.warnings:
            context.log.warning(warning)
        sides = [dict(vars(side)) for side in report.evaluation.sides]
        plotted = {
            f"{side['side']}_{name}": dg.MetadataValue.float(side[name])
            for side in sides
            for name in COLUMNS
            if name != "side"
        }
        yield dg.MaterializeResult(
            metadata={
                "questions": dg.MetadataValue.int(sides[0]["questions"]),
                "sides": table(sides, COLUMNS),
                "warnings": dg.MetadataValue.int(len(report.evaluation.warnings)),
                **plotted,
            }
        )
        yield dg.AssetCheckResult(check_name="good_enough", passed=report.passed, description=report.in_words)

    return [retrieval_quality]
