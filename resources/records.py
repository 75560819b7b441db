"""All resources of a record set, and the bench they set up."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from resources.artefacts import ArtefactStorageResource
from resources.embedder import EmbedderResource
from resources.stores import VectorStoreResource
from stackroom.config import Config
from stackroom.records.bench import RecordBench, RecordBenchSettings, record_settings, record_store_uri

RECORD_KINDS = ("embedder", "vector_store", "artefacts")


def record_resources(config: Config, record_set: str) -> dict[str, Any]:
    """Return the resources of a record set by kind, with the values of ``stackroom.yaml``."""
    return {
        "embedder": EmbedderResource.of(record_settings(config, record_set)),
        "vector_store": VectorStoreResource.of(record_store_uri(config, record_set)),
        "artefacts": ArtefactStorageResource(state_folder=str(config.state_folder)),
    }


def record_bench_of(config: Config, record_set: str, resources: Mapping[str, Any]) -> RecordBench:
    """Return the bench of a record set, set up from resources by kind (launchpad values included)."""
    embedder, state = resources["embedder"], resources["artefacts"].create()
    settings = replace(
        RecordBenchSettings.of(config, record_set),
        records=embedder.apply(record_settings(config, record_set)),
        state=state,
        store_uri=resources["vector_store"].checked_uri(record_store_uri(config, record_set)),
    )
    return RecordBench(
        settings,
        open_embedder=lambda _: embedder.create(state.embedding_cache),
        open_store=resources["vector_store"].create,
    )
