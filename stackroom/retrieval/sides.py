"""The two sides of a corpus, opened when first asked: the vector store with its embedder, and the keyword index.

A side that is missing or fails never raises: it answers with a sentence that says what was left out.
"""

import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from typing_extensions import override

from stackroom.config import Config, EmbedderSettings, FilterField
from stackroom.embedding import Embedder, model_key, open_embedder
from stackroom.errors import StackroomError, StoreNotFoundError
from stackroom.remembered import Serving, read_serving, serving_file
from stackroom.retrieval.fusion import RankedList
from stackroom.state import StateFolder
from stackroom.stores.base import CollectionSpec, StoreHit, VectorStore, open_store
from stackroom.stores.bm25.index import KeywordIndex, open_index
from stackroom.stores.bm25.versions import current_version
from stackroom.stores.naming import collection_name

DEGRADES = (StackroomError, OSError, RuntimeError, ValueError, LookupError, ImportError, sqlite3.Error)
"""What a store, a model or its library may raise; a search goes on without that side. Anything else is a defect."""


@dataclass(frozen=True)
class SideAnswer:
    """What one side of a corpus had to say."""

    ranked: RankedList
    problem: str | None = None
    """Why the side has no say, in words."""
    absent: bool = False
    """The side was never built (as opposed to: it fails)."""


class Embedders:
    """Embedders by their settings, so that corpora with the same model share one. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Embedder] = {}

    def get(self, settings: EmbedderSettings) -> Embedder:
        """Return the embedder of some settings.

        Raises:
            EmbeddingError: the model is not on this machine.
        """
        key = settings.model_dump_json()
        with self._lock:
            if key not in self._open:
                self._open[key] = open_embedder(settings)
            return self._open[key]

    def close(self) -> None:
        """Release all models."""
        with self._lock:
            for embedder in self._open.values():
                embedder.close()
            self._open.clear()


@dataclass(frozen=True)
class Places:
    """Where the two sides are."""

    store_uri: str
    index_folder: Path
    collection: str | None = None
    """Name of the vector collection; None to form it from the name of the sides and the model's key."""
    filter_fields: tuple[FilterField, ...] = ()


class StoreSides:
    """A vector store and the keyword index beside it. Safe between threads."""

    def __init__(self, name: str, places: Places, embedder: EmbedderSettings, embedders: Embedders) -> None:
        """Name the stores; nothing is opened yet.

        Args:
            name: what the sides are called in rankings and warnings, and what the collection is named after.
            places: where they are.
            embedder: settings of the model that the collection was written with.
            embedders: opened models, shared with others.
        """
        self.corpus = name
        self._places = places
        self._index_folder = places.index_folder
        self._embedder_settings = embedder
        self._embedders = embedders
        self._lock = threading.RLock()
        self._store: VectorStore | None = None
        self._index: KeywordIndex | None = None

    def dense(self, query: str, k: int, where: Mapping[str, Any] | None, vectors: dict[str, np.ndarray]) -> SideAnswer:
        """Return the ``k`` chunks nearest to the query.

        Args:
            query: normalised query.
            k: most hits.
            where: canonical filter.
            vectors: query vectors by model key, shared by the corpora of one search.
        """
        scale = "dense"
        try:
            embedder = self._embedders.get(self._embedder_settings)
            scale = embedder.identity.key
            store = self.store(embedder)
            if scale not in vectors:
                vectors[scale] = embedder.embed([query])[0]
            hits = store.query(vectors[scale], k, where)
            empty = not hits and store.count() == 0
        except StoreNotFoundError as error:
            return self._answer("dense", scale, [], f"the vector store was left out: {error}", absent=True)
        except DEGRADES as error:
            self._forget_store()
            return self._answer("dense", scale, [], f"the vector store was left out: {error}")
        return self._answer(
            "dense", scale, hits, "the vector store is empty; `stackroom ingest` fills it" if empty else None
        )

    def keywords(self, query: str, k: int, where: Mapping[str, Any] | None) -> SideAnswer:
        """Return the ``k`` chunks that the keyword index ranks highest."""
        try:
            if current_version(self._index_folder) is None:
                problem = f"the keyword index was left out: there is none in {self._index_folder}"
                return self._answer("bm25", "bm25", [], problem, absent=True)
            index = self.index()
            hits = index.search(query, k, where)
        except DEGRADES as error:
            return self._answer("bm25", "bm25", [], f"the keyword index was left out: {error}")
        return self._answer("bm25", "bm25", hits, None if index.rows else "the keyword index is empty")

    def neighbours(self, chunk_id: str, each_side: int) -> list[StoreHit]:
        """Return the chunks beside a chunk; none where the keyword index, which knows the order, cannot be used."""
        try:
            return self.index().neighbours(chunk_id, each_side)
        except DEGRADES:
            return []

    def fields(self) -> dict[str, str]:
        """Return the metadata fields of the chunks with their kinds; none where the keyword index cannot be used."""
        try:
            return self.index().fields()
        except DEGRADES:
            return {}

    def store(self, embedder: Embedder) -> VectorStore:
        """Return the opened vector store.

        Raises:
            StoreError: it is missing, cannot be reached, or was written with another model.
        """
        with self._lock:
            if self._store is None:
                identity = embedder.identity
                spec = CollectionSpec(
                    self._places.collection or collection_name(self.corpus, identity.key),
                    self.corpus,
                    identity.key,
                    identity.dimension,
                    self._places.filter_fields,
                )
                self._store = open_store(self._places.store_uri, spec, create=False)
            return self._store

    def index(self) -> KeywordIndex:
        """Return the keyword index in the version now in use.

        Raises:
            ArtefactError: there is none, or it is damaged.
        """
        with self._lock:
            version = current_version(self._index_folder)
            if self._index is None or self._index.version != version:
                self._index = open_index(self._index_folder)
            return self._index

    def close(self) -> None:
        """Close the stores."""
        self._forget_store()
        with self._lock:
            self._index = None

    def _forget_store(self) -> None:
        """Close the vector store, so that the next search opens it anew (it may have been replaced or restarted)."""
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()

    def _answer(
        self, side: Any, scale: str, hits: list[StoreHit], problem: str | None, absent: bool = False
    ) -> SideAnswer:
        told = None if problem is None else f"{self.corpus}: {problem}"
        return SideAnswer(RankedList(self.corpus, side, scale, hits), told, absent)


