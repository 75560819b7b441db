"""The state folder: one place for artefacts, caches, stores, and Dagster's own instance."""

from dataclasses import dataclass
from pathlib import Path

from stackroom.artefacts import ArtefactFolder


@dataclass(frozen=True)
class StateFolder:
    """Paths inside ``.stackroom/`` (or ``$STACKROOM_STATE``); nothing is created until something is written."""

    root: Path

    def artefacts(self, corpus: str) -> ArtefactFolder:
        """Artefacts of the sources of a corpus."""
        return ArtefactFolder(self.root / "artefacts" / corpus)

    def bm25_index(self, corpus: str) -> Path:
        """Folder of the keyword index of a corpus."""
        return self.root / "stores" / "bm25" / corpus

    @property
    def conversion_cache(self) -> Path:
        """Converted documents by content hash and conversion fingerprint."""
        return self.root / "cache" / "conversion"

    @property
    def embedding_cache(self) -> Path:
        """SQLite file: vectors by text hash and model identity."""
        return self.root / "cache" / "embeddings.sqlite"

    @property
    def doi_cache(self) -> Path:
        """SQLite file: answers of DOI services."""
        return self.root / "cache" / "doi.sqlite"

    @property
    def ledger(self) -> Path:
        """SQLite file: what was last seen of every source, and what became of it."""
        return self.root / "ledger.sqlite"

    @property
    def manifest(self) -> Path:
        """SQLite file: what every collection of every store holds, per source."""
        return self.root / "manifest.sqlite"

    @property
    def stores_config(self) -> Path:
        """The stores JSON a retriever loads."""
        return self.root / "stores.json"
