"""The article memory in a SQLite file."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from stackroom.articles.sqlite_file import ChunkFile
from stackroom.articles.store_base import (
    AsyncEmbeddingStore,
    check_batch_size,
    check_records,
    encode,
    query_vector,
)
from stackroom.articles.types import EmbeddingChunk, SearchHit, StoredRecord
from stackroom.articles.worker import WorkerThread


class AsyncSqliteEmbeddingStore(AsyncEmbeddingStore):
    """A durable memory: unit vectors as float32 in one file that several processes may use at once.

    Similarity is an exact scan: the vectors are read once, kept in memory until a write from anywhere, and scored in
    one matrix product. Every operation runs in the store's own thread, one after another, each in one transaction; a
    cancelled caller gets its cancellation when the operation under way has ended.
    """

    def __init__(self, path: str | Path) -> None:
        """Name the file; it is opened, and its schema created, at the first use.

        Args:
            path: SQLite file, or ``:memory:`` for one that lasts until it is closed.
        """
        self._file = ChunkFile(path)
        self._worker = WorkerThread("article-memory")

    async def add(self, chunks: Sequence[EmbeddingChunk]) -> None:
        """See :meth:`AsyncEmbeddingStore.add`."""
        encoded = encode(chunks)
        if encoded:
            await self._worker.run(lambda: self._file.add(encoded))

    async def delete_record(self, record_id: str) -> None:
        """See :meth:`AsyncEmbeddingStore.delete_record`."""
        await self._worker.run(lambda: self._file.delete(record_id))

    async def replace_record(self, record_id: str, chunks: Sequence[EmbeddingChunk]) -> None:
        """See :meth:`AsyncEmbeddingStore.replace_record`; one transaction."""
        check_records(record_id, chunks)
        encoded = encode(chunks)
        await self._worker.run(lambda: self._file.replace(record_id, encoded))

    async def query(
        self,
        vector: Sequence[float],
        top_k: int = 5,
        min_score: float = -1.0,
        exclude_record_id: str | None = None,
    ) -> list[SearchHit]:
        """See :meth:`AsyncEmbeddingStore.query`. A damaged row is passed over and logged."""
        unit = query_vector(vector, top_k)
        # Even a query that cannot match opens the file: a newer version must be refused, not answered with nothing.
        if unit is None:
            await self.count()
            return []
        return await self._worker.run(lambda: self._file.query(unit, top_k, min_score, exclude_record_id))

    async def count(self) -> int:
        """See :meth:`AsyncEmbeddingStore.count`."""
        return await self._worker.run(self._file.count)

    async def iter_records(self, batch_size: int = 100) -> AsyncIterator[StoredRecord]:
        """See :meth:`AsyncEmbeddingStore.iter_records`.

        Each batch is one transaction and goes on after the last record of the one before: no record repeats, and one
        written meanwhile is yielded if its id sorts after that point.

        Raises:
            EmbeddingStoreError: the file cannot be read, or a record's metadata is damaged.
        """
        check_batch_size(batch_size)
        after: str | None = None
        while True:
            batch = await self._worker.run(partial(self._file.records, after, batch_size))
            for record in batch:
                yield record
            if len(batch) < batch_size:
                return
            after = batch[-1].record_id

    async def bind_model(self, model: str, *, record: bool) -> None:
        """See :meth:`AsyncEmbeddingStore.bind_model`; the model is recorded in the file."""
        await self._worker.run(lambda: self._file.bind_model(model, record))

    async def aclose(self) -> None:
        """Close the file and end the thread, after what is under way; the next use opens it again."""
        await self._worker.stop(self._file.close)