class CorpusSides(StoreSides):
    """The stores of one corpus: those of the settings, or those in use while these are being built.

    Which ones is looked up at every search, so that a process that goes on for days follows a switch. Safe between
    threads.
    """

    def __init__(self, config: Config, corpus: str, embedders: Embedders) -> None:
        """Name the stores; nothing is opened yet.

        Raises:
            ConfigError: there is no such corpus.
        """
        self.settings = config.corpus(corpus)
        self._configured = Places(
            config.vector_store_uri(corpus),
            StateFolder(config.state_folder).bm25_index(corpus),
            filter_fields=self.settings.filter_fields,
        )
        self._state_folder = config.state_folder
        self._seen: tuple[int, int, int] | None = None
        self._instead: str | None = None
        super().__init__(corpus, self._configured, self.settings.embedder, embedders)

    @override
    def dense(self, query: str, k: int, where: Mapping[str, Any] | None, vectors: dict[str, np.ndarray]) -> SideAnswer:
        try:
            self._follow()
        except StackroomError as error:  # a damaged file in the state folder
            return self._answer("dense", "dense", [], f"the vector store was left out: {error}")
        answer = super().dense(query, k, where, vectors)
        return answer if self._instead is None else replace(answer, problem=answer.problem or self._instead)

    def _follow(self) -> None:
        """Turn to the collection that is in use now."""
        path = serving_file(self._state_folder, self.corpus)
        stat = path.stat() if path.exists() else None
        seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino) if stat else (0, 0, 0)
        with self._lock:
            if seen == self._seen:
                return
            self._places, self._embedder_settings, self._instead = self._in_use()
            self._seen = seen
            self._forget_store()

    def _in_use(self) -> tuple[Places, EmbedderSettings, str | None]:
        """Return where to look, the model to embed questions with, and what a person should know about that."""
        serving = read_serving(self._state_folder, self.corpus)
        configured = self.settings.embedder
        if serving is None:
            return self._configured, configured, None
        for settings in (configured, _settings(serving)):
            if settings is not None and _key(settings) == serving.model:
                return replace(self._configured, store_uri=serving.uri, collection=serving.collection), settings, None
        gone = f"{self.corpus}: the model of the collection in use is not on this machine any more; only what is "
        return self._configured, configured, f"{gone}embedded with the new one is found, until all files are"


def _settings(serving: Serving) -> EmbedderSettings | None:
    """Return the settings of the model in use; None if they were written by a version that knew others."""
    try:
        return EmbedderSettings.model_validate(serving.embedder)
    except ValidationError:
        return None


def _key(settings: EmbedderSettings) -> str | None:
    """Return the key of a model's identity; None if the model is not on this machine."""
    try:
        return model_key(settings)
    except StackroomError:
        return None
