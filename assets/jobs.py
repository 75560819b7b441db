"""The jobs of a corpus: taking files through the stages, and refreshing what is made of all files together."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.indexes import INDEX_ASSETS
from assets.partitions import CORPUS_TAG
from assets.stage_asset import asset_key
from stackroom.stages.order import STAGES


def ingest_job_name(corpus: str) -> str:
    """Return the name of the per-file job of a corpus."""
    return f"ingest_{corpus}"


def refresh_job_name(corpus: str) -> str:
    """Return the name of the job that refreshes the corpus-wide assets."""
    return f"refresh_{corpus}"


def ingest_job(corpus: str, names: Sequence[str] = tuple(stage.name for stage in STAGES)) -> Any:
    """Return the job that takes files of a corpus through its stages; a run covers a range of partitions."""
    return dg.define_asset_job(
        ingest_job_name(corpus),
        selection=dg.AssetSelection.assets(*(asset_key(corpus, name) for name in names)),
        description=f"Take files of {corpus} through all stages.",
        tags={CORPUS_TAG: corpus},
    )


def refresh_job(corpus: str, names: Sequence[str] = INDEX_ASSETS) -> Any:
    """Return the job that removes vanished files and refreshes what is made of all files together."""
    return dg.define_asset_job(
        refresh_job_name(corpus),
        selection=dg.AssetSelection.assets(*(asset_key(corpus, name) for name in names)),
        description=f"Remove vanished files of {corpus}; refresh what is made of all its files.",
        tags={CORPUS_TAG: corpus},
    )


def drift_job(corpus: str, also: Sequence[str] = ()) -> Any:
    """Return the weekly job of a corpus: it compares the stores with the artefacts, and looks at the whole corpus.

    Args:
        corpus: corpus name.
        also: names of the other assets it makes.
    """
    return dg.define_asset_job(
        f"drift_{corpus}",
        selection=dg.AssetSelection.assets(*(asset_key(corpus, name) for name in ("drift_report", *also))),
        description=f"Compare the stores of {corpus} with its artefacts, and look for near-duplicates.",
        tags={CORPUS_TAG: corpus},
    )
