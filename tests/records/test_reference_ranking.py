"""Ranking against the reference's cases. Its dense order is ours; what differs on the keyword side is named."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.config import Bm25Settings
from stackroom.embedding.identity import Embedded, ModelIdentity
from stackroom.errors import RecordError
from stackroom.fingerprint import fingerprint
from stackroom.records.ingest import ingest_records
from stackroom.records.search import RecordSearcher
from stackroom.retrieval.document import Document
from stackroom.retrieval.ranking import SOURCE_SCORES_KEY, rrf_merge
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.build import build_index
from stackroom.stores.bm25.corpus import write_corpus
from stackroom.stores.bm25.index import open_index

ALL_COMPONENTS = {
    "D129": {"A::0", "B::0"},
    "D130": {"A::0", "B::0"},
    "D134": {"L1", "L2", "N3", "N4"},
    "D135": {"L2"},
}
"""What a component filter finds; the reference sees the first component of a record only, or loses its fallback."""


def cases(shared, function):
    found = json.loads((shared / "vectors/records-and-articles.json").read_text())["vectors"]
    return [case for case in found if case["function"] == function]


class TableModel:
    """Gives the vectors of a table; the reference's cases prescribe them."""

    identity = ModelIdentity("table", "0123456789", 3, 128)

    def __init__(self, table):
        self.table = table

    def embed(self, texts):
        return np.array([self.table[text] for text in texts], dtype=np.float32)

    def embed_counted(self, texts):
        return Embedded(self.embed(texts), reused=0, new=len(texts))

    def close(self):
        pass


def complete(row):
    record = {"record_id": row.get("record_id") or row["id"], "doc_type": "CR", "chunk_index": 0, "provenance": {}}
    text = row.get("embedding_text") or row["text"]
    return {**record, "doc_id": row.get("doc_id") or row["metadata"]["doc_id"], "embedding_text": text, **row}


@pytest.mark.parametrize("name", ["D124", "D126", "D128", "D129", "D130", "D131", "D133", "D134", "D135"])
def test_queries_follow_the_reference_cases(shared, plant, monkeypatch, name):
    (case,) = [case for case in cases(shared, "query_doc_type") if case["id"] == name]
    given, expected = case["input"], case["expected"]
    rows = given.get("records") or given.get("rows_already_on_disk") or []
    plant.write(
        "a.jsonl", [complete(row) for row in rows] or [complete({"id": "x", "text": "q", "metadata": {"doc_id": "x"}})]
    )
    model = TableModel(given.get("embeddings", {"q": [1, 0, 0]}))
    with plant.bench() as bench:
        bench.open_embedder = lambda _: model
        ingest_records(bench)
    monkeypatch.setattr("stackroom.records.search.model_key", lambda _: model.identity.key)
    embedders = SimpleNamespace(get=lambda _: model, close=lambda: None)
    with RecordSearcher(plant.config, "plant", embedders) as searcher:

        def ask(weight, top_k=None):
            k = top_k or given.get("top_k", 8)
            hits = searcher.query_doc_type(given["doc_type"], given["query"], k, given.get("f"), None, weight)
            return [hit.record_id for hit in hits]

        if "raises" in expected:
            with pytest.raises(RecordError):
                ask(0.5)
            return
        dense, words = ask(1.0, 8), ask(0.0, 8)
        if name in ALL_COMPONENTS:
            assert set(dense) == set(ask(0.5, 8)) == ALL_COMPONENTS[name]
            return
        assert dense == expected["dense_order"]
        matching = [one for one in expected["bm25_order"] if one in words]
        assert set(words) == set(matching)  # rows without any word of the query are no hits
        if given.get("hw") == 0.0:
            assert set(ask(0.0)) == {hit["record_id"] for hit in expected["hits"]}
        elif expected["hits"]:
            assert ask(0.5)[0] == expected["hits"][0]["record_id"]


def test_reciprocal_ranks_follow_the_reference_cases(shared):
    for case in cases(shared, "reciprocal_rank_fusion"):
        given = case["input"]
        views = [
            (view, [(Document(page_content=one, metadata={}), 0.0) for one in ids])
            for view, ids in given["views"].items()
        ]
        merged = rrf_merge(views, None, given["view_weights"])
        voted = [pair for pair in merged if len(pair[0].metadata[SOURCE_SCORES_KEY]) >= given["min_votes"]]
        found = [(document.page_content, round(score, 12)) for document, score in voted[: given["k"]]]
        assert found == [(hit["record_id"], hit["score"]) for hit in case["expected"]], case["id"]


def test_keyword_ranking_against_the_reference_cases(shared, tmp_path):
    """The same rows match first; words are folded, and a row without any of them is never a hit."""
    better = {"D120": [4, 0], "D121": [4, 0], "D122": [2, 0], "D123": [0, 1]}
    for case in cases(shared, "bm25_rank"):
        rows = [StoredRow(f"{number}", "a", text) for number, text in enumerate(case["input"]["corpus"])]
        settings, folder = Bm25Settings(language="none"), tmp_path / case["id"]
        path = folder / "a.pkl"
        write_corpus(path, "a", rows, open_analyser(settings), fingerprint("test", 1))
        build_index([path], folder / "index", settings)
        found = [int(hit.chunk_id) for hit in open_index(folder / "index").search(case["input"]["query"], 3)]
        assert found == better[case["id"]], case["id"]
