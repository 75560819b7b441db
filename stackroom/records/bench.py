"""The bench records are worked at: the settings of one record set and the library objects opened for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from stackroom.config import CORPUS_NAME, Config, RecordSettings
from stackroom.embedding import open_embedder
from stackroom.embedding.cached import CachedEmbedder
from stackroom.errors import ConfigError, RecordError
from stackroom.records.components import Register, load_register
from stackroom.records.naming import corpus_of, record_collection_name
from stackroom.records.registry import KnownCollection, Registry
from stackroom.sources import Scan, scan_folder
from stackroom.stages.base_bench import BaseBench, BaseWork
from stackroom.state import StateFolder
from stackroom.stores.base import CollectionSpec, VectorStore, open_store
from stackroom.stores.bm25.analyser import Analyser, open_analyser


@dataclass(frozen=True)
class RecordBenchSettings:
    """Everything that the collections of a record set depend on besides the files."""

    name: str
    records: RecordSettings
    state: StateFolder
    store_uri: str
    project_folder: Path

    @classmethod
    def of(cls, config: Config, name: str) -> Self:
        """Return the settings of a record set as ``stackroom.yaml`` has them.

        Raises:
            ConfigError: there is no such record set, or its name or prefix collides with others.
        """
        check_record_sets(config)
        return cls(
            name=name,
            records=record_settings(config, name),
            state=StateFolder(config.state_folder),
            store_uri=record_store_uri(config, name),
            project_folder=config.project_folder,
        )

    @property
    def register_file(self) -> Path | None:
        """The component register, if there is one."""
        named = self.records.component_register
        return None if named is None else self.project_folder / named.expanduser()


def record_settings(config: Config, name: str) -> RecordSettings:
    """Return a record set's settings.

    Raises:
        ConfigError: there is none of that name; the message lists those there are.
    """
    if name not in config.records:
        known = ", ".join(sorted(config.records)) or "none"
        raise ConfigError(f"there is no record set {name!r} under `records:` in {config.file_in_words}; known: {known}")
    return config.records[name]


def record_store_uri(config: Config, name: str) -> str:
    """Return the store URI of a record set (default: the Chroma folder of the state folder)."""
    return record_settings(config, name).vector_store or f"chroma:{config.state_folder / 'stores' / 'chroma'}"


def check_record_sets(config: Config) -> None:
    """Make sure that no two record sets would write to the same collections, partitions or ledger lines.

    Raises:
        ConfigError: the name of a record set breaks the rule, is taken, or its prefix is that of another one.
    """
    prefixes: dict[tuple[str, str], str] = {}
    for name, settings in config.records.items():
        if not CORPUS_NAME.fullmatch(name) or corpus_of(name) in config.corpora:
            raise ConfigError(
                f"records: {name!r} is not a name for a record set; allowed are 2 to 40 small letters, digits and "
                f"underscores, starting with a letter, and no corpus may be called {corpus_of(name)!r}"
            )
        place = (record_store_uri(config, name), settings.collection_prefix)
        other = prefixes.setdefault(place, name)
        if other != name:
            raise ConfigError(
                f"records.{name}.collection_prefix: {place[1]!r} is also the prefix of {other!r} in the same store; "
                "give one of them another `collection_prefix`"
            )


@dataclass
class RecordBench(BaseBench[RecordBenchSettings]):
    """Opened objects of one record set. Use as a context manager; nothing is opened that no stage asks for."""

    settings: RecordBenchSettings
    open_embedder: Callable[[RecordBenchSettings], CachedEmbedder] = field(
        default=lambda settings: open_embedder(settings.records.embedder, cache=settings.state.embedding_cache)
    )
    open_store: Callable[[str, CollectionSpec], VectorStore] = open_store
    _stores: dict[str, VectorStore] = field(default_factory=dict, repr=False)

    def close(self) -> None:
        """Close whatever was opened."""
        self._stores.clear()
        super().close()

    @property
    def record_set(self) -> str:
        """Name of the record set, as under ``records:``."""
        return self.settings.name

    @property
    def name(self) -> str:
        """Name of the record set in ledger, partitions and state folder."""
        return corpus_of(self.settings.name)

    @property
    def store_uri(self) -> str:
        """Where the collections are."""
        return self.settings.store_uri

    @property
    def folder(self) -> Path:
        """Folder of the JSONL files."""
        return self.settings.records.folder

    @cached_property
    def registry(self) -> Registry:
        """The registry of records."""
        registry = Registry(registry_path(self.settings.state))
        self._stack.callback(registry.close)
        return registry

    @cached_property
    def register(self) -> Register:
        """Equipment ids to component ids; empty without a register file.

        Raises:
            RecordError: the register file cannot be used.
        """
        path = self.settings.register_file
        return {} if path is None else load_register(path)

    @cached_property
    def analyser(self) -> Analyser:
        """The analyser of the keyword indexes."""
        return open_analyser(self.settings.records.bm25)

    @cached_property
    def scan(self) -> Scan:
        """The folder as it is now."""
        records = self.settings.records
        skip = (self.settings.state.root,)
        return scan_folder(records.folder, records.include, records.exclude, skip_folders=skip, every_type=True)

    def index_folder(self, label: str) -> Path:
        """Return the folder of the keyword index of a document type."""
        return index_folder(self.settings.state, self.record_set, label)

    def corpus_file(self, label: str, source_id: str) -> Path:
        """Return the file of tokens of a file's records of one document type."""
        return self.artefacts.path(f"bm25-{label}", source_id, "pkl")

    def corpus_files(self, label: str) -> list[Path]:
        """Return the files of tokens of all files' records of one document type."""
        return sorted((self.artefacts.root / f"bm25-{label}").glob("*.pkl"))

    def spec(self, doc_type: str) -> CollectionSpec:
        """Return the collection of a document type for the current model."""
        name = record_collection_name(doc_type, self.settings.records.collection_prefix, self.model.key)
        return CollectionSpec(name, self.name, self.model.key, self.model.dimension)

    def store(self, known: KnownCollection, create: bool = False) -> VectorStore:
        """Return an opened collection.

        Raises:
            StoreError: it cannot be opened.
            RecordError: another record set writes to it.
        """
        if known.collection not in self._stores:
            others = set(self.registry.sets_of(known.store, known.collection)) - {self.record_set}
            if others:
                raise RecordError(
                    f"collection {known.collection} holds records of {min(others)!r}; give {self.record_set!r} another "
                    "`collection_prefix`"
                )
            if create:
                self.registry.add_collection(self.record_set, known)
                spec = CollectionSpec(known.collection, self.name, known.model, self.model.dimension)
            else:
                spec = CollectionSpec(known.collection, self.name, "", 0)
            store = self.open_store(known.store, spec)
            self._stack.callback(store.close)
            self._stores[known.collection] = store
        return self._stores[known.collection]

    def renew_store(self, known: KnownCollection) -> None:
        """Drop a collection with what is noted of it; it is made again when it is next written.

        Raises:
            StoreError: it cannot be reached.
        """
        store = self.store(known)
        store.drop()
        store.close()
        del self._stores[known.collection]
        for source in self.manifest.sources(known.store, known.collection):
            self.registry.set_stored(known.store, known.collection, source, {})
        self.manifest.delete_collection(known.store, known.collection)


def registry_path(state: StateFolder) -> Path:
    """Return the file of the registry of records."""
    return state.root / "records.sqlite"


def index_folder(state: StateFolder, record_set: str, label: str) -> Path:
    """Return the folder of the keyword index of a document type."""
    return state.bm25_index(corpus_of(record_set)) / label


class RecordWork(BaseWork[RecordBench]):
    """One JSONL file at the bench."""
