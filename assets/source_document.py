"""Asset `source_document`: which file is this? The stage itself is `stackroom.stages.source_document`."""

import dagster as dg

from assets.show import words
from assets.stage_asset import StageAsset, Summary
from stackroom.identity import display_name
from stackroom.stages.order import BY_NAME


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return size, type, hash, duplicates and a link to the file."""
    return {
        "path": dg.MetadataValue.path(display_name(summary["path"])),
        "size_bytes": dg.MetadataValue.int(summary["size"]),
        "type": dg.MetadataValue.text(summary["media"]),
        "modified": dg.MetadataValue.text(summary["modified"]),
        "content_hash": dg.MetadataValue.text(summary["content_hash"]),
        "duplicates": dg.MetadataValue.int(len(summary["duplicates"])),
        "duplicate_of": words(summary["duplicates"][:20], 2000),
    }


ASSET = StageAsset(
    stage=BY_NAME["source_document"],
    description="The file itself: size, type found by looking inside, content hash, exact duplicates.",
    kinds=frozenset({"file"}),
    show=show,
    checks={"readable": "The file can be opened and is of a type that can be converted."},
    failure_check=("source_document", "readable"),
)
