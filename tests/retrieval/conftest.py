"""A small project with two corpora, stored by the real backends with the bundled embedding model."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackroom.artefacts import StoredRow, embedded_text
from stackroom.config import Config, EmbedderSettings, load_config
from stackroom.embedding import Embedder
from stackroom.fingerprint import fingerprint
from stackroom.identity import chunk_id, readable_chunk_id
from stackroom.retrieval.sides import Embedders
from stackroom.state import StateFolder
from stackroom.stores.base import CollectionSpec, open_store
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.build import build_index
from stackroom.stores.bm25.corpus import write_corpus
from stackroom.stores.metadata import apply_store_metadata_policy
from stackroom.stores.naming import collection_name

Texts = Mapping[str, list[tuple[str, str, Mapping[str, Any]]]]
"""Source id to chunks: (heading, text, metadata)."""

ANIMALS: Texts = {
    "frogs.md": [
        ("Frogs", "A fanged frog of Sulawesi gives birth to live tadpoles.", {"year": 2014, "authors": ["Ana Ruiz"]}),
        ("Frogs", "Most frogs lay eggs in still water.", {"year": 2014}),
        ("Frogs", "Males call at night from the edge of ponds.", {"year": 2014}),
    ],
    "cats.md": [("Cats", "A cat sleeps for most of the day.", {"year": 1999, "tags": ["pets"]})],
    "copy/frogs.md": [("Frogs", "Most frogs lay eggs in still water.", {"year": 2020})],
}
ENGINES: Texts = {
    "steam.md": [("Steam", "A boiler turns water into steam that drives a piston.", {"year": 1850})],
    "jit.md": [("Compilers", "A trace-based just-in-time compiler records hot loops.", {"year": 2009})],
}


@pytest.fixture(scope="session")
def embedders() -> Iterator[Embedders]:
    opened = Embedders()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def embedder(embedders: Embedders) -> Embedder:
    return embedders.get(EmbedderSettings())


@pytest.fixture(scope="session")
def animals() -> Texts:
    return ANIMALS


@pytest.fixture(scope="session")
def engines() -> Texts:
    return ENGINES


@pytest.fixture(scope="session")
def make_project(embedder: Embedder) -> Callable[..., Config]:
    """Write a project and store its corpora; sides can be left out."""

    def make(
        root: Path,
        corpora: Mapping[str, Texts],
        settings: Mapping[str, Any] | None = None,
        without: frozenset[tuple[str, str]] = frozenset(),
    ) -> Config:
        body: dict[str, Any] = {"corpora": {}, "defaults": {"retrieval": dict(settings or {})}}
        for name in corpora:
            (root / name).mkdir(parents=True, exist_ok=True)
            body["corpora"][name] = {"folder": name, "vector_store": f"sqlite:{root / name}.db"}
        (root / "stackroom.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
        config = load_config(root, {})
        for name, texts in corpora.items():
            _store(config, name, texts, embedder, without)
        return config

    return make


@pytest.fixture(scope="session")
def project(make_project: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Config:
    return make_project(tmp_path_factory.mktemp("project"), {"animals": ANIMALS, "engines": ENGINES})


def _store(config: Config, corpus: str, texts: Texts, embedder: Embedder, without: frozenset[tuple[str, str]]) -> None:
    settings = config.corpus(corpus)
    identity = embedder.identity
    paths = []
    store = None
    if (corpus, "dense") not in without:
        spec = CollectionSpec(collection_name(corpus, identity.key), corpus, identity.key, identity.dimension)
        store = open_store(config.vector_store_uri(corpus), spec)
    for source, chunks in texts.items():
        rows = []
        vectors = embedder.embed([embedded_text([heading], text) for heading, text, _ in chunks])
        for index, (heading, text, metadata) in enumerate(chunks):
            stored = {
                "headings": [heading],
                "chunk_index": index,
                "readable_id": readable_chunk_id(source, index),
                "file_name": Path(source).name,
                "page_first": index + 1,
                "page_last": index + 1,
                **apply_store_metadata_policy(metadata),
            }
            rows.append(StoredRow(chunk_id(corpus, source, index), source, text, stored, vectors[index]))
        if store is not None:
            store.replace_source(source, rows)
        path = config.state_folder / "corpora" / corpus / f"{len(paths)}.pkl"
        made_for = fingerprint("bm25_corpus", 1, source=source)
        write_corpus(path, source, rows, open_analyser(settings.bm25), made_for)
        paths.append(path)
    if store is not None:
        store.close()
    if (corpus, "bm25") not in without:
        build_index(paths, StateFolder(config.state_folder).bm25_index(corpus), settings.bm25)
