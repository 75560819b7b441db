"""What stages hand to one another, and how it lies on disk.

Types first, then reading and writing. Every artefact carries its schema name and the fingerprint it was made for: JSON
artefacts in an envelope, Parquet files in the footer, pickles in a leading header object. Writers are atomic.
"""

import contextlib
import io
import json
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stackroom.atomic import atomic_write, write_text
from stackroom.errors import ArtefactError, UnsafePickleError
from stackroom.fingerprint import Fingerprint
from stackroom.identity import artefact_name

MetadataValue = str | int | float | bool | list[str]
"""The only values stores keep. None and empty lists are dropped; anything else is an error that names the key."""

CHUNKS_SCHEMA = pa.schema(
    [
        pa.field("chunk_id", pa.string(), nullable=False),
        pa.field("source_id", pa.string(), nullable=False),
        pa.field("chunk_index", pa.int32(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("headings", pa.list_(pa.string()), nullable=False),
        pa.field("page_first", pa.int32()),
        pa.field("page_last", pa.int32()),
        pa.field(
            "bboxes",
            pa.list_(
                pa.struct(
                    [
                        pa.field("page", pa.int32()),
                        pa.field("l", pa.float32()),
                        pa.field("t", pa.float32()),
                        pa.field("r", pa.float32()),
                        pa.field("b", pa.float32()),
                    ]
                )
            ),
        ),
        pa.field("doc_items", pa.list_(pa.string())),
        pa.field("token_count", pa.int32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("text_hash", pa.string(), nullable=False),
    ]
)
"""Columns of a chunks artefact. Boxes are in points, origin at the top left of the page, y downwards."""

EMBEDDINGS_SCHEMA_NAME = "stackroom.embeddings/1"
CHUNKS_SCHEMA_NAME = "stackroom.chunks/1"


@dataclass(frozen=True)
class Box:
    """A rectangle on a page: points, origin top left, y downwards (``t`` < ``b``)."""

    page: int
    l: float  # noqa: E741 - docling's own names
    t: float
    r: float
    b: float


@dataclass(frozen=True)
class ChunkBody:
    """A chunk before it belongs to a source: what conversion and chunking make of a file's content.

    ``kind`` is one of ``text``, ``table``, ``picture``, ``code``, ``fallback``.
    """

    text: str
    headings: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    boxes: tuple[Box, ...] = ()
    doc_items: tuple[str, ...] = ()
    token_count: int = 0
    kind: str = "text"


@dataclass(frozen=True)
class Chunk:
    """A token-bounded piece of a source, with its provenance."""

    chunk_id: str
    source_id: str
    index: int
    body: ChunkBody
    text_hash: str

    @property
    def embedded_text(self) -> str:
        """What is embedded and indexed for this chunk."""
        return embedded_text(self.body.headings, self.body.text)


def embedded_text(headings: Sequence[str], text: str) -> str:
    """Return what is embedded and indexed, everywhere: the headings, one per line, then the text."""
    return "\n".join([*headings, text])


@dataclass(frozen=True)
class StoredRow:
    """One row of a vector store."""

    chunk_id: str
    source_id: str
    text: str
    """The chunk's normalised body, without headings."""
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    vector: np.ndarray | None = None
    """float32, shape (dimension,)."""


SUFFIXES = ("json", "parquet", "pkl", "unanswered")
"""Of all files a stage may write for a source."""


@dataclass(frozen=True)
class ArtefactFolder:
    """Where the artefacts of one corpus lie: ``<root>/<stage>/<artefact name>.<suffix>``."""

    root: Path

    def path(self, stage: str, source: str, suffix: str) -> Path:
        """Return the path of a source's artefact of a stage.

        Raises:
            ValueError: the suffix is none of :data:`SUFFIXES`; it would be left behind when the source is deleted.
        """
        return Path(self.path_text(stage, source, suffix))

    def path_text(self, stage: str, source: str, suffix: str) -> str:
        """Return :meth:`path` as text, for those who ask for every file of a corpus at every refresh."""
        if suffix not in SUFFIXES:
            raise ValueError(f"{suffix!r} is not a suffix of artefacts; add it to SUFFIXES")
        return f"{self.root}/{stage}/{artefact_name(source)}.{suffix}"

    def delete(self, source: str) -> int:
        """Delete every artefact of a source and return how many there were."""
        # Looking for them in folders of ten thousand files takes a fifth of a second; there are a few names to try.
        name, deleted = artefact_name(source), 0
        for stage in os.scandir(self.root) if self.root.exists() else ():
            for suffix in SUFFIXES if stage.is_dir() else ():
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{stage.path}/{name}.{suffix}")  # noqa: PTH108 - dozens of times per source
                    deleted += 1
        return deleted


@dataclass(frozen=True)
class JsonArtefact:
    """A JSON artefact as read: what it says, and what it was made for."""

    schema: str
    fingerprint: str
    ingredients: Mapping[str, Any]
    data: Any


def write_json(path: Path, schema: str, made_for: Fingerprint, data: Any) -> None:
    """Write a JSON artefact atomically.

    Args:
        path: target.
        schema: schema name with version, for example ``stackroom.ocr_classification/1``.
        made_for: fingerprint the content was computed for.
        data: JSON-serialisable content.
    """
    envelope = {
        "schema": schema,
        "fingerprint": made_for.digest,
        "ingredients": dict(made_for.ingredients),
        "data": data,
    }
    write_text(path, json.dumps(envelope, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def read_json(path: Path, schema: str) -> JsonArtefact | None:
    """Read a JSON artefact; None when there is none, or it is damaged, or of another schema (so: make it again)."""
    try:
        envelope = json.loads(path.read_text(encoding="utf-8"))
        artefact = JsonArtefact(envelope["schema"], envelope["fingerprint"], envelope["ingredients"], envelope["data"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return artefact if artefact.schema == schema else None


def write_parquet(path: Path, table: pa.Table, schema: str, made_for: Fingerprint) -> None:
    """Write a Parquet artefact atomically, with schema name, fingerprint and ingredients in the footer."""
    footer = {
        **(table.schema.metadata or {}),
        b"stackroom.schema": schema.encode(),
        b"stackroom.fingerprint": made_for.digest.encode(),
        b"stackroom.ingredients": json.dumps(dict(made_for.ingredients), ensure_ascii=False).encode("utf-8"),
    }
    with atomic_write(path) as handle:
        pq.write_table(table.replace_schema_metadata(footer), handle, compression="zstd")


@dataclass(frozen=True)
class ParquetFooter:
    """What a Parquet artefact says about itself."""

    schema: str
    fingerprint: str
    ingredients: Mapping[str, Any]
    rows: int


def read_footer(path: Path, schema: str) -> ParquetFooter | None:
    """Read the footer of a Parquet artefact; None when it is absent, damaged, or of another schema."""
    try:
        file = pq.ParquetFile(path)
        metadata = file.schema_arrow.metadata or {}
        footer = ParquetFooter(
            metadata[b"stackroom.schema"].decode(),
            metadata[b"stackroom.fingerprint"].decode(),
            json.loads(metadata[b"stackroom.ingredients"]),
            file.metadata.num_rows,
        )
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return None
    return footer if footer.schema == schema else None


def load_table_libraries() -> None:
    """Load what pyarrow loads with the first table: pandas, in a quarter of a second. For those who wait anyway."""
    pa.array([""])


def chunks_table(chunks: Sequence[Chunk]) -> pa.Table:
    """Return chunks as a table of :data:`CHUNKS_SCHEMA`."""
    return pa.Table.from_pylist(
        [
            {
                "chunk_id": chunk.chunk_id,
                "source_id": chunk.source_id,
                "chunk_index": chunk.index,
                "text": chunk.body.text,
                "headings": list(chunk.body.headings),
                "page_first": min(chunk.body.pages, default=None),
                "page_last": max(chunk.body.pages, default=None),
                "bboxes": [vars(box) for box in chunk.body.boxes],
                "doc_items": list(chunk.body.doc_items),
                "token_count": chunk.body.token_count,
                "kind": chunk.body.kind,
                "text_hash": chunk.text_hash,
            }
            for chunk in chunks
        ],
        schema=CHUNKS_SCHEMA,
    )


def read_chunks(path: Path) -> list[Chunk]:
    """Read a chunks artefact.

    Raises:
        ArtefactError: it is missing or not a chunks artefact of this version.
    """
    if read_footer(path, CHUNKS_SCHEMA_NAME) is None:
        raise ArtefactError(f"{path} is not a readable chunks artefact; materialize `chunks` for this file again")
    chunks = []
    for row in pq.read_table(path).to_pylist():
        first, last = row["page_first"], row["page_last"]
        body = ChunkBody(
            text=row["text"],
            headings=tuple(row["headings"]),
            pages=() if first is None else tuple(range(first, last + 1)),
            boxes=tuple(Box(**box) for box in row["bboxes"] or ()),
            doc_items=tuple(row["doc_items"] or ()),
            token_count=row["token_count"],
            kind=row["kind"],
        )
        chunks.append(Chunk(row["chunk_id"], row["source_id"], row["chunk_index"], body, row["text_hash"]))
    return chunks


def embeddings_table(chunk_ids: Sequence[str], vectors: np.ndarray) -> pa.Table:
    """Return chunk ids and vectors ((n, dimension) float32) as a table with columns ``chunk_id`` and ``vector``."""
    dimension = int(vectors.shape[1]) if vectors.ndim == 2 else 0
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1), type=pa.float32())
    column = (
        pa.FixedSizeListArray.from_arrays(flat, dimension) if dimension else pa.array([], pa.list_(pa.float32(), 1))
    )
    return pa.table({"chunk_id": pa.array(list(chunk_ids), pa.string()), "vector": column})


def read_embeddings(path: Path) -> tuple[list[str], np.ndarray]:
    """Read an embeddings artefact: chunk ids, and vectors (n, dimension) float32.

    Raises:
        ArtefactError: it is missing or not an embeddings artefact of this version.
    """
    if read_footer(path, EMBEDDINGS_SCHEMA_NAME) is None:
        raise ArtefactError(f"{path} is not a readable embeddings artefact; materialize `embeddings` again")
    table = pq.read_table(path)
    column = table.column("vector").combine_chunks()
    ids: list[str] = table.column("chunk_id").to_pylist()
    if not ids:
        return [], np.zeros((0, 0), dtype=np.float32)
    return ids, np.asarray(column.flatten()).reshape(len(ids), -1).astype(np.float32, copy=False)


def dump_plain(value: Any) -> bytes:
    """Pickle a value made of built-in containers, strings and numbers; such a pickle refers to no global."""
    return pickle.dumps(value, protocol=4)


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise UnsafePickleError(
            f"the pickle asks for {module}.{name}; only built-in containers, text and numbers are loaded, "
            "because anything else can run code"
        )


def load_plain(data: bytes) -> Any:
    """Load a pickle of plain values; nothing in it is ever executed.

    Raises:
        UnsafePickleError: it refers to a class or function.
        ArtefactError: it is damaged.
    """
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
        raise ArtefactError(f"the pickle is damaged: {error}") from error
