"""Artefacts carry what they were made for, and a hostile or damaged one is refused."""

import json
import os
import pickle

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from stackroom.artefacts import (
    CHUNKS_SCHEMA,
    CHUNKS_SCHEMA_NAME,
    EMBEDDINGS_SCHEMA_NAME,
    ArtefactFolder,
    Box,
    Chunk,
    ChunkBody,
    chunks_table,
    dump_plain,
    embedded_text,
    embeddings_table,
    load_plain,
    read_chunks,
    read_embeddings,
    read_footer,
    read_json,
    write_json,
    write_parquet,
)
from stackroom.errors import ArtefactError, UnsafePickleError
from stackroom.fingerprint import fingerprint

MADE_FOR = fingerprint("chunks", 1, content_hash="abc")
CHUNK = Chunk(
    "id-0",
    "a/b.pdf",
    0,
    ChunkBody("Body", ("One", "Two"), (2, 3), (Box(2, 1.0, 2.0, 3.0, 4.0),), ("#/texts/1",), 5, "text"),
    "hash",
)
BARE = Chunk("id-1", "a/b.pdf", 1, ChunkBody("Nothing else", token_count=4, kind="fallback"), "hash2")


def test_chunks_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "c.parquet"
    write_parquet(path, chunks_table([CHUNK, BARE]), CHUNKS_SCHEMA_NAME, MADE_FOR)
    assert read_chunks(path) == [CHUNK, BARE]


def test_chunk_files_open_with_pandas_and_pyarrow_under_the_documented_schema(tmp_path):
    path = tmp_path / "c.parquet"
    write_parquet(path, chunks_table([CHUNK, BARE]), CHUNKS_SCHEMA_NAME, MADE_FOR)
    assert pq.read_schema(path).remove_metadata().equals(CHUNKS_SCHEMA)
    frame = pd.read_parquet(path)
    assert list(frame["chunk_index"]) == [0, 1]
    footer = pq.read_metadata(path).metadata
    assert footer[b"stackroom.fingerprint"].decode() == MADE_FOR.digest
    assert json.loads(footer[b"stackroom.ingredients"])["content_hash"] == "abc"


def test_embeddings_come_back_exactly(tmp_path):
    path = tmp_path / "e.parquet"
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    write_parquet(path, embeddings_table(["a", "b", "c"], vectors), EMBEDDINGS_SCHEMA_NAME, MADE_FOR)
    ids, read = read_embeddings(path)
    assert ids == ["a", "b", "c"]
    np.testing.assert_array_equal(read, vectors)


def test_no_vectors_at_all_are_a_valid_artefact(tmp_path):
    path = tmp_path / "e.parquet"
    write_parquet(path, embeddings_table([], np.zeros((0, 0), np.float32)), EMBEDDINGS_SCHEMA_NAME, MADE_FOR)
    assert read_embeddings(path)[0] == []


def test_a_damaged_or_foreign_artefact_reads_as_absent(tmp_path):
    broken = tmp_path / "x.parquet"
    broken.write_bytes(b"PAR1 not really")
    assert read_footer(broken, CHUNKS_SCHEMA_NAME) is None
    assert read_footer(tmp_path / "absent", CHUNKS_SCHEMA_NAME) is None
    with pytest.raises(ArtefactError, match="materialize `chunks`"):
        read_chunks(broken)
    json_path = tmp_path / "x.json"
    write_json(json_path, "other/1", MADE_FOR, {})
    assert read_json(json_path, "stackroom.lint_report/1") is None
    json_path.write_text("{")
    assert read_json(json_path, "other/1") is None


def test_a_pickle_that_would_run_code_is_refused_and_runs_nothing(tmp_path):
    marker = tmp_path / "ran"

    class Hostile:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    with pytest.raises(UnsafePickleError, match=r"posix\.system"):
        load_plain(pickle.dumps({"rows": [Hostile()]}))
    assert not marker.exists()


def test_plain_values_survive_the_pickle():
    value = {"rows": [("a", 1, 2.5, None, True, ["x"])]}
    assert load_plain(dump_plain(value)) == value


@pytest.mark.parametrize("data", [b"", b"junk", dump_plain([1, 2])[:-3]])
def test_a_damaged_pickle_is_an_artefact_error(data):
    with pytest.raises(ArtefactError):
        load_plain(data)


def test_headings_stand_before_the_text_one_per_line():
    assert embedded_text(("A", "B"), "c") == "A\nB\nc"
    assert embedded_text((), "c") == "c"


def test_deleting_a_source_leaves_nothing_of_it_and_all_of_the_others(tmp_path):
    folder = ArtefactFolder(tmp_path / "notes")
    assert folder.delete("a.md") == 0
    for source in ("a.md", "a.md.json"):
        for stage, suffix in (("chunks", "parquet"), ("chunks", "json"), ("bm25_corpus", "pkl")):
            path = folder.path(stage, source, suffix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    (tmp_path / "notes" / "corpus_lint_report.json").write_text("{}")
    assert folder.delete("a.md") == 3
    left = sorted(path.name for path in tmp_path.rglob("*.*"))
    other = {folder.path("chunks", "a.md.json", suffix).name for suffix in ("parquet", "json", "pkl")}
    assert set(left) == {*other, "corpus_lint_report.json"}
    with pytest.raises(ValueError, match="'txt' is not a suffix"):
        folder.path("chunks", "a.md", "txt")
