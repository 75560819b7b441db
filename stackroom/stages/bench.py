"""The bench a run works at: the settings of one corpus and the library objects opened for it, each on first use."""

import fnmatch
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from stackroom.biblio.doi import open_resolver
from stackroom.biblio.lookup import Resolver
from stackroom.config import Config, Corpus, LimitSettings
from stackroom.conversion import ConversionOptions, Converter, open_converter
from stackroom.embedding import open_embedder
from stackroom.embedding.cached import CachedEmbedder
from stackroom.embedding.tokenizer import Tokenizer, open_tokenizer
from stackroom.errors import ConfigError
from stackroom.metadata_map import CuratedMap, load_curated
from stackroom.metadata_map.renamed import find_renamed
from stackroom.sources import Scan, scan_folder
from stackroom.stages.base_bench import BaseBench, BaseWork
from stackroom.state import StateFolder
from stackroom.stores.base import CollectionSpec, VectorStore, open_store
from stackroom.stores.bm25.analyser import Analyser, open_analyser
from stackroom.stores.naming import collection_name


@dataclass(frozen=True)
class BenchSettings:
    """Everything a run's results depend on besides the files themselves."""

    name: str
    """Corpus name."""
    corpus: Corpus
    limits: LimitSettings
    state: StateFolder
    store_uri: str

    @classmethod
    def of(cls, config: Config, name: str) -> Self:
        """Return the settings of a corpus as ``stackroom.yaml`` has them."""
        return cls(
            name=name,
            corpus=config.corpus(name),
            limits=config.limits,
            state=StateFolder(config.state_folder),
            store_uri=config.vector_store_uri(name),
        )


@dataclass
class Bench(BaseBench[BenchSettings]):
    """Opened objects of one corpus. Use as a context manager; nothing is opened that no stage asks for.

    The ``open_…`` fields are how other deployments and tests put their own objects in place.
    """

    settings: BenchSettings
    open_converter: Callable[[ConversionOptions, Path], Converter] = open_converter
    open_embedder: Callable[[BenchSettings], CachedEmbedder] = field(
        default=lambda settings: open_embedder(settings.corpus.embedder, cache=settings.state.embedding_cache)
    )
    open_store: Callable[[str, CollectionSpec], VectorStore] = open_store
    look_only: bool = False
    """Do not remember what the curated map says now."""
    _others: dict[tuple[str, str], VectorStore] = field(default_factory=dict, repr=False)

    def close(self) -> None:
        """Close whatever was opened."""
        self._others.clear()
        super().close()

    @property
    def name(self) -> str:
        """Corpus name."""
        return self.settings.name

    @property
    def folder(self) -> Path:
        """Folder of the documents."""
        folder: Path = self.settings.corpus.folder
        return folder

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer of the embedding model."""
        return open_tokenizer(self.settings.corpus.embedder)

    @cached_property
    def conversion_options(self) -> ConversionOptions:
        """Options of conversion and chunking.

        Raises:
            ConfigError: the token limit is above what the embedding model reads.
        """
        corpus, tokenizer = self.settings.corpus, self.tokenizer
        limit = corpus.chunking.max_tokens or tokenizer.max_tokens
        if limit > tokenizer.max_tokens:
            raise ConfigError(
                f"corpora.{self.name}.chunking.max_tokens: {limit} is above the {tokenizer.max_tokens} tokens that the "
                f"embedding model {self.model.name} reads; the rest of each chunk would be lost"
            )
        return ConversionOptions(
            conversion=corpus.conversion,
            ocr=corpus.ocr,
            limits=self.settings.limits,
            tokenizer_file=tokenizer.file,
            max_tokens=limit,
            merge_peers=corpus.chunking.merge_peers,
        )

    @cached_property
    def converter(self) -> Converter:
        """Worker processes for classification and conversion."""
        converter = self.open_converter(self.conversion_options, self.settings.state.conversion_cache)
        self._stack.callback(converter.close)
        return converter

    @cached_property
    def collection(self) -> CollectionSpec:
        """The vector collection of the corpus for the current model."""
        return CollectionSpec(
            name=collection_name(self.name, self.model.key),
            corpus=self.name,
            model=self.model.key,
            dimension=self.model.dimension,
            filter_fields=self.settings.corpus.filter_fields,
        )

    @cached_property
    def store(self) -> VectorStore:
        """The opened vector collection."""
        store = self.open_store(self.settings.store_uri, self.collection)
        self._stack.callback(store.close)
        return store

    def renew_store(self) -> None:
        """Drop the vector collection with what the manifest notes of it, and make an empty one.

        Raises:
            StoreError: the store cannot be reached.
        """
        self.store.drop()
        self.store.close()
        del self.store
        self.manifest.delete_collection(self.settings.store_uri, self.collection.name)

    def other_store(self, uri: str, collection: str) -> VectorStore:
        """Return another collection, opened with whatever model it was written with.

        Raises:
            StoreNotFoundError: there is none.
            StoreError: it cannot be opened.
        """
        if (uri, collection) not in self._others:
            opened = open_store(uri, CollectionSpec(collection, corpus="", model="", dimension=0), create=False)
            self._stack.callback(opened.close)
            self._others[uri, collection] = opened
        return self._others[uri, collection]

    @cached_property
    def analyser(self) -> Analyser:
        """The analyser of the keyword index."""
        return open_analyser(self.settings.corpus.bm25)

    @cached_property
    def curated(self) -> CuratedMap:
        """The curated metadata map beside the documents; of a file that cannot be read, what it last said."""
        curated = load_curated(
            self.settings.corpus.folder, self.artefacts.root / "curated-last-good.json", remember=not self.look_only
        )
        if not curated.entries:
            return curated
        renamed = find_renamed(self.curated_contents, curated, self.scan.files)
        return curated.for_sources((file.source_id for file in self.scan.files), renamed)

    @property
    def curated_contents(self) -> Path:
        """Where it is noted what the files held that the curated map speaks of."""
        return self.artefacts.root / "curated-contents.json"

    @cached_property
    def doi_resolver(self) -> Resolver | None:
        """DOI services, or None when they are not asked."""
        settings = self.settings.corpus.metadata
        if settings.lookup == "off":
            return None
        resolver = open_resolver(settings, self.settings.state.doi_cache)
        self._stack.callback(resolver.close)
        return resolver

    @cached_property
    def scan(self) -> Scan:
        """The corpus's folder as it is now."""
        corpus = self.settings.corpus
        return scan_folder(corpus.folder, corpus.include, corpus.exclude, skip_folders=(self.settings.state.root,))

    def password(self, source_id: str) -> str | None:
        """Return the password for a source, if its path matches a pattern under ``passwords``."""
        variable = self.password_variable(source_id)
        return None if variable is None else os.environ.get(variable)

    def password_variable(self, source_id: str) -> str | None:
        """Return the environment variable that ``passwords`` names for a source, if any."""
        patterns = self.settings.corpus.passwords.items()
        return next((variable for pattern, variable in patterns if fnmatch.fnmatch(source_id, pattern)), None)


class FileWork(BaseWork[Bench]):
    """One source at the bench."""
