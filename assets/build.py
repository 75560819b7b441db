"""The composition root: settings in, Dagster definitions out."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets import (
    bm25_corpus,
    chunks,
    embeddings,
    evaluation,
    lint_report,
    metadata_map,
    near_duplicates,
    ocr_classification,
    source_document,
    vector_collection,
)
from assets.drift import drift_asset
from assets.indexes import index_assets
from assets.jobs import drift_job, ingest_job, refresh_job
from assets.per_file import Listener, per_file_assets
from assets.record_sets import RECORD_SET_ASSETS, record_set_assets
from assets.records import RECORD_ASSETS, record_assets
from assets.tidy import tidy_job, tidy_schedule
from resources.bench import default_resources, resource_key
from resources.records import record_resources
from sensors.schedules import nightly_schedules
from sensors.source_changes import source_sensors
from stackroom.config import Config
from stackroom.records.bench import check_record_sets
from stackroom.records.naming import corpus_of

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
    """Return the definitions of all corpora and record sets.

    Args:
        config: validated settings.
        resource_overrides: resources to put in place of the default ones, by kind (``embedder``: for every corpus) or
            by key (``papers__embedder``: for one).
        listener: told about every finished file.

    Raises:
        ConfigError: two record sets would write to the same collections.
        ValueError: an override names no resource; the message lists those there are.
    """
    check_record_sets(config)
    by_name = {
        **{corpus: default_resources(config, corpus) for corpus in config.corpora},
        **{corpus_of(name): record_resources(config, name) for name in config.records},
    }
    resources = {
        resource_key(corpus, kind): resource for corpus, kinds in by_name.items() for kind, resource in kinds.items()
    }
    for name, resource in (resource_overrides or {}).items():
        keys = [key for key in resources if name in (key, key.rpartition("__")[2])]
        if not keys:
            raise ValueError(f"there is no resource {name!r} to override; known: {', '.join(sorted(resources))}")
        resources.update(dict.fromkeys(keys, resource))
    jobs = {corpus: (ingest_job(corpus), refresh_job(corpus)) for corpus in config.corpora}
    stages = tuple(asset.name for asset in RECORD_ASSETS)
    for name in map(corpus_of, config.records):
        jobs[name] = (ingest_job(name, stages), refresh_job(name, RECORD_SET_ASSETS))
    return dg.Definitions(
        assets=[
            definition
            for corpus in config.corpora
            for definition in (
                per_file_assets(config, corpus, STAGE_ASSETS, listener),
                *index_assets(config, corpus),
                drift_asset(config, corpus),
                near_duplicates.near_duplicates_asset(config, corpus),
                *evaluation.evaluation_assets(config, corpus),
            )
        ]
        + [
            definition
            for name in config.records
            for definition in (record_assets(config, name, listener), *record_set_assets(config, name))
        ],
        jobs=[
            *(job for pair in jobs.values() for job in pair),
            *(_weekly_job(config, corpus) for corpus in config.corpora),
            tidy_job(config),
        ],
        sensors=source_sensors(config, jobs),
        schedules=[*nightly_schedules(config), tidy_schedule(config)],
        resources=resources,
        # One process per run: the multiprocess executor costs 5.6 s for a four-step file, and models load once per run.
        executor=dg.in_process_executor,
    )


def _weekly_job(config: Config, corpus: str) -> Any:
    measured = [evaluation.NAME] if config.corpus(corpus).evaluation is not None else []
    return drift_job(corpus, [near_duplicates.NAME, *measured])
