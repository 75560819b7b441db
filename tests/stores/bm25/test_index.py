import math
import pickle
import random
import shutil
import threading

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError, FilterError, QueryError
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.build import build_index
from stackroom.stores.bm25.index import open_index
from stackroom.stores.bm25.versions import current_version
from stackroom.stores.filters import matches, validate_metadata_filter

WORDS = [f"w{number}x" for number in range(60)]


def random_texts(count: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, weights=range(60, 0, -1), k=chance.randint(1, 30))) for _ in range(count)]


def test_the_best_chunk_comes_first_with_its_text_and_metadata(index_of):
    index = index_of(
        {
            "a.md": [("Frogs croak at night.", {"year": 2001}), "Nothing to see here."],
            "b.md": [("Frogs, frogs and more frogs.", {"tags": ["x"], "open": True})],
        }
    )
    hits = index.search("frog", 5)
    assert [(hit.source_id, hit.text) for hit in hits] == [
        ("b.md", "Frogs, frogs and more frogs."),
        ("a.md", "Frogs croak at night."),
    ]
    assert hits[0].metadata == {"chunk_index": 0, "tags": ["x"], "open": True}
    assert hits[0].score > hits[1].score > 0
    assert index.rows == 3


@pytest.mark.parametrize("texts", [["alpha beta"], ["alpha", "alpha"], ["alpha", "beta"], ["a b", "a c", "d", "e"]])
def test_tiny_corpora_lose_no_chunk_with_a_query_term(index_of, texts):
    """Classic idf is zero or negative for a term in half of the chunks or more."""
    index = index_of({"s": texts})
    for term in {word for text in texts for word in text.split()}:
        found = {hit.text for hit in index.search(term, 10)}
        assert found == {text for text in texts if term in text.split()}


def test_scores_are_bm25_with_lucene_idf_as_worked_out_by_hand(index_of):
    index = index_of({"s": ["cat cat dog", "dog", "bird bird bird bird"]}, Bm25Settings(k1=1.2, b=0.5))
    length, mean, k1, b = 3, 8 / 3, 1.2, 0.5
    idf = math.log(1 + (3 - 1 + 0.5) / 1.5)
    wanted = idf * 2 * (k1 + 1) / (2 + k1 * (1 - b + b * length / mean))
    assert index.search("cat", 1)[0].score == pytest.approx(wanted, rel=1e-6)
    assert index.search("cats cat", 1)[0].score == pytest.approx(2 * wanted, rel=1e-6)


def test_the_order_is_that_of_an_independent_implementation(index_of):
    texts = random_texts(400)
    index = index_of({"s": texts}, Bm25Settings(language="none"))
    tokens = [text.split() for text in texts]
    analyser = open_analyser(Bm25Settings(language="none"))
    tokens = [analyser.tokens(text) for text in texts]
    other = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    other.index(tokens, show_progress=False)
    for query in random_texts(20, seed=1):
        scores = other.get_scores(analyser.tokens(query)) * 2.5  # that library leaves out the constant k1 + 1
        found = index.search(query, 400)
        mine = np.zeros(400)
        for hit in found:
            mine[hit.metadata["chunk_index"]] = hit.score
        np.testing.assert_allclose(mine, scores, rtol=1e-4, atol=1e-5)


def test_the_reference_engine_gives_the_reference_scores(index_of):
    texts = random_texts(100)
    settings = Bm25Settings(engine="rank_bm25", language="none")
    index = index_of({"s": texts}, settings)
    analyser = open_analyser(settings)
    reference = BM25Okapi([analyser.tokens(text) for text in texts], k1=1.5, b=0.75)
    scores = reference.get_scores(analyser.tokens("w1x w30x"))
    found = index.search("w1x w30x", 100)
    assert {hit.metadata["chunk_index"]: pytest.approx(hit.score) for hit in found} == {
        number: float(score) for number, score in enumerate(scores) if score > 0
    }


def test_the_reference_engine_loses_what_the_default_finds(index_of):
    """What ``engine: rank_bm25`` is documented to do; the default engine finds both."""
    texts = ["ant bee", "ant cow", "dog", "eel"]
    assert index_of({"s": texts}, Bm25Settings(engine="rank_bm25")).search("ant", 4) == []
    assert len(index_of({"s": texts}).search("ant", 4)) == 2


def test_equal_scores_come_in_the_order_of_sources_and_chunks(index_of):
    index = index_of({"b": ["same text"] * 3, "a": ["same text"] * 3})
    places = [(hit.source_id, hit.metadata["chunk_index"]) for hit in index.search("text", 5)]
    assert places == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


