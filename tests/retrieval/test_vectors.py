"""The table of input/output vectors of the reference behaviour, as far as retrieval is concerned.

Cases whose note calls the behaviour a flaw are answered differently on purpose; they are listed in ``CHANGED``.
"""

import copy
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from stackroom.config import Bm25Settings
from stackroom.retrieval.base import BaseRetriever
from stackroom.retrieval.bm25 import BM25RetrieverManager
from stackroom.retrieval.document import Document
from stackroom.retrieval.query_schema import build_retrieval_query_schema, query_of_form
from stackroom.retrieval.ranking import SOURCE_SCORES_KEY, rerank_by_recency, rrf_merge
from stackroom.retrieval.references import serialize_reference_material, truncate_reference_material
from stackroom.retrieval.rerank import cross_encoder_rerank
from stackroom.retrieval.routing import Budget, Judgement, next_step
from stackroom.retrieval.store_config import (
    STORES_CONFIG_ENV_VAR,
    STORES_CONFIG_META_KEY,
    BM25StoreInfo,
    FilterFieldInfo,
    RetrieverConfig,
    load_retriever_config,
    resolve_stores_config_path,
)

CHANGED = {
    "SZ-007": "a newline stands between one domain's last text and the next header",
    "KI-012": "the default engine finds a term that stands in half of the documents",
}


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, list[dict[str, Any]]]:
    vectors = json.loads((shared / "vectors" / "stores.json").read_text(encoding="utf-8"))["vectors"]
    table: dict[str, list[dict[str, Any]]] = {}
    for vector in vectors:
        table.setdefault(vector["function"], []).append(vector)
    return table


def document(plain: dict[str, Any]) -> Document:
    return Document(plain["page_content"], copy.deepcopy(plain["metadata"]))


def fields_of(pairs: list[list[str]]) -> list[FilterFieldInfo]:
    return [FilterFieldInfo(name=name, description="", value_type=kind) for name, kind in pairs]  # type: ignore[arg-type]


def test_rrf_merge(cases):
    assert len(cases["rrf_merge"]) == 6
    for case in cases["rrf_merge"]:
        sets = [
            (label, [(document(plain), score) for plain, score in found])
            for label, found in case["input"]["result_sets"]
        ]
        before = copy.deepcopy(sets)
        merged = rrf_merge(sets, case["input"]["num_refs_max"])
        assert [
            {
                "content": found.page_content,
                "file_name": found.metadata["file_name"],
                "score": pytest.approx(score, abs=1e-9),
                "_source_scores": found.metadata[SOURCE_SCORES_KEY],
            }
            for found, score in merged
        ] == case["expected"], case["id"]
        assert sets == before, case["id"]


def test_rerank_by_recency(cases):
    assert len(cases["rerank_by_recency"]) == 6
    for case in cases["rerank_by_recency"]:
        given = case["input"]
        merged = [(document(plain), score) for plain, score in given["merged"]]
        ranked = rerank_by_recency(merged, given["relevance_weight"], given["time_weight"])
        assert [[found.page_content, pytest.approx(score)] for found, score in ranked] == case["expected"], case["id"]


def test_cross_encoder_rerank_of_nothing_asks_nobody(cases):
    (case,) = cases["cross_encoder_rerank"]

    class Untouchable:
        def predict(self, sentences, *, show_progress_bar):
            raise AssertionError("the model was asked")

    assert cross_encoder_rerank(case["input"]["query"], [], Untouchable()) == case["expected"]


def test_truncate_reference_material(cases):
    assert len(cases["truncate_reference_material"]) == 5
    for case in cases["truncate_reference_material"]:
        material = {
            domain: [(Document("x" * length, {"label": label}), 1.0) for label, length in found]
            for domain, found in case["input"]["reference_material"].items()
        }
        taken = truncate_reference_material(material, case["input"]["max_chars"])
        labels = {domain: [found.metadata["label"] for found, _ in kept] for domain, kept in taken.items()}
        assert labels == case["expected"], case["id"]
        assert list(labels) == list(case["expected"]), case["id"]


