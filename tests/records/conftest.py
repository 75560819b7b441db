"""A project with one record set, and ways to ingest and to ask it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from stackroom.config import Config, EmbedderSettings, load_config
from stackroom.embedding import open_embedder
from stackroom.embedding.cache import VectorCache
from stackroom.embedding.cached import CachedEmbedder
from stackroom.records.bench import RecordBench, RecordBenchSettings
from stackroom.records.ingest import ingest_records
from stackroom.records.search import RecordSearcher
from stackroom.retrieval.sides import Embedders
from tests.records.generator import write


@pytest.fixture(scope="session")
def embedders() -> Iterator[Embedders]:
    opened = Embedders()
    yield opened
    opened.close()


class Kept:
    """The model behind an embedder, which outlives the embedders that use it: loading it takes seconds."""

    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        return getattr(self._model, name)

    def close(self):
        """Leave the model open."""


@pytest.fixture(scope="session")
def model() -> Kept:
    return Kept(open_embedder(EmbedderSettings())._model)


@dataclass
class Plant:
    """A record set called `plant`."""

    root: Path
    embedders: Embedders
    model: Kept

    @property
    def folder(self) -> Path:
        return self.root / "jsonl"

    @property
    def config(self) -> Config:
        return load_config(self.root, {"STACKROOM_STATE": str(self.root / "state")})

    def settings(self, **more) -> None:
        body = {"folder": "jsonl", "vector_store": f"sqlite:{self.root}/state/records.db", **more}
        (self.root / "stackroom.yaml").write_text(yaml.safe_dump({"records": {"plant": body}}))

    def write(self, name: str, rows: list[dict]) -> Path:
        return write(self.folder / name, rows)

    def bench(self) -> RecordBench:
        return RecordBench(
            RecordBenchSettings.of(self.config, "plant"),
            open_embedder=lambda settings: CachedEmbedder(self.model, VectorCache(settings.state.embedding_cache)),
        )

    def ingest(self, **options) -> dict:
        with self.bench() as bench:
            return ingest_records(bench, **options)

    def searcher(self) -> RecordSearcher:
        return RecordSearcher(self.config, "plant", self.embedders)

    def ask(self, *arguments, **options):
        with self.searcher() as searcher:
            return searcher.query_doc_type(*arguments, **options)


@pytest.fixture
def plant(tmp_path, embedders, model) -> Plant:
    made = Plant(tmp_path, embedders, model)
    made.folder.mkdir()
    made.settings()
    return made


@pytest.fixture
def record() -> Callable[..., dict]:
    def make(record_id: str, text: str = "pump seal leak", doc_type="CR", **metadata) -> dict:
        return {
            "record_id": record_id,
            "doc_id": record_id.partition("::")[0],
            "doc_type": doc_type,
            "chunk_index": 0,
            "embedding_text": text,
            "metadata": metadata,
            "provenance": {},
        }

    return make
