"""Histories of a folder of documents, taken through the product's own code without Dagster's processes.

A :class:`Library` is a project whose folder, settings and curated map can be changed like a person would, brought into
step with :func:`reconcile`, and broken off in the middle by :class:`Interruption`. :func:`picture` is everything a
search depends on; two libraries with the same documents and settings must have the same picture.
"""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from assets.build import STAGE_ASSETS
from assets.per_file import run_files
from stackroom.artefacts import StoredRow
from stackroom.config import Config, load_config
from stackroom.conversion import Converter, open_converter
from stackroom.doctor import examine
from stackroom.embedding import open_embedder
from stackroom.embedding.cached import CachedEmbedder
from stackroom.outcome import Failed
from stackroom.plan import Plan
from stackroom.stages.bench import Bench, BenchSettings
from stackroom.stages.corpus import index_is_behind, refresh_stores, write_stores_config
from stackroom.stages.corpus_lint import lint_whole_corpus
from stackroom.stages.reconcile import plan_corpus
from stackroom.stages.vanished import remove_vanished
from stackroom.stores.bm25.index import open_index
from stackroom.stores.bm25.versions import current_version

CORPUS = "notes"

QUERIES = ("heron fish water", "boiler", "note about otters and steam", "the swift sleeps")


class Engines:
    """Workers and models, started once per kind of settings and lent to many libraries.

    What converts and embeds for a history is never what converts and embeds for the fresh build it is compared with:
    a wrong entry in a cache of the one cannot hide in the other.
    """

    def __init__(self, folder: Path) -> None:
        """Keep caches in ``folder``."""
        self._folder = folder
        self._converters: dict[str, Converter] = {}
        self._embedders: dict[str, CachedEmbedder] = {}
        self.converted: list[str] = []
        """Sources converted so far, those the cache answered left out."""
        self.embedded = 0
        """Texts embedded so far, those the cache answered left out."""

    def bench(self, config: Config) -> Bench:
        """Return a bench that works with these engines."""
        return Bench(BenchSettings.of(config, CORPUS), open_converter=self._converter, open_embedder=self._embedder)

    def close(self) -> None:
        """End the workers and release the models."""
        for engine in (*self._converters.values(), *self._embedders.values()):
            engine.close()

    def _converter(self, options, _cache_folder) -> Any:
        key = json.dumps(options.to_json(), sort_keys=True)
        if key not in self._converters:
            self._converters[key] = open_converter(options, self._folder / "conversion")
        return _LentConverter(self, self._converters[key])

    def _embedder(self, settings) -> Any:
        key = settings.corpus.embedder.model_dump_json()
        if key not in self._embedders:
            self._embedders[key] = open_embedder(settings.corpus.embedder, cache=self._folder / "embeddings.sqlite")
        return _LentEmbedder(self, self._embedders[key])


@dataclass
class _LentConverter:
    """A converter whose borrower cannot close it; what it converts is counted."""

    owner: Engines
    converter: Converter

    @property
    def workers(self) -> int:
        """How many files are worked on at once."""
        return self.converter.workers

    def classify(self, request):
        """Pass on."""
        return self.converter.classify(request)

    def convert(self, request):
        """Pass on and count."""
        result = self.converter.convert(request)
        if not isinstance(result, Failed) and not result.report.from_cache:
            self.owner.converted.append(request.source_id)
        return result

    def close(self) -> None:
        """Leave it running for the next one."""


@dataclass
class _LentEmbedder:
    """An embedder whose borrower cannot close it; what it embeds is counted."""

    owner: Engines
    embedder: CachedEmbedder

    @property
    def identity(self):
        """What makes its vectors comparable."""
        return self.embedder.identity

    def embed_counted(self, texts):
        """Pass on and count."""
        result = self.embedder.embed_counted(texts)
        self.owner.embedded += result.new
        return result

    def close(self) -> None:
        """Leave it running for the next one."""