def test_serialize_reference_material(cases):
    assert len(cases["serialize_reference_material"]) == 8
    for case in cases["serialize_reference_material"]:
        material = {
            domain: [(document(plain), score) for plain, score in found]
            for domain, found in case["input"]["reference_material"].items()
        }
        wanted = case["expected"]
        if case["id"] == "SZ-007":
            wanted = wanted.replace("t## Q", "t\n## Q")
        assert serialize_reference_material(material) == wanted, case["id"]


def test_build_retrieval_query_schema(cases):
    by_id = {case["id"]: case for case in cases["build_retrieval_query_schema"]}
    fields = fields_of(by_id["QS-001"]["input"]["fields"])
    schema = build_retrieval_query_schema(fields)
    assert list(schema.model_fields) == by_id["QS-001"]["expected"]["fields"]
    assert "additionalProperties" not in json.dumps(schema.model_json_schema())
    assert schema().model_dump() == {"search_query": "", "lab": None, "year": None, "impact": None, "tags": None}
    assert list(build_retrieval_query_schema([]).model_fields) == by_id["QS-002"]["expected"]["fields"]
    first = build_retrieval_query_schema(fields_of(by_id["QS-004"]["input"]["first"]))
    assert build_retrieval_query_schema(fields_of(by_id["QS-004"]["input"]["second"])) is first
    (instance,) = cases["instance"]
    year = build_retrieval_query_schema(fields_of([["year", "int"]]))
    assert year.model_validate(instance["input"]).year == instance["expected"]["year"]  # type: ignore[attr-defined]


def test_a_filled_in_form_becomes_a_filter(cases):
    (case,) = cases["GenerateRetrievalQuery._update_state + to_metadata_filter"]
    fields = fields_of(case["input"]["fields"])
    form = build_retrieval_query_schema(fields).model_validate(case["input"]["model_output_without_nulls"])
    query = query_of_form(form, fields)
    assert {
        "search_query": query.search_query,
        "filters": dict(query.filters),
        "config_filters": list(query.config_filters),
        "to_metadata_filter": query.to_metadata_filter(),
    } == case["expected"]


def test_load_retriever_config(cases, tmp_path):
    by_id = {case["id"]: case for case in cases["load_retriever_config"]}
    assert by_id["UV-015"]["raises"] == "FileNotFoundError"
    with pytest.raises(FileNotFoundError):
        load_retriever_config(tmp_path / "nope.json")
    path = tmp_path / "s.json"
    path.write_text('{"domains": {}}')
    first = load_retriever_config(path)
    assert load_retriever_config(str(path)) is first
    path.write_text('{"domains": {"A": {}}}')
    assert list(load_retriever_config(path).domains) == ["A"]


def test_resolve_stores_config_path(cases, tmp_path, monkeypatch, caplog):
    own, default = tmp_path / "own.json", tmp_path / "default.json"
    for path in (own, default):
        path.write_text('{"domains": {}}')
    places = {
        "/home/u/s.json (valid)": own,
        "/etc/stores.json (valid)": default,
        "/home/u/s.json": own,
        "/etc/stores.json": default,
        "/nope.json": tmp_path / "nope.json",
        "/etc (a directory)": tmp_path,
        "": "",
        None: None,
    }
    assert len(cases["resolve_stores_config_path"]) == 6
    for case in cases["resolve_stores_config_path"]:
        configured, variable = places[case["input"]["configured"]], places[case["input"]["env"]]
        monkeypatch.delenv(STORES_CONFIG_ENV_VAR, raising=False)
        if variable is not None:
            monkeypatch.setenv(STORES_CONFIG_ENV_VAR, str(variable))
        if case.get("raises"):
            with pytest.raises(ValueError, match="stores configuration"):
                resolve_stores_config_path(configured)
        else:
            assert resolve_stores_config_path(configured) == places[case["expected"]], case["id"]
    caplog.clear()
    monkeypatch.delenv(STORES_CONFIG_ENV_VAR, raising=False)
    with caplog.at_level(logging.WARNING):
        assert resolve_stores_config_path() is None
    (record,) = caplog.records
    assert STORES_CONFIG_ENV_VAR in record.getMessage()
    assert STORES_CONFIG_META_KEY in record.getMessage()


