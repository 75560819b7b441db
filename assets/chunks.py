"""Asset `chunks`: the converted source, cut into token-bounded pieces."""

import dagster as dg

from assets.show import escape, table, words
from assets.stage_asset import StageAsset, Summary
from stackroom.stages.order import BY_NAME


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return counts, the token histogram, the lost-text ratio, the converter and the first chunks."""
    return {
        "chunk_count": dg.MetadataValue.int(summary["chunks"]),
        "tokens": dg.MetadataValue.int(summary["tokens"]),
        "longest_chunk_tokens": dg.MetadataValue.int(summary["longest_chunk_tokens"]),
        "lost_text_ratio": dg.MetadataValue.float(float(summary["lost_text_ratio"] or 0.0)),
        "pages": dg.MetadataValue.int(summary["pages"]),
        "ocr_pages": dg.MetadataValue.int(len(summary["ocr_pages"])),
        "missing_pages": words(list(summary["missing_pages"])),
        "seconds": dg.MetadataValue.float(float(summary["seconds"])),
        "kinds": words(summary["kinds"]),
        "token_histogram": table(summary["token_histogram"], {"tokens": "string", "chunks": "int"}),
        "first_chunks": dg.MetadataValue.md(
            "\n\n".join(
                f"**{escape(' > '.join(chunk['headings']) or '(no heading)')}**\n\n> {escape(chunk['text'], 600)}"
                for chunk in summary["first_chunks"]
            )
        ),
        "converter": dg.MetadataValue.json(summary["converter"]),
    }


ASSET = StageAsset(
    stage=BY_NAME["chunks"],
    description="The document converted by docling and cut into chunks the embedding model can read whole.",
    kinds=frozenset({"docling", "parquet"}),
    show=show,
    checks={
        "parses": "Every page was read.",
        "within_token_limit": "No chunk is longer than the embedding model reads.",
        "no_text_lost": "The words of the text layer (or of OCR) appear in the chunks.",
    },
    failure_check=("chunks", "parses"),
)
