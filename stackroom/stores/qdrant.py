"""``qdrant:/folder`` and ``qdrant:http://host:port``: collections of Qdrant, in a folder or on a server.

Qdrant takes only UUIDs and integers as ids; other chunk ids are hashed into a UUID, and every payload holds the chunk
id itself. A folder can be open in one process at a time, and is compared row by row: for some ten thousand rows.
"""

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from qdrant_client import models

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreNotFoundError
from stackroom.stores.base import VectorStore
from stackroom.stores.collection import CollectionSpec, Found, Identity, missing
from stackroom.stores.filter_language import Canonical
from stackroom.stores.filter_qdrant import TEXT_FIELDS, qdrant_translation
from stackroom.stores.qdrant_access import QdrantAccess

logger = logging.getLogger(__name__)

_CHUNK, _SOURCE, _TEXT = "_chunk_id", "_source_id", "_text"
"""Payload keys beside the metadata, whose keys never begin with an underscore."""
_ID_NAMESPACE = uuid.UUID("9a1cf2c0-6d53-4b0e-8f0c-0f6f6f8ad3a1")
_LOCAL_ROWS = 20_000
"""Rows above which a folder becomes slow and a server is due."""
_PAGE = 1000


def open_collection(location: str, spec: CollectionSpec, create: bool, wait_seconds: float) -> "QdrantStore":
    """Open a collection in a folder or on a server; see :func:`stackroom.stores.base.open_store`."""
    access = QdrantAccess.enter(location, create, wait_seconds)
    try:
        with access.used() as client:
            if not client.collection_exists(spec.name):
                _make(access, spec, create)
            access.hasten(spec.name)
            stored = client.get_collection(spec.name).config.metadata
        identity = Identity.read(spec.name, stored)
        admitted = identity.admit(spec)
        if create:
            _make_indexes(access, admitted)
        return QdrantStore(admitted, access, identity)
    except BaseException:
        access.close()
        raise


def _make(access: QdrantAccess, spec: CollectionSpec, create: bool) -> None:
    if not create:
        raise missing(spec.name, access.where)
    made = Identity.new(spec)
    with access.used() as client:
        client.create_collection(
            spec.name,
            vectors_config=models.VectorParams(size=spec.dimension, distance=models.Distance.COSINE),
            metadata=vars(made),
        )


def _make_indexes(access: QdrantAccess, spec: CollectionSpec) -> None:
    """Index the source id and the declared filter fields; a folder has no indexes.

    Numbers are indexed as float, for an integer index leaves out 2004.5, and a float index holds integers as well.
    """
    if access.is_local:
        return
    numbers = {field.name for field in spec.filter_fields if field.value_type in ("int", "float")}
    with access.used() as client:
        present = client.get_collection(spec.name).payload_schema
        for name in [_SOURCE, TEXT_FIELDS, *(field.name for field in spec.filter_fields)]:
            if name not in present:
                kind = models.PayloadSchemaType.FLOAT if name in numbers else models.PayloadSchemaType.KEYWORD
                client.create_payload_index(spec.name, name, field_schema=kind, wait=True)


