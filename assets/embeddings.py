"""Asset `embeddings`: one vector per chunk."""

import dagster as dg

from assets.stage_asset import StageAsset, Summary
from stackroom.stages.order import BY_NAME


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return the model, the dimension, and how many vectors came from the cache."""
    return {
        "model": dg.MetadataValue.text(summary["model_key"]),
        "dimension": dg.MetadataValue.int(summary["dimension"]),
        "vectors": dg.MetadataValue.int(summary["vectors"]),
        "reused": dg.MetadataValue.int(summary["reused"]),
        "new": dg.MetadataValue.int(summary["new"]),
    }


ASSET = StageAsset(
    stage=BY_NAME["embeddings"],
    description="A vector for every chunk, kept apart from the store so that moving a store embeds nothing again.",
    kinds=frozenset({"huggingface", "parquet"}),
    show=show,
    checks={"vectors_valid": "Vectors are finite, non-zero, of the right dimension, one per chunk."},
    failure_check=("embeddings", "vectors_valid"),
)