def test_words_in_headings_count_more(index_of):
    texts = [("frogs sing", {"headings": ["Toads"]}), ("toads sing", {"headings": ["Frogs"]})]
    index = index_of({"s": texts})
    assert [hit.text for hit in index.search("frogs", 2)] == ["toads sing", "frogs sing"]
    without = index_of({"s": texts}, Bm25Settings(heading_weight=0))
    assert [hit.text for hit in without.search("frogs", 2)] == ["frogs sing"]


def test_a_filter_acts_before_the_cut(index_of):
    texts = [("frog " * 5, {"year": 1990})] * 50 + [("frog and much else besides in a long text", {"year": 2020})]
    index = index_of({"s": texts})
    assert [hit.metadata["year"] for hit in index.search("frog", 3, {"year": {"$gt": 2000}})] == [2020]
    assert index.search("frog", 3, {"nothing": 1}) == []


VALUES = st.one_of(
    st.integers(-2, 2), st.sampled_from([0.0, 1.0, 0.5]), st.booleans(), st.sampled_from(["a", "b", "ab", "1"]),
    st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2),
)  # fmt: skip
METADATA = st.dictionaries(st.sampled_from(["f", "g", "authors"]), VALUES, max_size=3)
SCALARS = st.one_of(st.integers(-2, 2), st.sampled_from([0.5, 1.0]), st.booleans(), st.sampled_from(["a", "b", "1"]))
CLAUSES = st.builds(
    lambda field, operator, operand: {field: {operator: operand}},
    st.sampled_from(["f", "g", "h"]),
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"]),
    SCALARS,
) | st.builds(
    lambda field, operator, operand: {field: {operator: operand}},
    st.sampled_from(["f", "g"]),
    st.sampled_from(["$in", "$nin"]),
    st.lists(SCALARS, min_size=1, max_size=3),
)
FILTERS = st.recursive(
    CLAUSES,
    lambda inner: st.builds(
        lambda word, members: {word: members}, st.sampled_from(["$and", "$or"]), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(METADATA, min_size=1, max_size=12), wanted=FILTERS)
def test_filters_agree_with_the_reference_evaluator(index_of, documents, wanted):
    index = index_of({"s": [("word", metadata) for metadata in documents]})
    found = {hit.metadata["chunk_index"] for hit in index.search("word", 50, wanted)}
    canonical = validate_metadata_filter(wanted)
    assert found == {number for number, metadata in enumerate(documents) if matches(metadata, canonical)}


def test_a_filter_on_authors_finds_a_name_however_it_is_written(index_of):
    from stackroom.stores.metadata import apply_store_metadata_policy

    index = index_of({"s": [("word", apply_store_metadata_policy({"authors": ["Ankur Sinha"]})), "word"]})
    assert len(index.search("word", 5, {"authors": {"$contains": "Sinha, A."}})) == 1


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", None])
def test_a_k_that_is_no_number_of_hits_is_refused(index_of, k):
    with pytest.raises(QueryError, match="whole number"):
        index_of({"s": ["x"]}).search("x", k)


def test_a_wrong_filter_is_refused(index_of):
    with pytest.raises(FilterError):
        index_of({"s": ["x"]}).search("x", 1, {"f": {"$like": "a"}})


@pytest.mark.parametrize("sources", [{}, {"s": []}, {"s": [""]}, {"s": ["the of"], "t": [""]}])
@pytest.mark.parametrize("engine", ["disk", "rank_bm25"])
def test_nothing_to_find_is_no_error(index_of, sources, engine):
    index = index_of(sources, Bm25Settings(engine=engine))
    assert index.search("word", 3) == []
    assert index.search("word", 3, {"f": 1}) == []
    assert index.neighbours("nobody", 2) == []


def test_an_unchanged_set_of_corpora_is_not_indexed_again(write, tmp_path):
    paths = [write("a", ["one"]), write("b", ["two"])]
    first = build_index(paths, tmp_path / "index", Bm25Settings())
    again = build_index(reversed(paths), tmp_path / "index", Bm25Settings())
    assert (first.built, first.rows, first.sources, first.terms, first.occurrences) == (True, 2, 2, 2, 2)
    assert (again.built, again.fingerprint, again.folder) == (False, first.fingerprint, first.folder)
    assert build_index(paths, tmp_path / "index", Bm25Settings(k1=2)).built
    assert build_index([*paths, write("c", ["three"])], tmp_path / "index", Bm25Settings()).rows == 3
    assert build_index(paths[:1], tmp_path / "index", Bm25Settings()).sources == 1


def test_the_same_corpora_give_the_same_files_in_any_order(write, tmp_path):
    paths = [write(f"s{number}", random_texts(30, seed=number)) for number in range(5)]
    one = build_index(paths, tmp_path / "one", Bm25Settings()).folder
    two = build_index(paths[::-1], tmp_path / "two", Bm25Settings()).folder
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in two.iterdir()
    }


