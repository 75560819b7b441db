import json
import logging
import shutil
import threading
from pathlib import Path

import pytest

from stackroom.config import RetrievalSettings
from stackroom.errors import FilterError, QueryError
from stackroom.retrieval.base import BaseRetriever
from stackroom.retrieval.bm25 import BM25RetrieverManager
from stackroom.retrieval.ranking import SOURCE_SCORES_KEY
from stackroom.retrieval.retriever import HybridRetriever
from stackroom.retrieval.store_config import RetrieverConfig, stores_config
from stackroom.retrieval.vs import VSRetriever

LEGACY = Path(__file__).parent.parent / "stores" / "bm25" / "langchain_documents.pkl"


@pytest.fixture
def plain(project, embedder):
    return stores_config(project, dict.fromkeys(project.corpora, embedder.identity.key))


def managers_of(plain, embedder):
    config = RetrieverConfig.model_validate(plain)
    return [VSRetriever(config, embedder=embedder), BM25RetrieverManager(config)]


def test_each_manager_answers_from_its_own_kind_of_store(plain, embedder):
    vectors, keywords = managers_of(plain, embedder)
    vectors.setup()
    assert vectors.domains == ["animals", "engines"]
    for manager in (vectors, keywords):
        found = manager.retrieve("animals", "fanged frog gives birth to tadpoles", {"year": 2014})
        assert found[0][0].page_content.startswith("A fanged frog")
        assert "authors__names" not in found[0][0].metadata
    assert {document.metadata["year"] for document, _ in vectors.retrieve("animals", "frogs", {"year": 2014})} == {2014}


def test_unlike_chunks_are_no_reference_material(plain, embedder, caplog):
    vectors = managers_of(plain, embedder)[0]
    with caplog.at_level(logging.WARNING):
        assert vectors.retrieve("engines", "xylophone orchestra") == []
    assert "nothing found" in caplog.text


def test_depth_comes_from_the_caller_then_the_store_then_the_manager(plain, embedder):
    _, keywords = managers_of(plain, embedder)
    assert (
        len(keywords.retrieve("animals", "frogs water eggs day night", k_values={"animals": {"animals-keywords": 1}}))
        == 1
    )
    (store,) = keywords.config.domains["animals"].bm25_stores
    assert keywords.current_k("animals", store, {}) == 5
    store.default_k = store.k_max = store.k_inc = None
    assert keywords.current_k("animals", store, {}) == 5
    with pytest.raises(QueryError, match="whole number"):
        keywords.current_k("animals", store, {"animals": {"animals-keywords": 0}})
    with pytest.raises(ValueError, match="k_max not below default_k"):
        BM25RetrieverManager(keywords.config, default_k=5, k_max=2)


def test_growing_lands_on_the_cap(plain, embedder):
    _, keywords = managers_of(plain, embedder)
    keywords.load("animals")
    (store,) = keywords.config.domains["animals"].bm25_stores
    store.k_inc, store.k_max = 5, 10
    before = {"animals": {"animals-keywords": 9}}
    assert keywords.inc_k(before) == ({"animals": {"animals-keywords": 10}}, True)
    assert before == {"animals": {"animals-keywords": 9}}
    assert not keywords.can_inc_k({"animals": {"animals-keywords": 10}})
    assert keywords.inc_k({"animals": {"animals-keywords": 12}}) == ({"animals": {"animals-keywords": 12}}, False)


def test_managers_of_one_configuration_do_not_share_open_stores(plain, embedder):
    config = RetrieverConfig.model_validate(plain)
    first, second = BM25RetrieverManager(config), BM25RetrieverManager(config)
    first.load_all_stores()
    assert first.can_inc_k({})
    assert not second.can_inc_k({})


