"""Query latency at size: the keyword index beside ``rank_bm25``, and vector stores with and without a filter.

    python benchmarks/query.py [--chunks 100000] [--dimension 384] [--stores sqlite,chroma,pgvector] [--folder DIR]

Texts are made up, with word frequencies as in natural language (Zipf), 150 words a chunk; vectors are random
directions around a few hundred centres (``query_vectors.py`` measures more filters). Every line is printed as soon as
it is measured.
"""

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import query_vectors
from rank_bm25 import BM25Okapi

from stackroom.artefacts import StoredRow
from stackroom.config import Bm25Settings
from stackroom.fingerprint import fingerprint
from stackroom.identity import chunk_id
from stackroom.stores.base import open_store
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.build import build_index
from stackroom.stores.bm25.corpus import write_corpus
from stackroom.stores.bm25.index import open_index

WORDS_PER_CHUNK = 150
VOCABULARY = 60_000
CHUNKS_PER_SOURCE = 100
LETTERS = str.maketrans("0123456789", "ghijklmnop")
FILTER = {"year": {"$gte": 2020}}
"""Holds for one chunk in ten."""
VECTOR_FILTERS = ("no filter", "1 row in 10 (equal)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--stores", default="sqlite,chroma,pgvector", help="comma-separated; empty for none")
    parser.add_argument("--folder", type=Path, help="where to build (default: a temporary folder, deleted at the end)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="stackroom-query-"))
    folder.chmod(0o755)  # PostgreSQL runs as another user when started by root
    try:
        corpus = list(make_texts(arguments.chunks))
        queries = [" ".join(text.split()[:6]) for text in make_texts(arguments.queries, seed=1)]
        keyword_lines(corpus, queries, folder)
        for backend in filter(None, arguments.stores.split(",")):
            vector_lines(backend, arguments.chunks, arguments.dimension, arguments.queries, folder)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def make_texts(count: int, seed: int = 0) -> Iterator[str]:
    chance = np.random.default_rng(seed)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    weights /= weights.sum()
    words = np.array([f"{number:x}".translate(LETTERS) for number in range(VOCABULARY)])
    for _ in range(0, count, 1000):
        for row in chance.choice(VOCABULARY, size=(min(1000, count), WORDS_PER_CHUNK), p=weights):
            yield " ".join(words[row])


def year_of(number: int) -> int:
    return 2011 + number % 10


def keyword_lines(corpus: list[str], queries: list[str], folder: Path) -> None:
    settings = Bm25Settings(language="none")
    analyser = open_analyser(settings)
    begin = time.perf_counter()
    paths = []
    for first in range(0, len(corpus), CHUNKS_PER_SOURCE):
        source = f"s{first:07d}"
        rows = [
            StoredRow(chunk_id("b", source, number), source, text, {"year": year_of(first + number)})
            for number, text in enumerate(corpus[first : first + CHUNKS_PER_SOURCE])
        ]
        path = folder / "corpora" / f"{source}.pkl"
        write_corpus(path, source, rows, analyser, fingerprint("bm25_corpus", 1, source=source))
        paths.append(path)
    tokenised = time.perf_counter() - begin
    report = build_index(paths, folder / "keywords", settings)
    print(
        f"keywords: {report.rows} chunks, {report.occurrences} occurrences; tokenised in {tokenised:.1f} s, "
        f"indexed in {report.seconds:.1f} s",
        flush=True,
    )
    begin = time.perf_counter()
    index = open_index(folder / "keywords")
    index.search(queries[0], 10)
    print(f"keywords: opened and first answer in {1000 * (time.perf_counter() - begin):.1f} ms", flush=True)
    latency("keywords", queries, lambda query: index.search(query, 10))
    latency("keywords, filtered", queries, lambda query: index.search(query, 10, FILTER))
    latency("keywords, 100 hits", queries, lambda query: index.search(query, 100))
    begin = time.perf_counter()
    reference = BM25Okapi([analyser.tokens(text) for text in corpus])
    print(f"rank_bm25: built in {time.perf_counter() - begin:.1f} s (nothing is kept on disk)", flush=True)

    def ask(query: str) -> None:
        scores = reference.get_scores(analyser.tokens(query))
        np.argsort(scores)[::-1][:10]

    latency("rank_bm25", queries[:30], ask)


def vector_lines(backend: str, count: int, dimension: int, asked: int, folder: Path) -> None:
    folder.chmod(0o755)  # PostgreSQL runs as another user when started by root
    vectors = query_vectors.directions(count + asked, dimension)
    stored, queries = vectors[:count], vectors[count:]
    spec = query_vectors.spec_of(dimension)
    with query_vectors.location(backend, folder) as uri, open_store(uri, spec) as store:
        query_vectors.fill(backend, store, stored)
        for name in VECTOR_FILTERS:
            query_vectors.measure(backend, store, name, query_vectors.FILTERS[name], queries, stored)


def latency(name: str, queries: list, ask: Callable) -> None:
    times, busy = [], []
    for query in queries:
        begin, begin_busy = time.perf_counter(), time.thread_time()
        ask(query)
        times.append(1000 * (time.perf_counter() - begin))
        busy.append(1000 * (time.thread_time() - begin_busy))
    p50, p95 = np.percentile(times, [50, 95])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{name}: p50 {p50:.2f} ms, p95 {p95:.2f} ms (processor time p95 {np.percentile(busy, 95):.2f} ms; "
        f"{len(queries)} queries; peak memory {memory} MB)",
        flush=True,
    )


if __name__ == "__main__":
    main()
