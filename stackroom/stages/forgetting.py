"""Forgetting a corpus: everything that was made of its documents goes, the documents themselves stay.

Whatever is left of a corpus is found by its name alone, so that one whose entry is gone can be forgotten as well, and a
crash in the middle is finished by forgetting again. The ledger forgets last.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from stackroom.config import Config
from stackroom.errors import ConfigError, StoreError, StoreNotFoundError
from stackroom.ledger import Ledger
from stackroom.remembered import (
    forget_corpus,
    read_added_corpora,
    read_moved_stores,
    read_serving,
    serving_file,
    write_moved_store,
    write_serving,
)
from stackroom.state import StateFolder
from stackroom.stores.base import CollectionSpec, open_store
from stackroom.stores.manifest import Manifest


@dataclass(frozen=True)
class Traces:
    """What there is of a corpus."""

    corpus: str
    added: bool
    """It was added with ``--source`` and is remembered."""
    sources: int
    """Files in the ledger."""
    artefacts: int
    """Files of artefacts."""
    index: bool
    """There is a keyword index."""
    collections: tuple[tuple[str, str, int], ...]
    """Store URI, collection, rows; -1 rows where the store cannot be reached."""
    remembered: bool = False
    """It is noted which collection answers, or where its store was moved."""

    @property
    def any(self) -> bool:
        """There is something to forget."""
        return bool(self.added or self.sources or self.artefacts or self.index or self.collections or self.remembered)


def check_forgettable(config: Config, corpus: str) -> None:
    """Make sure that a corpus may be forgotten.

    Raises:
        ConfigError: stackroom.yaml names it; the next ingestion would make everything again.
    """
    if corpus in config.corpora and not _only_added(config, corpus):
        raise ConfigError(
            f"{config.file_in_words} names the corpus {corpus}; remove its entry under `corpora` first, then forget "
            "it. Its documents are left alone in any case"
        )


def traces(config: Config, corpus: str, collections: Sequence[tuple[str, str]] | None = None) -> Traces:
    """Find what there is of a corpus.

    Args:
        config: the project's settings.
        corpus: name.
        collections: store URI and name of its collections; by default those that are noted under its name.

    Raises:
        StoreError: the manifest cannot be read.
    """
    state = StateFolder(config.state_folder)
    folder = state.artefacts(corpus).root
    sources = 0
    if state.ledger.exists():
        ledger = Ledger(state.ledger)
        sources = len(ledger.sources(corpus))
        ledger.close()
    return Traces(
        corpus,
        added=_only_added(config, corpus),
        sources=sources,
        artefacts=sum(path.is_file() for path in folder.rglob("*")),
        index=state.bm25_index(corpus).exists(),
        collections=tuple(
            (*place, _rows(corpus, *place))
            for place in (_collections(config, corpus) if collections is None else collections)
        ),
        remembered=serving_file(config.state_folder, corpus).exists()
        or corpus in read_moved_stores(config.state_folder),
    )


def forget(
    config: Config,
    corpus: str,
    *,
    collections: Sequence[tuple[str, str]] | None = None,
    leave_unreachable: bool = False,
) -> Traces:
    """Delete what was made of a corpus and return what there was.

    Args:
        config: the project's settings.
        corpus: name; see :func:`check_forgettable`.
        collections: see :func:`traces`.
        leave_unreachable: forget collections in stores that cannot be reached, and leave their rows there.

    Raises:
        StoreError: a store cannot be reached; nothing is deleted then.
    """
    found, state = traces(config, corpus, collections), StateFolder(config.state_folder)
    silent = [collection for _, collection, rows in found.collections if rows < 0]
    if silent and not leave_unreachable:
        raise StoreError(
            f"the store of collection {silent[0]} of {corpus} cannot be reached; start it, or leave the rows there "
            "with --leave-unreachable. Nothing was deleted"
        )
    forget_corpus(config.state_folder, corpus)  # first, so that nothing takes its documents in again meanwhile
    for uri, collection, rows in found.collections:
        if rows >= 0:
            _drop(uri, collection)
        with Manifest(state.manifest) as manifest:
            manifest.delete_collection(uri, collection)
    for path in (state.bm25_index(corpus), state.artefacts(corpus).root):
        if path.exists():
            shutil.rmtree(path)
    write_serving(config.state_folder, corpus, None)
    if corpus in read_moved_stores(config.state_folder):
        write_moved_store(config.state_folder, corpus, None)
    if state.ledger.exists():
        ledger = Ledger(state.ledger)
        ledger.forget_corpus(corpus)
        ledger.close()
    return found


def _only_added(config: Config, corpus: str) -> bool:
    """Return whether a corpus is one that was added with ``--source``, and not one of stackroom.yaml."""
    added = read_added_corpora(config.state_folder).get(corpus)
    known = config.corpora.get(corpus)
    return added is not None and (known is None or str(known.folder) == added.get("folder"))


def _collections(config: Config, corpus: str) -> list[tuple[str, str]]:
    """Return store URI and name of every collection of a corpus that is noted anywhere."""
    found: dict[tuple[str, str], None] = {}
    manifest_file = StateFolder(config.state_folder).manifest
    if manifest_file.exists():
        with Manifest(manifest_file) as manifest:
            found.update(dict.fromkeys((uri, name) for uri, name, _ in manifest.collections()))
    moved = read_moved_stores(config.state_folder).get(corpus)
    found.update(dict.fromkeys((kept.uri, kept.collection) for kept in (moved.kept if moved else ())))
    serving = read_serving(config.state_folder, corpus)
    found.update({serving.place: None} if serving is not None else {})  # an empty collection is noted nowhere else
    return [place for place in found if place[1].startswith(f"{corpus}-") and _is_of(corpus, *place)]


def _is_of(corpus: str, uri: str, collection: str) -> bool:
    """Return whether a collection is the corpus's, and not a record collection of a similar name."""
    try:
        with open_store(uri, CollectionSpec(collection, "", "", 0), create=False) as store:
            return store.spec.corpus == corpus
    except StoreError:  # gone or out of reach: what is noted of it counts
        return True


def _rows(corpus: str, uri: str, collection: str) -> int:
    try:
        with open_store(uri, CollectionSpec(collection, corpus, "", 0), create=False) as store:
            return store.count()
    except StoreNotFoundError:
        return 0
    except StoreError:
        return -1


def _drop(uri: str, collection: str) -> None:
    try:
        with open_store(uri, CollectionSpec(collection, "", "", 0), create=False) as store:
            store.drop()
    except StoreNotFoundError:  # dropped by hand, or by an attempt that broke off here
        return