def test_threads_open_every_store_once(plain, embedder):
    opened = []

    class Counting(BM25RetrieverManager):
        def open_store_of(self, domain, store):
            opened.append(store.name)
            return super().open_store_of(domain, store)

    manager = Counting(RetrieverConfig.model_validate(plain))
    threads = [threading.Thread(target=manager.load_all_stores) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(opened) == ["animals-keywords", "engines-keywords"]


def test_references_are_fused_per_domain(plain, embedder):
    retriever = HybridRetriever(managers_of(plain, embedder))
    result = retriever.retrieve(["animals", "engines"], "frog giving birth to tadpoles in water")
    assert result.warnings == ()
    assert list(result.references) == ["animals", "engines"]
    (best, score), *_ = result.references["animals"]
    assert best.page_content.startswith("A fanged frog")
    assert set(best.metadata[SOURCE_SCORES_KEY]) == {"vector store", "BM25"}
    assert score == pytest.approx(1.0)


def test_a_domain_applies_only_clauses_of_fields_it_declares(plain, embedder):
    plain["domains"]["animals"]["filter_fields"] = [{"name": "year", "description": "", "value_type": "int"}]
    retriever = HybridRetriever(managers_of(plain, embedder))
    where = {"$and": [{"year": {"$gte": 2020}}, {"lab": "nowhere"}]}
    found = retriever.retrieve(["animals", "engines"], "water eggs", where).references
    assert {document.metadata["year"] for document, _ in found["animals"]} == {2020}
    assert found["engines"]
    with pytest.raises(FilterError):
        retriever.retrieve(["animals"], "water", {"year": {"$like": 1}})
    with pytest.raises(QueryError):
        retriever.retrieve(["animals"], " ")


def test_failing_stores_are_named_and_the_others_answer(plain, embedder, tmp_path):
    animals = plain["domains"]["animals"]
    shutil.copy(LEGACY, tmp_path / "old.pkl")
    (tmp_path / "bad.pkl").write_bytes(b"\x80\x04cposix\ngetcwd\n.")
    animals["bm25_stores"].append({"name": "old", "path": str(tmp_path / "old.pkl")})
    animals["bm25_stores"].append({"name": "hostile", "path": str(tmp_path / "bad.pkl")})
    animals["vector_stores"] = [{"name": "gone", "path": f"sqlite:{tmp_path / 'gone.db'}"}]
    retriever = HybridRetriever(managers_of(plain, embedder))
    result = retriever.retrieve(["animals", "birds"], "dendritic calcium frogs")
    texts = [document.page_content for document, _ in result.references["animals"]]
    assert "Dendritic spines isolate synaptic calcium." in texts
    assert any("frogs" in text.lower() for text in texts)
    assert result.references["birds"] == []
    told = "\n".join(result.warnings)
    assert "animals: vector store 'gone' was left out" in told
    assert "animals: BM25 'hostile' was left out" in told
    assert "posix.getcwd" in told
    assert "birds: there is no such domain" in told


def test_more_lets_every_store_grow(plain, embedder):
    for domain in plain["domains"].values():
        for store in domain["vector_stores"] + domain["bm25_stores"]:
            store.update(default_k=1, k_max=2, k_inc=1)
    retriever = HybridRetriever(managers_of(plain, embedder))
    first = retriever.retrieve(["animals"], "frogs in water at night")
    assert len(first.references["animals"]) <= 2
    assert retriever.can_retrieve_more(first.k_values)
    second = retriever.retrieve(["animals"], "frogs in water at night", k_values=first.k_values, more=True)
    assert second.k_values["BM25"] == {"animals": {"animals-keywords": 2}}
    assert len(second.references["animals"]) > len(first.references["animals"])
    assert not retriever.can_retrieve_more(second.k_values)


def test_settings_per_domain_and_budget(plain, embedder):
    settings = {"animals": RetrievalSettings(fusion="rrf")}
    retriever = HybridRetriever(managers_of(plain, embedder), settings, max_chars=250)
    result = retriever.retrieve(["animals", "engines"], "steam and frogs in water")
    assert result.references["animals"][0][1] <= 2 / 61
    assert sum(map(len, result.references.values())) == 2


def test_a_failing_cross_encoder_is_named(plain, embedder):
    class Broken:
        def predict(self, sentences, *, show_progress_bar):
            raise RuntimeError("out of memory")

    result = HybridRetriever(managers_of(plain, embedder), cross_encoder=Broken()).retrieve(["animals"], "frogs")
    assert result.references["animals"]
    assert result.warnings == ("animals: the cross-encoder was left out: out of memory",)


def test_the_manager_contract_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        BaseRetriever(RetrieverConfig(domains={}))  # type: ignore[abstract]
    assert json.loads(RetrieverConfig(domains={}).model_dump_json()) == {"domains": {}}
