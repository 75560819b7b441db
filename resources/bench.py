"""All resources of a corpus, and the bench they set up."""

from collections.abc import Mapping
from typing import Any

from resources.artefacts import ArtefactStorageResource
from resources.converter import ConverterResource
from resources.doi import DoiServicesResource
from resources.embedder import EmbedderResource
from resources.source_folder import SourceFolderResource
from resources.stores import Bm25StoreResource, VectorStoreResource
from stackroom.config import Config
from stackroom.stages.bench import Bench, BenchSettings

KINDS = ("source_folder", "converter", "embedder", "vector_store", "bm25_store", "artefacts", "doi_services")


def resource_key(corpus: str, kind: str) -> str:
    """Return the key under which a corpus's resource is known to Dagster."""
    return f"{corpus}__{kind}"


def default_resources(config: Config, corpus: str) -> dict[str, Any]:
    """Return the resources of a corpus by kind, with the values of ``stackroom.yaml``."""
    settings = config.corpus(corpus)
    return {
        "source_folder": SourceFolderResource.of(settings),
        "converter": ConverterResource.of(settings, config.limits),
        "embedder": EmbedderResource.of(settings),
        "vector_store": VectorStoreResource.of(config.vector_store_uri(corpus)),
        "bm25_store": Bm25StoreResource.of(settings),
        "artefacts": ArtefactStorageResource(state_folder=str(config.state_folder)),
        "doi_services": DoiServicesResource.of(settings),
    }


def bench_of(config: Config, corpus: str, resources: Mapping[str, Any]) -> Bench:
    """Return the bench of a corpus, set up from resources by kind (launchpad values included)."""
    settings = config.corpus(corpus)
    for kind in ("source_folder", "converter", "embedder", "bm25_store", "doi_services"):
        settings = resources[kind].apply(settings)
    embedder, state = resources["embedder"], resources["artefacts"].create()
    return Bench(
        BenchSettings(
            name=corpus,
            corpus=settings,
            limits=resources["converter"].limit_settings(),
            state=state,
            store_uri=resources["vector_store"].checked_uri(config.vector_store_uri(corpus)),
        ),
        open_converter=resources["converter"].create,
        open_embedder=lambda _: embedder.create(state.embedding_cache),
        open_store=resources["vector_store"].create,
    )