def test_a_reader_keeps_the_version_it_opened(write, tmp_path):
    folder = tmp_path / "index"
    build_index([write("a", [("old word", {"n": 1})])], folder, Bm25Settings())
    old = open_index(folder)
    for number in range(4):
        build_index([write("a", [("new word", {"n": number + 2})])], folder, Bm25Settings())
    assert [hit.text for hit in old.search("word", 5, {"n": 1})] == ["old word"]
    assert [hit.text for hit in open_index(folder).search("word", 5)] == ["new word"]
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 2


def test_searching_while_building_always_sees_a_whole_index(write, tmp_path):
    folder = tmp_path / "index"
    versions = [[write(f"v{number}", ["word"] * (number + 1))] for number in range(4)]
    build_index(versions[0], folder, Bm25Settings())
    stop, seen, broken = threading.Event(), set(), []

    def read() -> None:
        while not stop.is_set():
            try:
                seen.add(len(open_index(folder).search("word", 10)))
            except ArtefactError as error:
                broken.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(12):
        build_index(versions[number % 4], folder, Bm25Settings())
    stop.set()
    reader.join()
    assert not broken
    assert seen <= {1, 2, 3, 4}


def test_an_interrupted_build_leaves_the_old_index_and_no_rubbish(write, tmp_path):
    folder, good = tmp_path / "index", write("a", ["old word"])
    build_index([good], folder, Bm25Settings())
    before = current_version(folder)
    damaged = write("b", ["x"])
    with damaged.open("rb") as stream:
        header = pickle.load(stream)
    damaged.write_bytes(pickle.dumps(header, protocol=4) + b"\x80\x04}")
    with pytest.raises(ArtefactError, match=r"b\.pkl is damaged"):
        build_index([good, damaged], folder, Bm25Settings())
    assert current_version(folder) == before
    assert [hit.text for hit in open_index(folder).search("word", 5)] == ["old word"]
    assert not list(folder.glob(".making-*"))


def test_a_corpus_of_another_analyser_is_refused_by_name(write, tmp_path):
    path = write("a", ["x"], Bm25Settings(language="none"))
    with pytest.raises(ArtefactError, match=r"a\.pkl was made with the analyser .* materialize `bm25_corpus`"):
        build_index([path], tmp_path / "index", Bm25Settings())


def test_two_corpus_files_of_one_source_are_refused(write, tmp_path):
    first = write("a", ["x"])
    second = shutil.copy(first, tmp_path / "copy.pkl")
    with pytest.raises(ArtefactError, match="second corpus file of 'a'"):
        build_index([first, second], tmp_path / "index", Bm25Settings())


def test_an_index_of_another_analyser_is_not_opened(index_of):
    version = index_of({"s": ["x"]}).version
    meta = (version / "index.json").read_text()
    (version / "index.json").write_text(meta.replace('"analyser": "stackroom-', '"analyser": "stackroom-old-'))
    with pytest.raises(ArtefactError, match="was made with the analyser 'stackroom-old-"):
        open_index(version.parent)


def test_a_missing_or_damaged_index_is_an_error_that_names_it(index_of, tmp_path):
    with pytest.raises(ArtefactError, match="there is no keyword index in"):
        open_index(tmp_path / "absent")
    version = index_of({"s": ["x"]}).version
    (version / "weights.npy").write_bytes(b"")
    with pytest.raises(ArtefactError, match="is damaged"):
        open_index(version.parent)
    (version / "weights.npy").unlink()
    with pytest.raises(ArtefactError, match="is incomplete"):
        open_index(version.parent)
    (version / "index.json").write_text("{")
    with pytest.raises(ArtefactError, match="is damaged"):
        open_index(version.parent)


def test_a_damaged_index_is_built_again(write, tmp_path):
    paths = [write("a", ["word"])]
    report = build_index(paths, tmp_path / "index", Bm25Settings())
    (report.folder / "index.json").unlink()
    assert build_index(paths, tmp_path / "index", Bm25Settings()).built
    assert len(open_index(tmp_path / "index").search("word", 3)) == 1


def test_neighbours_are_the_chunks_beside_in_the_same_source(index_of):
    index = index_of({"a": ["one", "two", "three", "four"], "b": ["five"]})
    (hit,) = index.search("three", 1)
    assert [near.text for near in index.neighbours(hit.chunk_id, 1)] == ["two", "four"]
    (last,) = index.search("five", 1)
    assert index.neighbours(last.chunk_id, 2) == []
    assert index.get(hit.chunk_id).text == "three"
    assert index.get("nobody") is None


def test_scores_of_chosen_chunks(index_of):
    index = index_of({"a": ["frog", "toad", "newt"]})
    (frog,), (toad,) = index.search("frog", 1), index.search("toad", 1)
    assert index.scores_of("frog", [frog.chunk_id, toad.chunk_id, "nobody"]) == {
        frog.chunk_id: frog.score,
        toad.chunk_id: 0.0,
    }
