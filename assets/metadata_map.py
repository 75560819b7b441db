"""Asset `metadata_map`: bibliographic metadata with evidence, merged with the curated map."""

import dagster as dg

from assets.show import plain, table, words
from assets.stage_asset import StageAsset, Summary
from stackroom.stages.order import BY_NAME


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return the chosen values, completeness, and every candidate with where it was found."""
    authors = summary["authors"] or []
    return {
        "title": plain(summary["title"] or ""),
        "authors": plain("; ".join(authors) if isinstance(authors, list) else str(authors)),
        "year": dg.MetadataValue.text(str(summary["year"] or "")),
        "journal": plain(summary["journal"] or ""),
        "doi": dg.MetadataValue.text(str(summary["doi"] or "")),
        "complete": dg.MetadataValue.bool(summary["complete"]),
        "curated": dg.MetadataValue.bool(summary["curated"]),
        "tiers": words(summary["sources"]),
        "conflicts": dg.MetadataValue.int(len(summary["conflicts"])),
        "evidence": table(
            summary["evidence"],
            {"field": "string", "value": "string", "source": "string", "where": "string", "confidence": "float"},
        ),
    }


ASSET = StageAsset(
    stage=BY_NAME["metadata_map"],
    description="Title, authors, year, journal and DOI with the evidence for each, under the curated corrections.",
    kinds=frozenset({"json"}),
    show=show,
    checks={"map_lint": "Title, year, DOI and the other fields look plausible and are complete."},
    failure_check=("metadata_map", "map_lint"),
)