class QdrantStore(VectorStore):
    """A collection of Qdrant."""

    backend = "qdrant"
    tolerated_misses = 0.1

    def __init__(self, spec: CollectionSpec, access: QdrantAccess, identity: Identity) -> None:
        super().__init__(spec)
        self._access = access
        self._identity = identity
        self._warned = False
        self._keyword_indexes = frozenset(
            field.name for field in spec.filter_fields if field.value_type in ("string", "list")
        )

    @property
    def instance(self) -> str:
        """Identity of this very collection."""
        return self._identity.instance

    def _reading(self) -> AbstractContextManager[Any]:
        return self._access.used()

    def _writing(self) -> AbstractContextManager[Any]:
        return self._access.used()

    def _check_alive(self) -> None:
        """Raise if the collection was dropped, or dropped and made again, by somebody else."""
        client = self._access.client
        if client.collection_exists(self.spec.name):
            notes = client.get_collection(self.spec.name).config.metadata or {}
            if notes.get("instance") == self.instance:
                return
        raise StoreNotFoundError(f"collection {self.spec.name} at {self._access.where} was dropped")

    def _write(self, rows: Sequence[StoredRow]) -> None:
        points = [
            models.PointStruct(
                id=_point_id(row.chunk_id), vector=np.asarray(row.vector).tolist(), payload=_payload(row)
            )
            for row in rows
        ]
        self._check_alive()
        self._access.client.upsert(self.spec.name, points, wait=True)
        self._warn_of_size()

    def _rewrite(self, rows: Sequence[StoredRow]) -> None:
        self._check_alive()
        self._access.client.batch_update_points(
            self.spec.name,
            [
                models.OverwritePayloadOperation(
                    overwrite_payload=models.SetPayload(payload=_payload(row), points=[_point_id(row.chunk_id)])
                )
                for row in rows
            ],
            wait=True,
        )

    def _delete(self, ids: Sequence[str]) -> None:
        selector = models.PointIdsList(points=[_point_id(chunk_id) for chunk_id in ids])
        self._access.client.delete(self.spec.name, selector, wait=True)

    def _search(self, unit: np.ndarray, n: int, canonical: Canonical | None) -> Found:
        found = self._access.client.query_points(
            self.spec.name,
            query=unit.tolist(),
            limit=n,
            query_filter=self._filter(canonical),
            with_payload=True,
            with_vectors=True,
        )
        return Found([_row(point) for point in found.points])

    def _filter(self, canonical: Canonical | None) -> models.Filter | None:
        translated = None if canonical is None else qdrant_translation(canonical, self._keyword_indexes).condition
        return None if translated is None else models.Filter(**translated)

    def _scan(self, canonical: Canonical | None, batch_size: int) -> Iterator[list[StoredRow]]:
        for points in self._pages(self._filter(canonical), batch_size, payload=True, vectors=True):
            yield [_row(point) for point in points]

    def _pages(
        self, selection: models.Filter | None, size: int, payload: bool | list[str], vectors: bool
    ) -> Iterator[list[models.Record]]:
        offset: Any = None
        while True:
            points, offset = self._access.client.scroll(
                self.spec.name,
                scroll_filter=selection,
                limit=size,
                offset=offset,
                with_payload=payload,
                with_vectors=vectors,
            )
            if points:
                yield points
            if offset is None:
                return

    def _count(self, source_id: str | None) -> int:
        selection = None if source_id is None else _of_source(source_id)
        self._check_alive()
        return self._access.client.count(self.spec.name, count_filter=selection, exact=True).count

    def _ids(self, source_id: str) -> set[str]:
        pages = self._pages(_of_source(source_id), _PAGE, payload=[_CHUNK], vectors=False)
        return {str((point.payload or {})[_CHUNK]) for points in pages for point in points}

    def _source_ids(self) -> set[str]:
        pages = self._pages(None, _PAGE, payload=[_SOURCE], vectors=False)
        return {str((point.payload or {})[_SOURCE]) for points in pages for point in points}

    def _drop(self) -> None:
        self._access.client.delete_collection(self.spec.name)

    def _details(self) -> Mapping[str, Any]:
        return {"at": self._access.where}

    def _warn_of_size(self) -> None:
        if self._access.is_local and not self._warned and self._count(None) > _LOCAL_ROWS:
            self._warned = True
            logger.warning(
                "collection %s has more than %d rows in a Qdrant folder, which compares them one by one; use a Qdrant "
                "server (qdrant:http://host:6333) instead",
                self.spec.name,
                _LOCAL_ROWS,
            )

    def close(self) -> None:
        """Give back the folder or the connection."""
        self._access.close()


def _of_source(source_id: str) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=_SOURCE, match=models.MatchValue(value=source_id))])


def _point_id(chunk_id: str) -> str:
    try:
        if str(uuid.UUID(chunk_id)) == chunk_id:
            return chunk_id
    except ValueError:
        pass
    return str(uuid.uuid5(_ID_NAMESPACE, chunk_id))


def _payload(row: StoredRow) -> dict[str, Any]:
    text_fields = [key for key, value in row.metadata.items() if isinstance(value, str)]
    own = {_CHUNK: row.chunk_id, _SOURCE: row.source_id, _TEXT: row.text, TEXT_FIELDS: text_fields}
    return {**row.metadata, **own}


def _row(point: models.Record | models.ScoredPoint) -> StoredRow:
    payload = dict(sorted((point.payload or {}).items()))
    chunk_id, source_id, text, _ = (payload.pop(key) for key in (_CHUNK, _SOURCE, _TEXT, TEXT_FIELDS))
    return StoredRow(chunk_id, source_id, text, payload, np.asarray(point.vector, dtype=np.float32))
