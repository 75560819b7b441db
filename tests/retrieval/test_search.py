import json
import threading

import pytest

from stackroom.errors import ConfigError, FilterError, QueryError
from stackroom.retrieval.search import Searcher
from stackroom.state import StateFolder


@pytest.fixture(scope="module")
def searcher(project, embedders):
    with Searcher(project, embedders) as opened:
        yield opened


def test_the_right_chunk_comes_first_with_everything_about_it(searcher):
    result = searcher.search("frog giving birth to tadpoles", corpora=["animals"], k=3)
    hit = result.hits[0]
    assert result.warnings == ()
    assert len(result.hits) == 3
    assert (hit.corpus, hit.source_id, hit.chunk_index, hit.pages) == ("animals", "frogs.md", 0, (1,))
    assert hit.headings == ("Frogs",)
    assert hit.ranks == {"dense": 1, "bm25": 1}
    assert hit.score == pytest.approx(1.0)
    assert hit.metadata["authors"] == ["Ana Ruiz"]
    assert "authors__names" not in hit.metadata


def test_the_json_form_holds_plain_values(searcher):
    plain = searcher.search("frog", k=1, explain=True).to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert {
        "source_id", "chunk_id", "chunk_index", "score", "pages", "headings", "text", "metadata", "ranks"
    } <= plain["hits"][0].keys()  # fmt: skip
    assert plain["hits"][0]["explanation"]["filter"] is None


def test_all_corpora_make_one_ranking(searcher):
    assert searcher.search("trace-based compiler for loops", k=2).hits[0].corpus == "engines"
    hits = searcher.search("frogs in water", k=6).hits
    assert hits[0].corpus == "animals"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.corpus for hit in hits} == {"animals", "engines"}


def test_equal_content_is_folded_into_one_hit(searcher):
    hits = searcher.search("frogs lay eggs", corpora=["animals"], k=10).hits
    eggs = [hit for hit in hits if "lay eggs" in hit.text]
    assert [(hit.source_id, hit.duplicates) for hit in eggs] == [("copy/frogs.md", ("frogs.md#1",))]


@pytest.mark.parametrize(
    ("where", "sources"),
    [
        ({"year": {"$gte": 2020}}, {"copy/frogs.md"}),
        ({"tags": {"$contains": "pets"}}, {"cats.md"}),
        ({"authors": {"$contains": "Ruiz, A."}}, {"frogs.md"}),
        ({"year": "2014"}, set()),
    ],
)
def test_a_filter_holds_on_both_sides(searcher, where, sources):
    assert {hit.source_id for hit in searcher.search("frogs and cats", where=where, k=10).hits} == sources


def test_the_same_question_gives_the_same_answer(searcher):
    assert searcher.search("water", k=9) == searcher.search("water", k=9)


def test_the_query_is_normalised_as_chunks_are(searcher):
    plain = searcher.search("fine frogs", k=3).to_json()
    assert searcher.search("\ufb01ne\u00a0frogs\u200b", k=3).to_json() == plain


@pytest.mark.parametrize("query", ["", "   ", "\u200b\n"])
def test_an_empty_query_is_refused(searcher, query):
    with pytest.raises(QueryError, match="empty"):
        searcher.search(query)


@pytest.mark.parametrize("k", [0, -3, 1.0, True, "5"])
def test_a_wrong_k_is_refused(searcher, k):
    with pytest.raises(QueryError, match="whole number"):
        searcher.search("frog", k=k)


def test_a_wrong_filter_or_corpus_is_refused(searcher):
    with pytest.raises(FilterError):
        searcher.search("frog", where={"year": {"$like": 1}})
    with pytest.raises(ConfigError, match="no corpus 'birds'; known: animals, engines"):
        searcher.search("frog", corpora=["birds"])


def test_a_query_without_known_words_is_answered_by_the_dense_side(searcher):
    hits = searcher.search("amphibians", corpora=["animals"], k=2).hits
    assert hits[0].headings == ("Frogs",)
    assert hits[0].ranks == {"dense": 1, "bm25": None}


def test_explain_adds_up(searcher):
    for hit in searcher.search("frogs in water", k=5, where={"year": {"$gt": 0}}, explain=True).hits:
        told = hit.explanation
        sides = [told[side] for side in ("dense", "bm25") if told[side]]
        assert told["method"] == "convex"
        assert sum(side["points"] for side in sides) == pytest.approx(hit.score) == told["score"] == told["fused"]
        assert {side: part["rank"] for side in ("dense", "bm25") if (part := told[side])} == {
            side: rank for side, rank in hit.ranks.items() if rank
        }
        assert all(side["points"] == pytest.approx(side["weight"] * side["normalised"]) for side in sides)
        assert told["filter"] == {"year": {"$gt": 0}}
        assert told["recency"] is told["cross_encoder"] is None


def test_reciprocal_rank_fusion_by_setting(make_project, tmp_path, animals, embedders):
    config = make_project(tmp_path, {"animals": animals}, {"fusion": "rrf"})
    with Searcher(config, embedders) as searcher:
        hit = searcher.search("frog giving birth to tadpoles", k=1, explain=True).hits[0]
    assert hit.score == pytest.approx(2 / 61)
    assert hit.explanation["dense"]["normalised"] is None


