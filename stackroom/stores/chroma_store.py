"""Collections of Chroma, as far as folder and server have it in common.

What Chroma does that the contract does not want (chromadb 1.5.9): an upsert keeps metadata keys that the new row does
not have, so these are unset one by one; a key that is written again costs as much as a new one, so an update writes
only what differs; ids are deleted by name, never by a filter (which fails above some thousand rows); a call takes at
most ``get_max_batch_size`` rows.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreError, StoreNotFoundError
from stackroom.stores.base import VectorStore
from stackroom.stores.chroma_access import ChromaAccess
from stackroom.stores.collection import CollectionSpec, Found, Identity
from stackroom.stores.filter_chroma import chroma_translation
from stackroom.stores.filter_language import Canonical

if TYPE_CHECKING:
    from chromadb import Collection

_SOURCE = "_source_id"
"""Metadata key of the source id; keys of rows never begin with an underscore."""
PREFIX = "stackroom_"
"""Of the keys of our notes in the collection's own metadata."""
_TEXT_FIELDS = PREFIX + "text_fields"
"""Note with the collection: all fields that ever held a text. ``$contains`` can be left to Chroma for the others."""
_FEW = 200
"""Rows up to which all are compared, in some 20 ms: the vector index can lose rows among many equal ones."""
_NOTING_ATTEMPTS = 5
_INCLUDE: Any = ["metadatas", "documents", "embeddings"]


def notes_of(collection: "Collection") -> dict[str, Any]:
    """Return what was noted with a collection when it was made."""
    return {key.removeprefix(PREFIX): value for key, value in (collection.metadata or {}).items()}


