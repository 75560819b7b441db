"""The vector cache: several processes, one file, nothing lost, damage named."""

import multiprocessing
import sqlite3

import numpy as np
import pytest

from stackroom.embedding.cache import VectorCache
from stackroom.errors import EmbeddingError
from stackroom.identity import text_hash


def rows(numbers, dimension=4):
    return {text_hash(f"text {number}"): np.full(dimension, number, dtype=np.float32) for number in numbers}


def test_vectors_come_back_exactly_after_reopening(tmp_path):
    vectors = {text_hash("a"): np.array([0.1, -2.5e-30, 3e20], dtype=np.float32)}
    cache = VectorCache(tmp_path / "deep" / "er" / "cache.sqlite")
    cache.put("m", vectors)
    cache.close()
    found = VectorCache(cache.path).get("m", [text_hash("a"), text_hash("b")], 3)
    assert found.keys() == vectors.keys()
    np.testing.assert_array_equal(found[text_hash("a")], vectors[text_hash("a")])


def test_vectors_of_another_model_or_length_are_not_found(tmp_path):
    cache = VectorCache(tmp_path / "cache.sqlite")
    cache.put("m", rows([1]))
    assert cache.get("other", list(rows([1])), 4) == {}
    assert cache.get("m", list(rows([1])), 8) == {}
    cache.put("m", rows([1], dimension=8))
    assert len(cache.get("m", list(rows([1])), 8)) == 1


def test_more_vectors_than_sqlite_has_variables_are_looked_up(tmp_path):
    cache = VectorCache(tmp_path / "cache.sqlite")
    cache.put("m", rows(range(40_000)))
    found = cache.get("m", list(rows(range(39_000, 80_000))), 4)
    assert sorted(int(vector[0]) for vector in found.values()) == list(range(39_000, 40_000))


def test_facts_are_remembered(tmp_path):
    cache = VectorCache(tmp_path / "cache.sqlite")
    assert cache.fact("dimension") is None
    cache.remember("dimension", "3")
    cache.remember("dimension", "4")
    assert VectorCache(cache.path).fact("dimension") == "4"


def test_a_file_that_is_no_database_is_named_with_a_remedy(tmp_path):
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"not a database at all" * 300)
    with pytest.raises(EmbeddingError, match=r"cache\.sqlite.*delete the file"):
        VectorCache(path).get("m", [text_hash("a")], 4)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddingError, match=r"cache\.sqlite cannot be made"):
        VectorCache(tmp_path / "file" / "cache.sqlite").fact("x")


def test_a_half_written_row_counts_as_absent(tmp_path):
    cache = VectorCache(tmp_path / "cache.sqlite")
    cache.put("m", rows([1, 2]))
    with sqlite3.connect(cache.path) as connection:
        connection.execute(
            "UPDATE vectors SET vector = x'0000' WHERE text_hash = ?", [bytes.fromhex(next(iter(rows([1]))))]
        )
    assert [int(vector[0]) for vector in cache.get("m", list(rows([1, 2])), 4).values()] == [2]


def _write(path, start, barrier):
    barrier.wait(30)
    cache = VectorCache(path)
    for offset in range(start, start + 200, 10):
        cache.put(f"model {offset % 3}", rows(range(offset, offset + 10)))
        cache.get("model 0", list(rows(range(50))), 4)
    cache.close()


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    """All open the new file at the same moment, which is when SQLite is most easily locked."""
    path = tmp_path / "cache.sqlite"
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    workers = [context.Process(target=_write, args=(path, 200 * number, barrier)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    cache = VectorCache(path)
    found = [len(cache.get(f"model {number}", list(rows(range(800))), 4)) for number in range(3)]
    assert sum(found) == 800
