"""The rows of a source as the stores keep them: the one place where chunks and metadata come together."""

from stackroom.artefacts import StoredRow, read_embeddings
from stackroom.fingerprint import Fingerprint, fingerprint
from stackroom.metadata_map import resolver
from stackroom.outcome import Failed, ReasonCode
from stackroom.stages import chunks as chunks_stage
from stackroom.stages import embeddings as embeddings_stage
from stackroom.stages import metadata_map, source_document
from stackroom.stages.bench import FileWork
from stackroom.stores.metadata import stored_metadata

POLICY_VERSION = 1
"""Version of how metadata becomes stored metadata."""


def plain_rows(work: FileWork) -> tuple[list[StoredRow], Fingerprint] | Failed:
    """Return the rows of a source without vectors, and the fingerprint of everything in them."""
    chunks, mapped, document = chunks_stage.read(work), metadata_map.read(work), source_document.read(work)
    if chunks is None:
        return source_document.missing(chunks_stage.STAGE)
    if mapped is None:
        return source_document.missing(metadata_map.STAGE)
    if document is None:
        return source_document.missing(source_document.STAGE)
    entry = mapped.data["merged"]
    content_hash = document.data["content_hash"]
    made_for = fingerprint(
        "rows",
        POLICY_VERSION,
        texts=embeddings_stage.texts_digest(chunks),
        content_hash=content_hash,
        entry=entry,
    )
    resolved = resolver(entry)
    rows = [
        StoredRow(
            chunk_id=chunk.chunk_id,
            source_id=work.source_id,
            text=chunk.body.text,
            metadata=stored_metadata(work.source_id, content_hash, chunk, resolved(chunk.body.headings)),
        )
        for chunk in chunks
    ]
    return rows, made_for


def rows_with_vectors(work: FileWork) -> tuple[list[StoredRow], Fingerprint] | Failed:
    """Return the rows of a source with their vectors, and the fingerprint of everything in them."""
    plain = plain_rows(work)
    if isinstance(plain, Failed):
        return plain
    rows, rows_fingerprint = plain
    footer = embeddings_stage.read_fingerprint(work)
    if footer is None:
        return source_document.missing(embeddings_stage.STAGE)
    made_with = footer.ingredients.get("model")
    if made_with != work.bench.model.key:
        return Failed(
            ReasonCode.MISSING_INPUT,
            f"the embeddings were made with {made_with}, not with {work.bench.model.key}; materialize them again",
        )
    ids, vectors = read_embeddings(work.artefact(embeddings_stage.STAGE, "parquet"))
    if ids != [row.chunk_id for row in rows]:
        return Failed(
            ReasonCode.MISSING_INPUT, "the embeddings belong to an older version of the chunks; materialize them again"
        )
    made_for = fingerprint("rows_with_vectors", 1, rows=rows_fingerprint.digest, embeddings=footer.fingerprint)
    return [
        StoredRow(row.chunk_id, row.source_id, row.text, row.metadata, vector)
        for row, vector in zip(rows, vectors, strict=True)
    ], made_for
