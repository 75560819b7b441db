"""Asset `bm25_corpus`: the source's tokens for the keyword index."""

import dagster as dg

from assets.stage_asset import StageAsset, Summary
from stackroom.stages.order import BY_NAME


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return rows, tokens and the analyser."""
    shown: dict[str, dg.MetadataValue] = {
        "rows": dg.MetadataValue.int(summary["rows"]),
        "analyser": dg.MetadataValue.text(summary["analyser"]),
    }
    if "tokens" in summary:
        shown["tokens"] = dg.MetadataValue.int(summary["tokens"])
    return shown


ASSET = StageAsset(
    stage=BY_NAME["bm25_corpus"],
    description="The tokens of the file, as a pickle of plain values, from which the keyword index is built.",
    kinds=frozenset({"pickle"}),
    show=show,
    checks={"loads": "The pickle loads through the loader that refuses every class and function."},
    failure_check=("bm25_corpus", "loads"),
)