def test_corpora_that_are_fused_differently_still_make_one_ranking(make_project, tmp_path, animals, engines, embedders):
    config = make_project(tmp_path, {"animals": animals, "engines": engines})
    corpora = dict(config.corpora)
    retrieval = corpora["engines"].retrieval.model_copy(update={"fusion": "rrf"})
    corpora["engines"] = corpora["engines"].model_copy(update={"retrieval": retrieval})
    with Searcher(config.model_copy(update={"corpora": corpora}), embedders) as searcher:
        hits = searcher.search("water", k=4).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.corpus for hit in hits[:2]} == {"animals", "engines"}


def test_recency_cap_and_neighbours_by_setting(make_project, tmp_path, animals, embedders):
    settings = {"recency_weight": 0.9, "max_per_source": 1, "neighbours": 1}
    config = make_project(tmp_path, {"animals": animals}, settings)
    with Searcher(config, embedders) as searcher:
        hits = searcher.search("frogs", k=10, explain=True).hits
    assert [hit.source_id for hit in hits] == ["copy/frogs.md", "frogs.md", "cats.md"]
    assert [near.chunk_index for near in hits[1].neighbours] in ([1], [0, 2], [1, 2])
    assert hits[0].explanation["recency"] == {"score": 1.0, "weight": 0.9, "points": pytest.approx(0.9)}


@pytest.mark.parametrize(
    ("gone", "told", "left"),
    [("dense", "vector store was left out", "bm25"), ("bm25", "keyword index was left out", "dense")],
)
def test_a_side_that_was_never_built_is_reported_and_the_other_answers(
    make_project, tmp_path, gone, told, left, animals, embedders
):
    config = make_project(tmp_path, {"animals": animals}, without=frozenset({("animals", gone)}))
    with Searcher(config, embedders) as searcher:
        result = searcher.search("frog giving birth to tadpoles", k=2)
    assert result.hits[0].source_id == "frogs.md"
    assert result.hits[0].ranks[gone] is None
    assert result.hits[0].ranks[left] == 1
    assert result.hits[0].score == pytest.approx(1.0)
    assert [warning for warning in result.warnings if told in warning]


def test_a_damaged_side_is_reported_and_the_other_answers(make_project, tmp_path, animals, embedders):
    config = make_project(tmp_path, {"animals": animals})
    index = StateFolder(config.state_folder).bm25_index("animals")
    (next(index.glob("v-*")) / "weights.npy").write_bytes(b"rubbish")
    with Searcher(config, embedders) as searcher:
        first = searcher.search("frog", k=2)
        (tmp_path / "animals.db").write_bytes(b"rubbish")
    with Searcher(config, embedders) as searcher:
        both = searcher.search("frog", k=2)
    assert first.hits
    assert "is damaged" in first.warnings[0]
    assert both.hits == ()
    assert len(both.warnings) == 2


def test_an_index_built_anew_is_seen_by_an_open_searcher(make_project, tmp_path, animals, embedders):
    config = make_project(tmp_path, {"animals": {"cats.md": animals["cats.md"]}})
    with Searcher(config, embedders) as searcher:
        assert searcher.search("frog", k=3).hits[0].ranks["bm25"] is None
        make_project(tmp_path, {"animals": animals})
        assert searcher.search("frog", k=3).hits[0].ranks == {"dense": 1, "bm25": 1}


def test_corpora_that_were_not_ingested_are_passed_over(make_project, tmp_path, animals, engines, embedders):
    unbuilt = frozenset({("engines", "dense"), ("engines", "bm25")})
    config = make_project(tmp_path, {"animals": animals, "engines": engines}, without=unbuilt)
    with Searcher(config, embedders) as searcher:
        assert searcher.search("frog", k=1).warnings == ()
        assert len(searcher.search("frog", k=1, corpora=["engines"]).warnings) == 2
    empty = make_project(
        tmp_path / "b", {"animals": animals}, without=frozenset({("animals", "dense"), ("animals", "bm25")})
    )
    with Searcher(empty, embedders) as searcher:
        result = searcher.search("frog")
    assert result.hits == ()
    assert result.warnings == ("nothing was ingested yet; run `stackroom ingest` first",)


def test_an_empty_store_is_reported(make_project, tmp_path, embedders):
    config = make_project(tmp_path, {"animals": {}})
    with Searcher(config, embedders) as searcher:
        result = searcher.search("frog")
    assert result.hits == ()
    assert set(result.warnings) == {
        "animals: the keyword index is empty",
        "animals: the vector store is empty; `stackroom ingest` fills it",
    }


def test_a_cross_encoder_that_is_not_there_is_reported(make_project, tmp_path, animals, embedders):
    config = make_project(tmp_path, {"animals": animals}, {"cross_encoder": str(tmp_path / "no-model")})
    with Searcher(config, embedders) as searcher:
        result = searcher.search("frog", k=1)
    assert result.hits[0].headings == ("Frogs",)
    assert "the cross-encoder was left out" in result.warnings[0]


def test_threads_share_one_searcher(project, embedders):
    found, wanted = [], None
    with Searcher(project, embedders) as searcher:
        threads = [
            threading.Thread(target=lambda: found.append(searcher.search("frogs in water", k=5))) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wanted = searcher.search("frogs in water", k=5)
    assert found == [wanted] * 6
