"""What the benches of corpora and of record sets have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from stackroom.artefacts import ArtefactFolder
from stackroom.embedding import ModelIdentity
from stackroom.embedding.cached import CachedEmbedder
from stackroom.ledger import Ledger
from stackroom.sources import Scan
from stackroom.state import StateFolder
from stackroom.stores.manifest import Manifest


class BaseSettings(Protocol):
    """What every bench's settings say."""

    @property
    def state(self) -> StateFolder:
        """The state folder."""
        ...

    @property
    def store_uri(self) -> str:
        """The vector store."""
        ...


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


class BaseBench(ABC, Generic[SettingsT]):
    """Opened objects. Use as a context manager; nothing is opened that no stage asks for."""

    settings: SettingsT
    open_embedder: Callable[[SettingsT], CachedEmbedder]

    def __enter__(self) -> Self:
        """Return the bench itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close whatever was opened."""
        self.close()

    def close(self) -> None:
        """Close whatever was opened."""
        self._stack.close()

    @cached_property
    def _stack(self) -> ExitStack:
        """What is to be closed."""
        return ExitStack()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in ledger, partitions and state folder."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Folder of the source files."""

    @property
    @abstractmethod
    def scan(self) -> Scan:
        """The folder as it is now."""

    @cached_property
    def artefacts(self) -> ArtefactFolder:
        """Folder of the artefacts."""
        return self.settings.state.artefacts(self.name)

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of all corpora and record sets."""
        ledger = Ledger(self.settings.state.ledger)
        self._stack.callback(ledger.close)
        return ledger

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of all collections."""
        manifest = Manifest(self.settings.state.manifest)
        self._stack.callback(manifest.close)
        return manifest

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """The embedding model; loaded when the first text is not in the cache."""
        embedder = self.open_embedder(self.settings)
        self._stack.callback(embedder.close)
        return embedder

    @cached_property
    def model(self) -> ModelIdentity:
        """Identity of the embedding model; known without loading the model."""
        return self.embedder.identity

    @cached_property
    def _paths(self) -> dict[str, Path]:
        return {file.source_id: file.path for file in self.scan.files}

    def locate(self, source_id: str) -> Path:
        """Return where a source lies; the file may be gone.

        The identity is Unicode NFC, the name on disk may be decomposed, so a folder scan is the fallback.
        """
        direct = self.folder / source_id
        return direct if direct.exists() else self._paths.get(source_id, direct)


BenchT = TypeVar("BenchT", bound=BaseBench[Any])


@dataclass
class BaseWork(Generic[BenchT]):
    """One source at the bench."""

    bench: BenchT
    source_id: str
    force: bool = False
    """Make every artefact again, even if nothing changed."""

    @property
    def path(self) -> Path:
        """Where the source lies."""
        return self.bench.locate(self.source_id)

    def artefact(self, stage: str, suffix: str) -> Path:
        """Return the path of this source's artefact of a stage."""
        return self.bench.artefacts.path(stage, self.source_id, suffix)
