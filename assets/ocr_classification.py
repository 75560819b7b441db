"""Asset `ocr_classification`: which pages need OCR, and why."""

import dagster as dg

from assets.show import table
from assets.stage_asset import StageAsset, Summary
from stackroom.stages.order import BY_NAME


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return page counts, the decision with its reason, and the pages that are not plain text."""
    return {
        "pages": dg.MetadataValue.int(summary["pages"]),
        "image_pages": dg.MetadataValue.int(summary["image_pages"]),
        "garbled_pages": dg.MetadataValue.int(summary["garbled_pages"]),
        "needs_ocr": dg.MetadataValue.bool(summary["needs_ocr"]),
        "decision": dg.MetadataValue.text(summary["reason"]),
        "pages_not_text": table(
            summary["page_table"], {"page": "int", "decision": "string", "characters": "int", "reason": "string"}
        ),
    }


ASSET = StageAsset(
    stage=BY_NAME["ocr_classification"],
    description="Per page: text layer, scan or blank, with the evidence; decides which pages are read by OCR.",
    kinds=frozenset({"pypdfium2"}),
    show=show,
    failure_check=("source_document", "readable"),
)
