"""Stores under test and recorded cases of the reference."""

import json
import math

import pytest

from stackroom.articles import AsyncSqliteEmbeddingStore, EmbeddingChunk, InMemoryEmbeddingStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    return InMemoryEmbeddingStore() if request.param == "memory" else AsyncSqliteEmbeddingStore(tmp_path / "m.sqlite")


@pytest.fixture
def cases(shared):
    """Recorded cases by function name; NaN and Infinity are written as text there."""
    recorded = json.loads((shared / "vectors" / "records-and-articles.json").read_text())["vectors"]

    def of(function):
        return [case for case in recorded if case["function"] == function]

    return of


def chunk(record_id, index, vector, text=None, **metadata):
    numbers = [{"NaN": math.nan, "Infinity": math.inf}.get(value, value) for value in vector]
    return EmbeddingChunk(record_id, index, text or f"{record_id}{index}", numbers, metadata)


def keys(hits):
    return [(hit.record_id, hit.chunk_index) for hit in hits]
