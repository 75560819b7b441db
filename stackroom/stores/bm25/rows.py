"""What an index shows of a hit: chunk id, source, text and metadata, in one memory-mapped Arrow file.

Rows stand in the order of their sources, and within a source in reading order, so that the neighbours of a chunk are
the rows beside it.
"""

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stackroom.artefacts import MetadataValue
from stackroom.stores.base import StoreHit
from stackroom.stores.bm25.arrays import open_array, open_arrow, save_array, sync_file
from stackroom.stores.bm25.corpus import SourceCorpus

BATCH_ROWS = 4096
"""Rows per Arrow batch; a row's batch is found by division."""

_SCHEMA = pa.schema(
    [
        pa.field("chunk_id", pa.string(), nullable=False),
        pa.field("source_id", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("metadata", pa.large_string(), nullable=False),
    ]
)
_FILE, _HASHES, _HASH_ROWS = "rows.arrow", "id_hashes.npy", "id_rows.npy"


class RowWriter:
    """Writes rows in batches; memory is bounded by two batches and eight bytes a row."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sink = pa.OSFile(str(folder / _FILE), "wb")
        self._writer = pa.ipc.new_file(self._sink, _SCHEMA)
        self._new: list[tuple[str, str, str, str]] = []
        self._waiting = _SCHEMA.empty_table()
        self._hashes = array("Q")

    def add(self, corpus: SourceCorpus) -> None:
        """Append the chunks of a source."""
        source = corpus.header.source_id
        for chunk, text, metadata in zip(corpus.chunk_ids, corpus.texts, corpus.metadata, strict=True):
            self._hashes.append(_hash(chunk))
            self._new.append((chunk, source, text, json.dumps(metadata, ensure_ascii=False)))
            if len(self._new) == BATCH_ROWS:
                self._write_full()

    def carry(self, rows: "Rows", first: int, last: int) -> None:
        """Append rows ``first`` to ``last`` (without) of another index."""
        for piece in rows.batches(first, last):
            self._take_new()
            self._waiting = pa.concat_tables([self._waiting, pa.Table.from_batches([piece])])
            self._write_full()
        self._hashes.frombytes(rows.hashes()[first:last].tobytes())

    def close(self) -> None:
        """Write what is left and the table of chunk ids."""
        self._write_full()
        if self._waiting.num_rows:
            self._write(self._waiting)
        self._writer.close()
        self._sink.close()
        sync_file(self._folder / _FILE)
        hashes = np.array(self._hashes, dtype=np.uint64)
        order = np.argsort(hashes, kind="stable")
        save_array(self._folder / _HASHES, hashes[order])
        save_array(self._folder / _HASH_ROWS, order.astype(np.int32))

    def _take_new(self) -> None:
        if self._new:
            columns = list(zip(*self._new, strict=True))
            arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
            self._waiting = pa.concat_tables([self._waiting, pa.Table.from_arrays(arrays, schema=_SCHEMA)])
            self._new = []

    def _write_full(self) -> None:
        """Write full batches; what is left over waits."""
        self._take_new()
        while self._waiting.num_rows >= BATCH_ROWS:
            self._write(self._waiting.slice(0, BATCH_ROWS))
            self._waiting = self._waiting.slice(BATCH_ROWS)

    def _write(self, table: pa.Table) -> None:
        self._writer.write_batch(table.combine_chunks().to_batches()[0])


class Rows:
    """The rows of an opened index. Safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        self._reader = open_arrow(folder / _FILE)
        self._hashes = open_array(folder / _HASHES)
        self._hash_rows = open_array(folder / _HASH_ROWS)
        self._batches: dict[int, pa.RecordBatch] = {}

    def __len__(self) -> int:
        return int(self._hashes.size)

    def hit(self, row: int, score: float) -> StoreHit:
        """Return a row as a hit."""
        batch, place = self._place(row)
        chunk, source, text, metadata = (batch.column(column)[place].as_py() for column in range(4))
        return StoreHit(chunk, source, text, _metadata(metadata), score)

    def source_of(self, row: int) -> str:
        """Return the source id of a row."""
        batch, place = self._place(row)
        return str(batch.column(1)[place].as_py())

    def find(self, chunk_id: str) -> int | None:
        """Return the row of a chunk, or None."""
        wanted = np.uint64(_hash(chunk_id))
        first = int(np.searchsorted(self._hashes, wanted, side="left"))
        while first < self._hashes.size and self._hashes[first] == wanted:
            row = int(self._hash_rows[first])
            batch, place = self._place(row)
            if batch.column(0)[place].as_py() == chunk_id:
                return row
            first += 1
        return None

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Yield rows ``first`` to ``last`` (without), in pieces of at most a batch."""
        for number in range(first // BATCH_ROWS, -(-last // BATCH_ROWS)):
            begin = number * BATCH_ROWS
            low, high = max(first, begin), min(last, begin + BATCH_ROWS)
            yield self._reader.get_batch(number).slice(low - begin, high - low)

    def hashes(self) -> np.ndarray:
        """Return the hash of every row's chunk id: (rows,) uint64."""
        hashes = np.empty_like(self._hashes)
        hashes[self._hash_rows] = self._hashes
        return hashes

    def texts(self) -> Iterator[str]:
        """Yield the text of every row in order."""
        for number in range(self._reader.num_record_batches):
            yield from self._reader.get_batch(number).column(2).to_pylist()

    def _place(self, row: int) -> tuple[pa.RecordBatch, int]:
        number, place = divmod(row, BATCH_ROWS)
        batch = self._batches.get(number)
        if batch is None:
            batch = self._batches[number] = self._reader.get_batch(number)
        return batch, place


def _metadata(text: str) -> Mapping[str, MetadataValue]:
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _hash(chunk_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(chunk_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
