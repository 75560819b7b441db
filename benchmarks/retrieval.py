"""Retrieval quality on a test collection: one line per side with nDCG@10 and recall@100.

    python benchmarks/retrieval.py FOLDER [--state DIR] [--store URI] [--queries F --qrels F]

FOLDER holds ``corpus.jsonl`` (``_id``, ``title``, ``text``), ``queries.jsonl`` (``_id``, ``text``) and ``qrels.tsv``
(query, document, judgement; with or without a header). The stores are built with the product's own chunker, embedder,
vector store and keyword index, and searched with its defaults. Vectors are kept in the state folder's cache, so that a
second run embeds nothing.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.labels import DocItemLabel

from stackroom.artefacts import StoredRow, embedded_text
from stackroom.chunking import chunk_document
from stackroom.config import Config, Corpus
from stackroom.embedding import open_embedder
from stackroom.embedding.tokenizer import open_tokenizer
from stackroom.fingerprint import fingerprint
from stackroom.identity import artefact_name, chunk_id, readable_chunk_id
from stackroom.retrieval.evaluation import evaluate_corpus, format_evaluation, read_judgements, read_questions
from stackroom.retrieval.search import Searcher
from stackroom.state import StateFolder
from stackroom.stores.base import CollectionSpec, open_store
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.build import build_index
from stackroom.stores.bm25.corpus import write_corpus
from stackroom.stores.naming import collection_name

CORPUS = "benchmark"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--state", type=Path, help="where stores and vectors are kept (default: /tmp)")
    parser.add_argument("--store", help="URI of the vector store (default: SQLite in the state folder)")
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--qrels", type=Path)
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    state = (arguments.state or Path("/tmp/stackroom-benchmark") / folder.name).resolve()
    store = arguments.store or f"sqlite:{state / 'vectors.db'}"
    corpus = Corpus(folder=folder, vector_store=store, passwords={})
    config = Config(project_folder=folder, state_folder=state, corpora={CORPUS: corpus})
    begin = time.perf_counter()
    rows = list(read_documents(folder / "corpus.jsonl", config))
    print(f"{len(rows)} chunks, chunked in {time.perf_counter() - begin:.0f} s", flush=True)
    build_dense(rows, config)
    build_keywords(rows, config)
    questions = read_questions(arguments.queries or folder / "queries.jsonl")
    judgements = read_judgements(arguments.qrels or folder / "qrels.tsv")
    with Searcher(config) as searcher:
        print(format_evaluation(evaluate_corpus(searcher, CORPUS, questions, judgements)))


def read_documents(path: Path, config: Config) -> Iterator[StoredRow]:
    """Chunk every document as a converted file would be: its title is a heading, its text a paragraph."""
    settings = config.corpus(CORPUS)
    tokenizer = open_tokenizer(settings.embedder)
    limit = settings.chunking.max_tokens or tokenizer.max_tokens
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            source = str(entry["_id"])
            document = DoclingDocument(name=source)
            if entry.get("title"):
                document.add_heading(text=entry["title"], level=1)
            if entry.get("text"):
                document.add_text(label=DocItemLabel.PARAGRAPH, text=entry["text"])
            for index, body in enumerate(chunk_document(document, tokenizer, limit).chunks):
                metadata = {"chunk_index": index, "readable_id": readable_chunk_id(source, index)}
                if body.headings:
                    metadata["headings"] = list(body.headings)
                yield StoredRow(chunk_id(CORPUS, source, index), source, body.text, metadata)


def build_dense(rows: list[StoredRow], config: Config) -> None:
    begin = time.perf_counter()
    embedder = open_embedder(config.corpus(CORPUS).embedder, StateFolder(config.state_folder).embedding_cache)
    identity = embedder.identity
    embedded = embedder.embed_counted([embedded_text(row.metadata.get("headings", []), row.text) for row in rows])
    embedder.close()
    spec = CollectionSpec(collection_name(CORPUS, identity.key), CORPUS, identity.key, identity.dimension)
    with open_store(config.vector_store_uri(CORPUS), spec) as store:
        if store.count() != len(rows):
            store.drop()
    with open_store(config.vector_store_uri(CORPUS), spec) as store:
        if store.count() != len(rows):
            store.upsert(
                [
                    StoredRow(row.chunk_id, row.source_id, row.text, row.metadata, vector)
                    for row, vector in zip(rows, embedded.vectors, strict=True)
                ]
            )
    print(
        f"{embedded.new} embedded, {embedded.reused} reused, stored in {time.perf_counter() - begin:.0f} s", flush=True
    )


def build_keywords(rows: list[StoredRow], config: Config) -> None:
    begin = time.perf_counter()
    settings = config.corpus(CORPUS).bm25
    analyser = open_analyser(settings)
    sources: dict[str, list[StoredRow]] = {}
    for row in rows:
        sources.setdefault(row.source_id, []).append(row)
    paths = []
    for source, chunks in sources.items():
        path = config.state_folder / "corpora" / f"{artefact_name(source)}.pkl"
        made_for = fingerprint("bm25_corpus", 1, analyser=analyser.identity, texts=[chunk.text for chunk in chunks])
        write_corpus(path, source, chunks, analyser, made_for)
        paths.append(path)
    build_index(paths, StateFolder(config.state_folder).bm25_index(CORPUS), settings)
    print(f"{len(paths)} sources indexed in {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
