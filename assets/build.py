"""The composition root: settings in, Dagster definitions out."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets import (
    bm25_corpus,
    chunks,
    embeddings,
    lint_report,
    metadata_map,
    ocr_classification,
    source_document,
    vector_collection,
)
from assets.drift import drift_asset
from assets.indexes import index_assets
from assets.jobs import drift_job, ingest_job, refresh_job
from assets.per_file import Listener, per_file_assets
from resources.bench import default_resources, resource_key
from sensors.schedules import nightly_schedules
from sensors.source_changes import source_sensors
from stackroom.config import Config

STAGE_ASSETS = (
    source_document.ASSET,
    ocr_classification.ASSET,
    chunks.ASSET,
    metadata_map.ASSET,
    embeddings.ASSET,
    vector_collection.ASSET,
    bm25_corpus.ASSET,
    lint_report.ASSET,
)


def build_defs(
    config: Config, *, resource_overrides: Mapping[str, Any] | None = None, listener: Listener | None = None
) -> dg.Definitions:
    """Return the definitions of all corpora.

    Args:
        config: validated settings.
        resource_overrides: resources to put in place of the default ones, by kind (``embedder``: for every corpus) or
            by key (``papers__embedder``: for one).
        listener: told about every finished file.

    Raises:
        ValueError: an override names no resource; the message lists those there are.
    """
    resources = {
        resource_key(corpus, kind): resource
        for corpus in config.corpora
        for kind, resource in default_resources(config, corpus).items()
    }
    for name, resource in (resource_overrides or {}).items():
        keys = [key for key in resources if name in (key, key.rpartition("__")[2])]
        if not keys:
            raise ValueError(f"there is no resource {name!r} to override; known: {', '.join(sorted(resources))}")
        resources.update(dict.fromkeys(keys, resource))
    jobs = {corpus: (ingest_job(corpus), refresh_job(corpus)) for corpus in config.corpora}
    return dg.Definitions(
        assets=[
            definition
            for corpus in config.corpora
            for definition in (
                per_file_assets(config, corpus, STAGE_ASSETS, listener),
                *index_assets(config, corpus),
                drift_asset(config, corpus),
            )
        ],
        jobs=[*(job for pair in jobs.values() for job in pair), *(drift_job(corpus) for corpus in config.corpora)],
        sensors=source_sensors(config, jobs),
        schedules=nightly_schedules(config),
        resources=resources,
        # One process per run: the multiprocess executor costs 5.6 s for a four-step file, and models load once per run.
        executor=dg.in_process_executor,
    )
