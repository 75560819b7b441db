"""Collections of a Chroma folder, with the help of the copy that answers filters (``chroma_mirror``)."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from chromadb.errors import ChromaError

from stackroom.artefacts import StoredRow
from stackroom.stores.chroma_access import ChromaAccess
from stackroom.stores.chroma_mirror import ChromaMirror
from stackroom.stores.chroma_store import ChromaStore
from stackroom.stores.collection import CollectionSpec, Found, Identity
from stackroom.stores.filter_language import Canonical

logger = logging.getLogger(__name__)

_COMPARED = 8000
"""Rows up to which all that match are compared with the help of the copy; that takes 10 ms and is exact."""
_MOST_ASKED = 1000
"""Rows asked of the index for a filter that lets many through; 1,000 ids take some 20 ms."""


class MirroredChromaStore(ChromaStore):
    """A collection of Chroma in a folder, with a copy of metadata and vectors that answers filters."""

    def __init__(self, spec: CollectionSpec, access: ChromaAccess, identity: Identity, mirror: ChromaMirror) -> None:
        super().__init__(spec, access, identity)
        self._mirror = mirror
        self._is_copy_given_up = False
        self._copied_as_of: tuple[str | None, int | None] = (None, None)
        """Mark of the folder, and the number of rows if the copy is in step."""

    def _copied_rows(self) -> int | None:
        """Return the number of rows if the copy is in step, else None."""
        if self._copied_as_of[0] is None or self._copied_as_of[0] != self._access.mark:
            total = self._collection.count()
            self._copied_as_of = (self._access.mark, total if self._mirror.is_in_step(total) else None)
        return self._copied_as_of[1]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._access.writing(), self._mirror.session():
            self._is_copy_given_up = False
            yield
            self._copied_as_of = (None, None)

    def _begin(self) -> None:
        """Get the copy ready for the same change; without it where Chroma cannot be read.

        Rows that Chroma lost cannot be read, but be written again; that must not fail because of the copy, which the
        writer after the repair makes anew.
        """
        if self._mirror.is_changing or self._is_copy_given_up:
            return
        try:
            self._mirror.begin(self._collection.count(), self._scan(None, self.max_batch_rows))
        except ChromaError as error:
            self._is_copy_given_up = True
            logger.warning("collection %s in %s is damaged (%s)", self.spec.name, self._access.where, error)

    def _write(self, rows: Sequence[StoredRow]) -> None:
        self._begin()
        super()._write(rows)
        if self._mirror.is_changing:
            self._mirror.write(rows)

    def _relabel(self, rows: Sequence[StoredRow], differences: Sequence[Mapping[str, Any]]) -> None:
        self._begin()
        super()._relabel(rows, differences)
        if self._mirror.is_changing:
            self._mirror.rewrite(rows)

    def _delete(self, ids: Sequence[str]) -> None:
        self._begin()
        super()._delete(ids)
        if self._mirror.is_changing:
            self._mirror.delete(ids)

    def _search(self, unit: np.ndarray, n: int, canonical: Canonical | None) -> Found:
        total = self._copied_rows()
        if total is None:
            return super()._search(unit, n, canonical)
        matching = None if canonical is None else self._mirror.matching(canonical)
        few = total if matching is None else len(matching)
        if few > _COMPARED:
            if matching is None:
                self._has_many = True
                return super()._search(unit, n, None)
            likely = self._likely(unit, min(_MOST_ASKED, 3 * n * total // few), matching)
            if len(likely) >= n:
                return Found(self._read_ids(likely[:n]))
        return Found(self._read_ids(self._mirror.nearest(unit, n, matching)), complete=True)

    def _likely(self, unit: np.ndarray, n: int, matching: np.ndarray) -> list[str]:
        """Return the chunk ids of those of the ``n`` most similar rows that match, best first."""
        found: Any = self._collection.query(query_embeddings=[unit], n_results=n, include=[])
        return self._mirror.which_are(found["ids"][0], matching)

    def _probe(self, unit: np.ndarray, n: int) -> Sequence[StoredRow]:
        return super()._search(unit, n, None).rows

    def _ids(self, source_id: str) -> set[str]:
        return super()._ids(source_id) if self._copied_rows() is None else self._mirror.table.ids(source_id)

    def _source_ids(self) -> set[str]:
        return super()._source_ids() if self._copied_rows() is None else self._mirror.table.source_ids()

    def _drop(self) -> None:
        super()._drop()
        self._mirror.drop()

    def close(self) -> None:
        """Give back the folder and close the copy."""
        self._mirror.close()
        super().close()