def manager_of(stores: list[list[Any]]) -> BaseRetriever[Any]:
    domains: dict[str, Any] = {}
    for domain, name, default_k, k_max, k_inc, _ in stores:
        info = BM25StoreInfo(name=name, path="x", default_k=default_k, k_max=k_max, k_inc=k_inc)
        domains.setdefault(domain, {"bm25_stores": []})["bm25_stores"].append(info)
    manager = BM25RetrieverManager(RetrieverConfig.model_validate({"domains": domains}))
    for domain, name, *_, loaded in stores:
        for info in manager.config.domains[domain].bm25_stores:
            if info.name == name:
                info.loaded_object = object() if loaded else None
    return manager


def test_depth_of_stores(cases):
    for case in cases["inc_k"]:
        manager = manager_of(case["input"]["stores[domain,name,default_k,k_max,k_inc,loaded]"])
        given = copy.deepcopy(case["input"]["k_values"])
        grown, changed = manager.inc_k(given)
        assert {"k_values": grown, "grew": changed} == case["expected"], case["id"]
        assert given == case["input"]["k_values"]
    for case in cases["can_inc_k"]:
        manager = manager_of(case["input"]["stores"])
        assert manager.can_inc_k(case["input"]["k_values"]) is case["expected"], case["id"]


def test_an_unknown_domain(cases):
    (case,) = [case for case in cases["load"] if case["raises"] == "AssertionError"]
    with pytest.raises(AssertionError, match="unknown"):
        manager_of([]).load(case["input"]["domain"])


def test_a_missing_keyword_store_is_skipped(cases, caplog):
    (case,) = cases["_instantiate_store"]
    config = {"domains": {"D": {"bm25_stores": [{"name": "kw", "path": case["input"]["path"]}]}}}
    manager = BM25RetrieverManager(RetrieverConfig.model_validate(config))
    with caplog.at_level(logging.WARNING):
        manager.load("D")
    assert manager.config.domains["D"].bm25_stores[0].loaded_object is case["expected"] is None
    assert "does not exist" in caplog.text
    assert manager.retrieve("D", "anything") == []


def test_a_term_in_half_of_the_documents(cases, tmp_path):
    from stackroom.artefacts import StoredRow
    from stackroom.fingerprint import fingerprint
    from stackroom.stores.bm25.analyser import open_analyser
    from stackroom.stores.bm25.build import build_index
    from stackroom.stores.bm25.corpus import write_corpus
    from stackroom.stores.bm25.index import open_index

    (case,) = cases["_retrieve_from_store"]
    assert case["id"] in CHANGED
    for engine, wanted in (("rank_bm25", case["expected"]), ("disk", ["a b", "a c"])):
        settings = Bm25Settings(engine=engine, language="none")  # type: ignore[arg-type]
        rows = [StoredRow(f"c{number}", "s", text) for number, text in enumerate(case["input"]["corpus"])]
        write_corpus(tmp_path / "s.pkl", "s", rows, open_analyser(settings), fingerprint("t", 1))
        build_index([tmp_path / "s.pkl"], tmp_path / engine, settings)
        found = open_index(tmp_path / engine).search(case["input"]["query"], case["input"]["k"])
        assert [hit.text for hit in found] == wanted


def test_routing_after_an_answer_was_judged(cases):
    assert len(cases["RouteEvaluator"]) == 7
    for case in cases["RouteEvaluator"]:
        state = case["input"]["state"]
        scores = ("confidence", "coverage", "relevance", "groundedness", "coherence", "conciseness")
        judgement = Judgement(state["next_step"], **{name: state[name] for name in scores})
        budget = Budget(
            retrievals_left=state["retrievers"] and state["retrieval_attempts"] < state["max_retrieval"],
            can_grow=state["can_inc"],
            rewrites_left=state["rewrite_attempts"] < state["max_rewrite"],
            fallback_allowed=state["fallback"],
        )
        assert next_step(judgement, budget, state["empty"]) == case["expected"], case["id"]