class ChromaStore(VectorStore):
    """A collection of Chroma."""

    backend = "chroma"
    tolerated_misses = 0.1

    def __init__(self, spec: CollectionSpec, access: ChromaAccess, identity: Identity) -> None:
        super().__init__(spec)
        self._access = access
        self._identity = identity
        self._collection_as_of: tuple[int, Collection] | None = None
        self._has_many = False

    @property
    def instance(self) -> str:
        """Identity of this very collection."""
        return self._identity.instance

    def _reading(self) -> AbstractContextManager[None]:
        return self._access.reading()

    def _writing(self) -> AbstractContextManager[None]:
        return self._access.writing()

    @property
    def _collection(self) -> "Collection":
        """The collection as the current client sees it."""
        if self._collection_as_of is None or self._collection_as_of[0] != self._access.generation:
            collection = self._access.client.get_collection(self.spec.name, embedding_function=None)
            if notes_of(collection).get("instance") != self.instance:
                raise StoreNotFoundError(f"collection {self.spec.name} in {self._access.where} was dropped")
            self._collection_as_of = (self._access.generation, collection)
        return self._collection_as_of[1]

    def _write(self, rows: Sequence[StoredRow]) -> None:
        self._note_text_fields(rows)
        ids = [row.chunk_id for row in rows]
        self._collection.upsert(
            ids=ids,
            embeddings=np.array([row.vector for row in rows]),
            documents=[row.text for row in rows],
            metadatas=self._metadatas(rows),
        )

    def _rewrite(self, rows: Sequence[StoredRow]) -> None:
        ids = [row.chunk_id for row in rows]
        found: Any = self._collection.get(ids=ids, include=["metadatas", "documents"])
        old = dict(zip(found["ids"], zip(found["metadatas"], found["documents"], strict=True), strict=True))
        if len(old) < len(ids):
            raise StoreError(f"collection {self.spec.name} in {self._access.where} has lost rows; replace the source")
        told_anew = [row for row in rows if (old[row.chunk_id][1] or "") != row.text]
        if told_anew:  # Chroma takes a new document only together with its vector
            vectors = {row.chunk_id: row.vector for row in self._read(ids=[row.chunk_id for row in told_anew])}
            self._write([replace(row, vector=vectors[row.chunk_id]) for row in told_anew])
        kept = [row for row in rows if (old[row.chunk_id][1] or "") == row.text]
        if kept:
            self._relabel(kept, [_differences(old[row.chunk_id][0] or {}, row.metadata) for row in kept])

    def _relabel(self, rows: Sequence[StoredRow], differences: Sequence[Mapping[str, Any]]) -> None:
        """Write the metadata of stored rows, given what of it differs from what is stored (None: to be unset)."""
        self._note_text_fields(rows)
        changed: list[Any] = [(row.chunk_id, dict(keys)) for row, keys in zip(rows, differences, strict=True) if keys]
        if changed:
            self._collection.update(ids=[chunk_id for chunk_id, _ in changed], metadatas=[keys for _, keys in changed])

    def _metadatas(self, rows: Sequence[StoredRow]) -> list[Any]:
        """Return the metadata to write: the rows' own, and None for every stored key that they do not have."""
        stored = self._collection.get(ids=[row.chunk_id for row in rows], include=["metadatas"])
        old = dict(zip(stored["ids"], stored["metadatas"] or [], strict=True))
        return [{**dict.fromkeys(old.get(row.chunk_id) or {}), **row.metadata, _SOURCE: row.source_id} for row in rows]

    def _note_text_fields(self, rows: Sequence[StoredRow]) -> None:
        """Note fields that hold a text for the first time, before the rows that do are written."""
        fields = {key for row in rows for key, value in row.metadata.items() if isinstance(value, str)}
        for _ in range(_NOTING_ATTEMPTS):
            if fields <= self._text_fields():
                return
            self._collection_as_of = None  # another client of a server may have noted some at the same time
            together = sorted(fields | self._text_fields())
            self._collection.modify(metadata={**(self._collection.metadata or {}), _TEXT_FIELDS: json.dumps(together)})
            self._collection_as_of = None
        raise StoreError(f"collection {self.spec.name} in {self._access.where} does not keep notes; try again")

    def _text_fields(self) -> set[str]:
        return set(json.loads((self._collection.metadata or {}).get(_TEXT_FIELDS, "[]")))

    def _delete(self, ids: Sequence[str]) -> None:
        self._collection.delete(ids=list(ids))

    def _where(self, canonical: Canonical | None) -> Any:
        if canonical is None:
            return None
        if self._access.folder is None:
            self._collection_as_of = None  # others may have noted text fields
        return chroma_translation(canonical, self._text_fields().__contains__).condition

    def _search(self, unit: np.ndarray, n: int, canonical: Canonical | None) -> Found:
        if not self._has_many:
            self._has_many = self._collection.count() > _FEW  # counting takes 15 ms with 100,000 rows
        if not self._has_many:
            return Found([row for rows in self._scan(canonical, _FEW) for row in rows], complete=True)
        found: Any = self._collection.query(
            query_embeddings=[unit], n_results=n, where=self._where(canonical), include=_INCLUDE
        )
        return Found(_rows(*(found[key][0] for key in ("ids", *_INCLUDE))))

    def _scan(self, canonical: Canonical | None, batch_size: int) -> Iterator[list[StoredRow]]:
        ids = self._collection.get(where=self._where(canonical), include=[])["ids"]
        for start in range(0, len(ids), batch_size):
            yield self._read(ids=ids[start : start + batch_size])

    def _read_ids(self, ids: Sequence[str]) -> list[StoredRow]:
        starts = range(0, len(ids), self.max_batch_rows)
        return [row for start in starts for row in self._read(ids=list(ids[start : start + self.max_batch_rows]))]

    def _read(self, **selection: Any) -> list[StoredRow]:
        found: Any = self._collection.get(**selection, include=_INCLUDE)
        return _rows(*(found[key] for key in ("ids", *_INCLUDE)))

    def _sample(self, n: int) -> Iterator[StoredRow]:
        total = self._collection.count()
        for place in range(min(n, total)):
            yield from self._read(limit=1, offset=place * total // min(n, total))

    def _count(self, source_id: str | None) -> int:
        return self._collection.count() if source_id is None else len(self._ids(source_id))

    def _ids(self, source_id: str) -> set[str]:
        return set(self._collection.get(where={_SOURCE: source_id}, include=[])["ids"])

    def _source_ids(self) -> set[str]:
        sources: set[str] = set()
        for offset in range(0, self._collection.count(), self.max_batch_rows):
            found = self._collection.get(limit=self.max_batch_rows, offset=offset, include=["metadatas"])
            sources |= {str(metadata[_SOURCE]) for metadata in found["metadatas"] or []}
        return sources

    def _drop(self) -> None:
        self._access.client.delete_collection(self.spec.name)

    def _details(self) -> Mapping[str, Any]:
        return {"at": self._access.where}

    def close(self) -> None:
        """Give back the folder or the connection."""
        self._access.close()


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys to write so that stored metadata become the wanted ones; None for those to be unset."""
    written = {key: value for key, value in wanted.items() if not _same(stored.get(key), value)}
    return {**dict.fromkeys(stored.keys() - wanted.keys() - {_SOURCE}), **written}


def _same(stored: Any, wanted: Any) -> bool:
    return type(stored) is type(wanted) and bool(stored == wanted)  # True, 1 and 1.0 are kept in different places


def _rows(ids: Sequence[str], metadatas: Any, documents: Any, embeddings: Any) -> list[StoredRow]:
    rows = []
    for chunk_id, stored, text, vector in zip(ids, metadatas, documents, embeddings, strict=True):
        metadata = dict(sorted((stored or {}).items()))
        source_id = str(metadata.pop(_SOURCE, ""))
        rows.append(StoredRow(chunk_id, source_id, text or "", metadata, np.asarray(vector, dtype=np.float32)))
    return rows
