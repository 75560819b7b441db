"""Asset `vector_collection`: the source's rows in the vector store."""

import dagster as dg

from assets.stage_asset import StageAsset, Summary
from stackroom.stages.order import BY_NAME


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return backend, collection and what was written."""
    return {
        "backend": dg.MetadataValue.text(summary["backend"]),
        "collection": dg.MetadataValue.text(summary["collection"]),
        "rows": dg.MetadataValue.int(summary["rows"]),
        "upserted": dg.MetadataValue.int(summary["upserted"]),
        "metadata_only": dg.MetadataValue.int(summary["metadata_only"]),
        "deleted": dg.MetadataValue.int(summary["deleted"]),
    }


ASSET = StageAsset(
    stage=BY_NAME["vector_collection"],
    description="The rows of the file in the vector store: replaced as a whole, or only their metadata.",
    kinds=frozenset({"vectordb"}),
    show=show,
    checks={"count_matches_manifest": "The store holds as many rows of the file as the manifest says."},
    failure_check=("vector_collection", "count_matches_manifest"),
)