@dataclass
class Library:
    """A project with one corpus in some store."""

    root: Path
    engines: Engines
    store: str
    """URI of the vector store; ``{root}`` stands for the project's folder."""
    tuning: dict[str, Any] = field(default_factory=dict)
    """Settings of the corpus besides folder and store."""
    processed: list[str] = field(default_factory=list)
    """What the last reconcile took through the stages."""

    @property
    def folder(self) -> Path:
        """Folder of documents."""
        return self.root / "docs"

    @property
    def config(self) -> Config:
        """The settings as they are now."""
        corpus = {"folder": "docs", "vector_store": self.store.format(root=self.root), **self.tuning}
        settings = {"limits": {"workers": 1}, "corpora": {CORPUS: corpus}}
        (self.root / "stackroom.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        return load_config(self.root, {})

    def bench(self) -> Bench:
        """Open a bench of the corpus."""
        return self.engines.bench(self.config)

    def write(self, name: str, content: str | bytes) -> None:
        """Write a document."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def files(self) -> list[str]:
        """Names of the documents, sorted; the curated map is none."""
        return sorted(
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != "metadata-map.json"
        )

    def curate(self, entries: dict[str, Any]) -> None:
        """Write the curated map; delete it when there is nothing to say."""
        path = self.folder / "metadata-map.json"
        path.write_text(json.dumps(entries)) if entries else path.unlink(missing_ok=True)


def reconcile(library: Library) -> Plan:
    """Do what ``stackroom ingest --confirm-deletions`` does: plan, take files through the stages, remove, refresh."""
    library.processed = []
    with library.bench() as bench:
        planned = plan_corpus(bench, confirm_deletions=True)
        behind = index_is_behind(bench)
    if planned.process:
        with library.bench() as bench:
            for source, _ in run_files(bench, STAGE_ASSETS, planned.process):
                library.processed.append(source)
    if planned.process or planned.delete or behind:
        with library.bench() as bench:
            remove_vanished(bench, confirm_deletions=True)
        with library.bench() as bench:
            refresh_stores(bench)
            lint_whole_corpus(bench)
        write_stores_config(library.config)
    return planned


def fresh_build(library: Library, root: Path, engines: Engines, store: str) -> Library:
    """Return a library with the documents and settings of another, built from nothing."""
    shutil.copytree(library.folder, root / "docs")
    made = Library(root, engines, store, library.tuning)
    reconcile(made)
    return made


@dataclass(frozen=True)
class Picture:
    """Everything a search depends on."""

    rows: dict[str, tuple[str, str, dict[str, Any]]]
    """Chunk id to source, text and metadata."""
    vectors: dict[str, np.ndarray]
    ranking: dict[str, list[tuple[str, float]]]
    """Query to chunk ids and scores of the keyword index."""
    states: dict[str, tuple[Any, ...]]
    noted: tuple[str, ...]
    """Sources in the manifest."""
    artefacts: tuple[str, ...]
    problems: tuple[str, ...]
    """What the doctor finds."""


def picture(library: Library) -> Picture:
    """Return the picture of a library as it is now."""
    with library.bench() as bench:
        rows: list[StoredRow] = list(bench.store.scan())
        return Picture(
            rows={row.chunk_id: (row.source_id, row.text, dict(row.metadata)) for row in rows},
            vectors={row.chunk_id: np.asarray(row.vector) for row in rows},
            ranking=_ranking(bench.settings.state.bm25_index(CORPUS)),
            states={
                state.source_id: (state.state, state.reason, state.chunks, state.content_hash, state.present)
                for state in bench.ledger.sources(CORPUS)
            },
            noted=tuple(sorted(bench.manifest.sources(bench.settings.store_uri, bench.collection.name))),
            artefacts=tuple(sorted(_artefacts(bench.artefacts.root))),
            problems=tuple(problem.message for problem in examine(bench)),
        )


def _ranking(folder: Path) -> dict[str, list[tuple[str, float]]]:
    if current_version(folder) is None:  # of a corpus without files no index is ever built
        return {query: [] for query in QUERIES}
    index = open_index(folder)
    return {query: [(hit.chunk_id, round(hit.score, 9)) for hit in index.search(query, 50)] for query in QUERIES}


def _artefacts(root: Path) -> Iterator[str]:
    """Name the artefacts of all sources; what is made of all of them together lies above their folders.

    A killed process may leave a temporary file, which is nobody's artefact and goes with the daily tidying.
    """
    for path in root.glob("*/*"):
        if not (path.name.startswith(".") and path.suffix == ".tmp"):
            yield path.relative_to(root).as_posix()


def assert_same(seen: Picture, expected: Picture) -> None:
    """Fail, naming the first difference, unless two pictures are the same."""
    assert expected.problems == ()
    assert seen.rows == expected.rows
    assert all(np.allclose(seen.vectors[key], vector, atol=1e-5) for key, vector in expected.vectors.items())
    assert seen.ranking == expected.ranking
    assert seen.states == expected.states
    assert seen.noted == expected.noted
    differing = set(seen.artefacts) ^ set(expected.artefacts)
    assert not differing, differing
    assert seen.problems == ()


class BrokenOffError(BaseException):
    """The process is gone: nothing may catch this on the way out."""


class Interruption:
    """Ends the work before or after the n-th moment at which something is written for good.

    Moments are the renaming of every artefact, every batch of rows written to or deleted from a store, and every change
    of ledger and manifest. From then on every further moment ends the same way, as in a process that is dead.
    """

    def __init__(self, after: int) -> None:
        """Let ``after`` moments pass; each call has one before and one after it."""
        self._left = after
        self._lock = threading.Lock()
        self.happened = False

    def moment(self) -> None:
        """Raise if this is the moment, or later."""
        with self._lock:
            self._left -= 1
            if self._left < 0:
                self.happened = True
                raise BrokenOffError

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``call`` with a moment before and one after it."""

        def called(*arguments: Any, **named: Any) -> Any:
            self.moment()
            result = call(*arguments, **named)
            self.moment()
            return result

        return called


@contextmanager
def broken_off(monkeypatch, after: int) -> Iterator[Interruption]:
    """Break off what is done inside at some moment, and wait until none of its threads is left."""
    from stackroom.ledger import Ledger
    from stackroom.stores.base import VectorStore
    from stackroom.stores.manifest import Manifest

    interruption = Interruption(after)
    with monkeypatch.context() as patch:
        for owner, names in (
            (Path, ("replace", "rename")),
            (VectorStore, ("_write_all", "_delete_all")),
            (Ledger, ("observe", "begin", "record", "forget", "mark_indexed")),
            (Manifest, ("begin", "put", "delete")),
        ):
            for name in names:
                patch.setattr(owner, name, interruption.around(getattr(owner, name)))
        try:
            yield interruption
        except BrokenOffError:
            pass
        finally:
            for thread in threading.enumerate():
                if thread.name.startswith("prepare"):
                    thread.join(60)
