"""Stage 5: a vector for every chunk. An artefact of its own, so that moving a store never embeds anything twice."""

import hashlib
from collections.abc import Sequence

import numpy as np

from stackroom.artefacts import (
    EMBEDDINGS_SCHEMA_NAME,
    Chunk,
    ParquetFooter,
    embeddings_table,
    read_footer,
    write_parquet,
)
from stackroom.errors import EmbeddingError, EmbeddingUnavailableError
from stackroom.fingerprint import fingerprint
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, ReasonCode, Unchanged
from stackroom.stages import chunks as chunks_stage
from stackroom.stages import source_document
from stackroom.stages.bench import FileWork

STAGE = "embeddings"
VERSION = 1


def run(work: FileWork) -> Outcome:
    """Embed the chunks whose text the cache does not know."""
    chunks = chunks_stage.read(work)
    if chunks is None:
        return source_document.missing(chunks_stage.STAGE)
    model = work.bench.model
    made_for = fingerprint(STAGE, VERSION, texts=texts_digest(chunks), model=model.key)
    target = work.artefact(STAGE, "parquet")
    footer = read_footer(target, EMBEDDINGS_SCHEMA_NAME)
    summary = {"model": model.name, "model_key": model.key, "dimension": model.dimension, "vectors": len(chunks)}
    checks = (CheckResult("vectors_valid", passed=True, message="all vectors are finite, non-zero and complete"),)
    if footer and footer.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, {**summary, "reused": len(chunks), "new": 0}, checks)
    try:
        embedded = work.bench.embedder.embed_counted([chunk.embedded_text for chunk in chunks])
    except EmbeddingUnavailableError as error:
        return Failed(ReasonCode.STORE_UNAVAILABLE, f"embedding failed: {error}", retryable=True)
    except EmbeddingError as error:
        return Failed(ReasonCode.INTERNAL_ERROR, f"embedding failed: {error}")
    problem = _problem(embedded.vectors, len(chunks), model.dimension)
    if problem:
        return Failed(ReasonCode.INTERNAL_ERROR, f"the model {model.name} gave unusable vectors: {problem}")
    table = embeddings_table([chunk.chunk_id for chunk in chunks], embedded.vectors)
    write_parquet(target, table, EMBEDDINGS_SCHEMA_NAME, made_for)
    return Produced(made_for.digest, {**summary, "reused": embedded.reused, "new": embedded.new}, checks)


def read_fingerprint(work: FileWork) -> ParquetFooter | None:
    """Return the footer of this stage's artefact, if there is one."""
    return read_footer(work.artefact(STAGE, "parquet"), EMBEDDINGS_SCHEMA_NAME)


def texts_digest(chunks: Sequence[Chunk]) -> str:
    """Return a hash over ids and texts of all chunks, in order."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(f"{chunk.chunk_id}{chunk.text_hash}".encode())
    return digest.hexdigest()[:32]


def _problem(vectors: np.ndarray, rows: int, dimension: int) -> str | None:
    if vectors.shape != (rows, dimension):
        return f"shape {vectors.shape} instead of {(rows, dimension)}"
    if rows and not np.isfinite(vectors).all():
        return "non-finite values"
    if rows and (np.linalg.norm(vectors, axis=1) == 0).any():
        return "zero vectors"
    return None
