"""A corpus of documents as an article memory: the same searches, answered from the product's own vector store."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from stackroom.artefacts import StoredRow
from stackroom.articles.store_base import AsyncEmbeddingStore, check_batch_size, check_model, query_vector
from stackroom.articles.types import EmbeddingChunk, SearchHit, StoredRecord
from stackroom.articles.worker import WorkerThread
from stackroom.errors import EmbeddingStoreError
from stackroom.stores.base import VectorStore


class AsyncCorpusStore(AsyncEmbeddingStore):
    """Read-only: a corpus is filled by ingesting its folder. A record is a source, its id the source id."""

    def __init__(self, open_store: Callable[[], VectorStore]) -> None:
        """Say how the corpus's collection is opened.

        Args:
            open_store: called once, in the thread in which the store is then used.
        """
        self._open_store = open_store
        self._store: VectorStore | None = None
        self._worker = WorkerThread("corpus-store")

    async def add(self, chunks: Sequence[EmbeddingChunk]) -> None:
        """Refuse if there is anything to add.

        Raises:
            EmbeddingStoreError: always, unless ``chunks`` is empty.
        """
        if chunks:
            raise EmbeddingStoreError("cannot write to a corpus; add the file to its folder and ingest it")

    async def delete_record(self, record_id: str) -> None:
        """Refuse.

        Raises:
            EmbeddingStoreError: always.
        """
        raise EmbeddingStoreError(f"cannot delete {record_id!r} from a corpus; delete the file from its folder")

    async def query(
        self,
        vector: Sequence[float],
        top_k: int = 5,
        min_score: float = -1.0,
        exclude_record_id: str | None = None,
    ) -> list[SearchHit]:
        """See :meth:`AsyncEmbeddingStore.query`."""
        unit = query_vector(vector, top_k)
        if unit is None:
            return []
        where = None if exclude_record_id is None else {"source_id": {"$ne": exclude_record_id}}
        found = await self._worker.run(lambda: self._opened().query(unit, top_k, where))
        hits = [
            SearchHit(hit.source_id, _index(hit.metadata), hit.text, hit.score, dict(hit.metadata))
            for hit in found
            if hit.score >= min_score
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.record_id, hit.chunk_index))

    async def count(self) -> int:
        """See :meth:`AsyncEmbeddingStore.count`."""
        return await self._worker.run(lambda: self._opened().count())

    async def iter_records(self, batch_size: int = 100) -> AsyncIterator[StoredRecord]:
        """See :meth:`AsyncEmbeddingStore.iter_records`; the texts of the whole corpus are read at the first step."""
        check_batch_size(batch_size)
        records: dict[str, list[StoredRow]] = await self._worker.run(self._read)
        for source_id in sorted(records):
            rows = sorted(records[source_id], key=lambda row: _index(row.metadata))
            yield StoredRecord(source_id, tuple(row.text for row in rows), dict(rows[0].metadata))

    async def bind_model(self, model: str, *, record: bool) -> None:  # noqa: ARG002 - a corpus has its model already
        """See :meth:`AsyncEmbeddingStore.bind_model`."""
        spec = await self._worker.run(lambda: self._opened().spec)
        check_model(spec.model, model, f"the corpus {spec.corpus!r}")

    async def aclose(self) -> None:
        """Close the store and end the thread; the next use opens it again."""
        await self._worker.stop(self._close)

    def _opened(self) -> VectorStore:
        self._store = self._store or self._open_store()
        return self._store

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _read(self) -> dict[str, list[StoredRow]]:
        records: dict[str, list[StoredRow]] = {}
        for row in self._opened().scan():
            kept = StoredRow(row.chunk_id, row.source_id, row.text, row.metadata)
            records.setdefault(row.source_id, []).append(kept)
        return records


def _index(metadata: Any) -> int:
    index = metadata.get("chunk_index")
    return index if isinstance(index, int) else 0
