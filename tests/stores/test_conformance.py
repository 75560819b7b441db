"""Every backend keeps the same contract."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from stackroom.config import FilterField
from stackroom.errors import FilterError, ModelMismatchError, StoreError, StoreNotFoundError
from stackroom.stores.base import instantiate_vector_store, open_store
from stackroom.stores.collection import CollectionSpec
from stackroom.stores.metadata import apply_store_metadata_policy


def ids(hits):
    return [hit.chunk_id for hit in hits]


def stored(store):
    return {row.chunk_id: row for row in store.scan()}


def test_similarity_is_the_cosine_and_one_means_same(place, row):
    """Backends report distances, squared distances or inner products; users compare stores with one another."""
    store = place.open()
    store.upsert(
        [
            row("same", (2, 0, 0, 0)),
            row("near", (1, 1, 0, 0)),
            row("apart", (0, 1, 0, 0)),
            row("opposite", (-3, 0, 0, 0)),
        ]
    )
    found = store.query(np.array([5.0, 0, 0, 0]), 10)
    assert [(hit.chunk_id, hit.score) for hit in found] == [
        ("same", 1.0), ("near", 0.707107), ("apart", 0.0), ("opposite", -1.0),
    ]  # fmt: skip


def test_hits_carry_the_whole_row(place, row):
    store = place.open()
    metadata = {
        "authors": ["Ana Ruiz", "Bo Li"],
        "open": True,
        "pages": 3,
        "title": "Über Kabel: 電纜",
        "weight": 1.5,
        "whole": 2.0,
    }
    store.replace_source("b/ü.pdf", [row("c1", source_id="b/ü.pdf", text="Grüße\n\tan alle 🎈", **metadata)])
    (hit,) = store.query(np.array([1.0, 0, 0, 0]), 1)
    assert (hit.chunk_id, hit.source_id, hit.text) == ("c1", "b/ü.pdf", "Grüße\n\tan alle 🎈")
    assert hit.metadata == metadata
    assert list(hit.metadata) == sorted(metadata)
    assert {key: type(value) for key, value in hit.metadata.items()} == {
        key: type(value) for key, value in metadata.items()
    }


def test_rows_that_tie_come_in_the_order_of_their_ids(place, row):
    """Repeated text gives equal vectors; which of them is shown must not depend on the backend or the day."""
    store = place.open()
    names = [f"c{number:02}" for number in range(40)]
    shuffled = [names[(number * 17) % 40] for number in range(40)]
    store.upsert([row(name, (1, 1, 0, 0)) for name in shuffled] + [row("best"), row("z", (0, 1, 0, 0))])
    assert ids(store.query(np.array([1.0, 0, 0, 0]), 4)) == ["best", "c00", "c01", "c02"]
    assert ids(store.query(np.array([1.0, 1.0, 0, 0]), 40)) == names
    assert ids(store.query(np.array([0, 1.0, 0, 0]), 2, {"nothing": {"$ne": 1}})) == []


def test_replacing_a_source_leaves_nothing_of_the_old_one(place, row):
    store = place.open()
    store.replace_source("a.pdf", [row(f"a{number}", (1, number, 0, 0), year=2000, note="old") for number in range(5)])
    store.replace_source("b.pdf", [row("b0", source_id="b.pdf")])
    result = store.replace_source("a.pdf", [row("a0", (0, 0, 1, 0), text="new", year=2001), row("a9", (0, 1, 0, 0))])
    assert (result.upserted, result.deleted) == (2, 4)
    assert {key: (value.text, dict(value.metadata)) for key, value in stored(store).items()} == {
        "a0": ("new", {"year": 2001}), "a9": ("text", {}), "b0": ("text", {}),
    }  # fmt: skip
    assert ids(store.query(np.array([0, 0, 1.0, 0]), 1)) == ["a0"]
    assert ids(store.query(np.array([1.0, 1, 0, 0]), 9, {"note": "old"})) == []


def test_a_metadata_key_may_change_its_type(place, row):
    """Chroma keeps text, number, truth value and list of one key in four places."""
    store = place.open()
    values = ["x", ["x", "y"], 3, True, 2.5, ["z"], "x"]
    for value in values:
        store.upsert([row("c", key=value)])
        assert stored(store)["c"].metadata == {"key": value}
        assert ids(store.query(np.ones(4), 3, {"key": "x"})) == (["c"] if value == "x" else [])
        assert ids(store.query(np.ones(4), 3, {"key": {"$contains": "y"}})) == (["c"] if value == ["x", "y"] else [])


def test_counting_listing_and_deleting(place, row):
    store = place.open()
    assert (store.count(), store.count("a.pdf"), store.source_ids(), store.query(np.ones(4), 3)) == (0, 0, set(), [])
    store.replace_source("a.pdf", [row("a0"), row("a1", (0, 1, 0, 0))])
    store.replace_source("x/a.pdf", [row("b0", source_id="x/a.pdf")])
    assert (store.count(), store.count("a.pdf"), store.count("nothing.pdf")) == (3, 2, 0)
    assert store.ids_of_source("a.pdf") == {"a0", "a1"}
    assert store.source_ids() == {"a.pdf", "x/a.pdf"}
    assert store.delete_source("a.pdf") == 2
    assert store.delete_source("a.pdf") == 0
    assert set(stored(store)) == {"b0"}
    store.replace_source("x/a.pdf", [row(f"b{number}", source_id="x/a.pdf") for number in range(3)])
    assert store.delete_rows("x/a.pdf", ["b1", "nothing"]) == 1
    assert store.delete_rows("a.pdf", ["b0"]) == 0
    assert set(stored(store)) == {"b0", "b2"}
    assert store.replace_source("x/a.pdf", []).deleted == 2
    assert store.count() == 0


def test_several_sources_are_deleted_together(place, row):
    store = place.open()
    for source, rows in {"a.pdf": ["a0", "a1"], "b.pdf": ["b0"], "c.pdf": ["c0"]}.items():
        store.replace_source(source, [row(chunk, source_id=source) for chunk in rows])
    assert store.delete_sources(["a.pdf", "nothing.pdf", "c.pdf"]) == {"a.pdf": 2, "nothing.pdf": 0, "c.pdf": 1}
    assert set(stored(store)) == {"b0"}
    assert ids(store.query(np.ones(4), 3)) == ["b0"]
    assert store.delete_sources([]) == {}
    assert store.count() == 1


def test_scanning_gives_every_row_with_a_vector_of_length_one(place, row):
    store = place.open()
    store.upsert([row(f"c{number:02}", (3, number, 0, 4)) for number in range(25)])
    rows = list(store.scan(batch_size=10))
    assert sorted(found.chunk_id for found in rows) == [f"c{number:02}" for number in range(25)]
    for found in rows:
        expected = np.array([3, int(found.chunk_id[1:]), 0, 4], dtype=float)
        np.testing.assert_allclose(found.vector, expected / np.linalg.norm(expected), atol=1e-6)
        assert found.vector.dtype == np.float32


def test_metadata_changes_without_vectors(place, row):
    """Correcting a title must not embed anything again."""
    store = place.open()
    store.replace_source("a.pdf", [row("a0", (1, 0, 0, 0), title="Teh cable", draft=True), row("a1", (0, 1, 0, 0))])
    assert store.update_metadata("a.pdf", [row("a0", None, text="other", title="The cable")]) == 1
    assert dict(stored(store)["a0"].metadata) == {"title": "The cable"}
    assert [(hit.chunk_id, hit.text) for hit in store.query(np.array([1.0, 0, 0, 0]), 1)] == [("a0", "other")]
    assert ids(store.query(np.ones(4), 5, {"title": "The cable"})) == ["a0"]
    assert ids(store.query(np.ones(4), 5, {"draft": True})) == []
    with pytest.raises(StoreError, match=r"1 of 2 chunks of a\.pdf are not in collection .*\(for example a7\)"):
        store.update_metadata("a.pdf", [row("a0", None), row("a7", None)])


def test_correcting_an_author_reaches_filters_and_leaves_texts_and_vectors_alone(place, row):
    """The metadata of all chunks of a file change at once; the rows are those of a file stored that way at first."""

    def rows(authors, **more):
        vectors = more.pop("vectors", True)
        return [
            row(
                f"c{number:03}",
                (1, number, 0, 2) if vectors else None,
                text=f"Text {number}",
                **apply_store_metadata_policy({"title": "Cables", "authors": authors, "year": 2004, **more}),
                chunk_index=number,
            )
            for number in range(30)
        ]

    store, fresh = place.open(), place.open()
    store.replace_source("a.pdf", rows(["Ana Ruiz"], draft="yes", edition=1))
    store.upsert([row("other", source_id="b.pdf", **apply_store_metadata_policy({"authors": ["Ana Ruiz"]}))])
    before = stored(store)
    corrected = {"authors": ["Bö Lindgren", "Ana Ruiz-Diaz"], "edition": True}
    assert store.update_metadata("a.pdf", rows(**corrected, vectors=False)) == 30
    fresh.replace_source("a.pdf", rows(**corrected))
    after, expected = stored(store), stored(fresh)
    assert after.pop("other").metadata == before["other"].metadata
    for chunk_id, wanted in expected.items():
        found = after.pop(chunk_id)
        assert (found.source_id, found.text) == ("a.pdf", wanted.text)
        assert {key: (type(value), value) for key, value in found.metadata.items()} == {
            key: (type(value), value) for key, value in wanted.metadata.items()
        }
        assert found.vector.tolist() == before[chunk_id].vector.tolist()
    assert after == {}
    for name in ("Lindgren", "boe lindgren", "B. Lindgren", "Ruiz-Diaz, Ana"):
        assert len(store.query(np.ones(4), 99, {"authors": {"$contains": name}})) == 30, name
    assert ids(store.query(np.ones(4), 99, {"authors": {"$contains": "Ana Ruiz"}})) == ["other"]
    assert ids(store.query(np.ones(4), 99, {"draft": "yes"})) == []
    assert len(store.query(np.ones(4), 99, {"$and": [{"edition": True}, {"authors": {"$contains": "lindgren"}}]})) == 30
    assert store.verify() == []


@pytest.mark.parametrize(
    ("vector", "problem"),
    [
        ((np.nan, 0, 0, 1), "NaN or infinite"),
        ((np.inf, 0, 0, 1), "NaN or infinite"),
        ((0, 0, 0, 0), "length zero"),
        ((1, 0, 0), r"shape \(3,\); the collection keeps 4 numbers"),
        (None, "has no vector"),
    ],
)
def test_a_vector_that_cannot_be_compared_is_refused(place, row, vector, problem):
    """One NaN makes every distance of an index NaN; a zero vector points nowhere."""
    store = place.open()
    store.replace_source("a.pdf", [row("a0")])
    with pytest.raises(StoreError, match=f"chunk a2 has .*{problem}|chunk a2 {problem}"):
        store.replace_source("a.pdf", [row("a1"), row("a2", vector)])
    assert set(stored(store)) == {"a0"}


def test_a_query_that_cannot_be_compared_is_refused(place, row):
    store = place.open()
    store.upsert([row("a0")])
    with pytest.raises(StoreError, match="the query has a vector of length zero"):
        store.query(np.zeros(4), 3)
    with pytest.raises(StoreError, match="k is 0"):
        store.query(np.ones(4), 0)
    with pytest.raises(FilterError, match="'\\$like' on 'a' is not an operator"):
        store.query(np.ones(4), 3, {"a": {"$like": "x"}})


def test_metadata_that_cannot_be_stored_is_refused_by_name(place, row):
    store = place.open()
    for value in ({"a": 1}, ["x", 1], [1, 2], float("nan"), float("inf"), 2**63, object(), ("x",)):
        with pytest.raises(StoreError, match="chunk c1: metadata 'field' has the value"):
            store.upsert([row("c1", field=value)])
    for key in ("", "_hidden", "$and", "chroma:document", "a\nb", "#document"):
        with pytest.raises(StoreError, match=r"chunk c1: metadata key .* begins with a letter or digit"):
            store.upsert([replace(row("c1"), metadata={key: 1})])
    store.upsert([row("c1", nothing=None, empty=[], kept=0, text_kept="")])
    assert dict(stored(store)["c1"].metadata) == {"kept": 0, "text_kept": ""}


def test_ids_are_checked(place, row):
    store = place.open()
    with pytest.raises(StoreError, match="chunk c1 occurs twice"):
        store.upsert([row("c1"), row("c1")])
    with pytest.raises(StoreError, match=r"chunk c1 belongs to a\.pdf, not to b\.pdf"):
        store.replace_source("b.pdf", [row("c1")])
    with pytest.raises(StoreError, match="'' is not a chunk id"):
        store.upsert([row("")])


def test_hostile_texts_names_and_keys_come_back_as_they_were(place, row):
    texts = [
        "'; DROP TABLE rows; --",
        '{"a": "b"}',
        "100 % %s %(x)s",
        "back\\slash \\u0000",
        "e\u0301 ≠ é",
        "\ufeffbom",
        " ",
        "x" * 300_000,
    ]
    keys = ["a.b", "a'b", 'a"b', "a%b", "a b", "a[0]", "a->b", "a\\b", "ключ", "k" * 200]
    store = place.open()
    rows = [
        row(f"c{n}", (1, n, 0, 0), source_id=f"folder/{text[:40]}.pdf", text=text, **dict.fromkeys(keys, text[:500]))
        for n, text in enumerate(texts)
    ]
    store.upsert(rows)
    found = stored(store)
    for wanted in rows:
        assert (found[wanted.chunk_id].text, found[wanted.chunk_id].source_id) == (wanted.text, wanted.source_id)
        assert dict(found[wanted.chunk_id].metadata) == dict(wanted.metadata)
        assert store.ids_of_source(wanted.source_id) == {wanted.chunk_id}
        for key in keys:
            assert ids(store.query(np.ones(4), 99, {key: wanted.metadata[key]})) == [wanted.chunk_id]


def test_characters_no_database_keeps_are_taken_out_of_texts(place, row):
    """PDFs hold NUL characters; PostgreSQL refuses them, and a lone surrogate is not UTF-8."""
    store = place.open()
    store.upsert([row("c1", text="a\x00b\ud800c", title="x\x00y", tags=["p\x00q"])])
    found = stored(store)["c1"]
    assert (found.text, dict(found.metadata)) == ("abc", {"title": "xy", "tags": ["pq"]})
    for operand in ("\x00", "\ud800", "x\x00y"):
        assert store.query(np.ones(4), 3, {"title": operand}) == []
        assert ids(store.query(np.ones(4), 3, {"title": {"$ne": operand}})) == ["c1"]


def test_six_thousand_rows_of_one_file_are_stored(place, row):
    """Chroma's client takes 5,461 rows at once, Qdrant's server 32 MiB."""
    store = place.open()
    generator = np.random.default_rng(6)
    vectors = generator.normal(size=(6000, 4))
    result = store.replace_source(
        "big.pdf", [row(f"c{n:04}", vectors[n], source_id="big.pdf", page=n) for n in range(6000)]
    )
    assert (result.upserted, store.count(), store.count("big.pdf")) == (6000, 6000, 6000)
    assert ids(store.query(vectors[4321], 1)) == ["c4321"]
    assert ids(store.query(vectors[17], 3, {"page": {"$gte": 5997}})) == ids(
        sorted(store.query(vectors[17], 3, {"page": {"$gte": 5997}}), key=lambda hit: -hit.score)
    )
    assert store.verify() == []
    if place.backend != "qdrant_folder":  # it commits every deletion to the disk by itself
        assert store.replace_source("big.pdf", [row("c0000", source_id="big.pdf")]).deleted == 5999
        assert store.count() == 1


def test_a_collection_refuses_another_model_and_names_both(place, row):
    spec = place.spec()
    place.open(spec).upsert([row("c1")])
    with pytest.raises(
        ModelMismatchError, match=r"written with model-1 \(4 dimensions\), not with model-2 \(4 dimensions\)"
    ):
        place.open(replace(spec, model="model-2"))
    with pytest.raises(
        ModelMismatchError, match=r"written with model-1 \(4 dimensions\), not with model-1 \(5 dimensions\)"
    ):
        place.open(replace(spec, dimension=5))


def test_a_collection_can_be_opened_without_knowing_its_model(place, row):
    spec = place.spec()
    place.open(spec).upsert([row("c1")])
    store = instantiate_vector_store(place.uri, spec.name)
    place.opened.append(store)
    assert (store.spec.model, store.spec.dimension, store.spec.corpus) == ("model-1", 4, "papers")
    assert ids(store.query(np.ones(4), 1)) == ["c1"]
    with pytest.raises(StoreError, match="cannot be made without an embedding model"):
        instantiate_vector_store(place.uri, place.spec().name, create=True)


@pytest.mark.parametrize("name", ["ab", "My Coll", "a..b", "192.168.0.1", "café", "-ab", "ab-", "a/b", "x" * 201, ""])
def test_a_name_that_breaks_the_rule_is_refused_with_the_rule(place, name):
    with pytest.raises(StoreError, match="a collection name has 3 to 200 characters out of a-z A-Z 0-9"):
        place.open(CollectionSpec(name, "papers", "model-1", 4))


def test_what_is_not_there_is_not_made_unasked(place):
    with pytest.raises(FileNotFoundError):
        place.open(create=False)
    place.open()
    with pytest.raises(StoreNotFoundError, match="there is no collection test-"):
        place.open(create=False)


def test_several_collections_lie_side_by_side(place, row):
    first, second = place.open(), place.open(place.spec(dimension=2, model="other"))
    first.upsert([row("c1", year=1)])
    second.upsert([row("c1", (0, 1), year=2)])
    assert (stored(first)["c1"].metadata, stored(second)["c1"].metadata) == ({"year": 1}, {"year": 2})
    first.drop()
    assert ids(second.query(np.array([0, 1.0]), 5, {"year": 2})) == ["c1"]


def test_a_collection_is_copied_into_another_while_it_is_read(place, row):
    """Moving to another model or backend reads and writes at once, possibly in one folder."""
    old, new = place.open(), place.open()
    old.upsert([row(f"c{number:03}", (1, number, 0, 0), year=number) for number in range(60)])
    for found in old.scan(batch_size=7):
        new.upsert([found])
    assert {key: dict(found.metadata) for key, found in stored(new).items()} == {
        key: dict(found.metadata) for key, found in stored(old).items()
    }
    assert new.query(np.ones(4), 9, {"year": {"$gt": 7}}) == old.query(np.ones(4), 9, {"year": {"$gt": 7}})


def test_a_dropped_collection_is_gone_and_a_new_one_is_another(place, row):
    """A manifest that speaks of the old collection must not be believed about the new one."""
    spec = place.spec()
    store, witness = place.open(spec), place.open(spec)
    store.upsert([row("c1")])
    assert witness.instance == store.instance
    assert witness.count() == 1
    store.drop()
    with pytest.raises(StoreNotFoundError):
        witness.count()
    again = place.open(spec)
    assert again.count() == 0
    assert again.instance != store.instance
    with pytest.raises(StoreNotFoundError):
        witness.upsert([row("c2")])


def test_what_one_store_writes_another_reads(place, row):
    spec = place.spec()
    writer, reader = place.open(spec), place.open(spec)
    assert reader.query(np.ones(4), 1) == []
    writer.upsert([row("c1"), row("c2", (0, 1, 0, 0))])
    assert ids(reader.query(np.array([1.0, 0, 0, 0]), 1)) == ["c1"]
    writer.replace_source("a.pdf", [row("c1", (0, 0, 1, 0))])
    assert [(hit.chunk_id, hit.score) for hit in reader.query(np.array([0, 0, 1.0, 0]), 5)] == [("c1", 1.0)]


def test_rows_outlive_the_process_that_wrote_them(place_of, row, postgres_address, chroma_address):
    for backend in ("sqlite", "chroma_folder", "chroma_server", "qdrant_folder", "pgvector"):
        place = place_of(backend)
        spec = place.spec()
        with open_store(place.uri, spec) as store:
            store.upsert([row("c1", year=1, tags=["x"])])
            instance = store.instance
        store = place.open(spec, create=False)
        assert store.instance == instance
        assert ids(store.query(np.ones(4), 1, {"tags": {"$contains": "x"}})) == ["c1"]


def test_a_collection_says_what_it_is(place, row):
    store = place.open()
    store.upsert([row("c1")])
    info = store.info()
    assert (info.backend, info.collection, info.model, info.dimension, info.rows) == (
        place.uri.partition(":")[0], store.spec.name, "model-1", 4, 1,
    )  # fmt: skip
    assert info.details["corpus"] == "papers"
    assert info.details["instance"] == store.instance
    assert store.verify() == []


def test_names_of_people_are_found_however_they_are_spelt(place, row):
    from stackroom.stores.names import shadow_field, shadow_keys

    store = place.open()
    authors = ["Ankur Sinha", "José García"]
    store.upsert(
        [row("c1", authors=authors, **{shadow_field("authors"): shadow_keys(authors)}), row("c2", authors=["Bo Li"])]
    )
    for spelling in ("Sinha", "A. Sinha", "Sinha, Ankur", "garcia", "Ankur Sinha"):
        assert ids(store.query(np.ones(4), 5, {"authors": {"$contains": spelling}})) == ["c1"]
    assert ids(store.query(np.ones(4), 5, {"authors": {"$contains": "Bo Li"}})) == ["c2"]
    assert ids(store.query(np.ones(4), 5, {"authors": {"$contains": "Nobody"}})) == []


def test_a_store_may_be_used_by_several_threads(place, row):
    """A retriever answers several questions at once through one store object."""
    store = place.open(place.spec(filter_fields=(FilterField(name="year", value_type="int"),)))
    store.upsert([row(f"c{n}", (1, n, 0, 0), year=n % 3) for n in range(30)])
    expected = ids(store.query(np.ones(4), 5, {"year": 1}))
    problems: list[object] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                store.replace_source(
                    f"t{number}.pdf", [row(f"t{number}-{turn}", (0, 0, 0, 1), source_id=f"t{number}.pdf", year=9)]
                )
                if ids(store.query(np.ones(4), 5, {"year": 1})) != expected:
                    problems.append("another answer")
        except StoreError as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert store.count() == 34
