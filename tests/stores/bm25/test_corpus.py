import enum
import os
import pickle
import pickletools

import pytest

from stackroom.artefacts import StoredRow
from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError, UnsafePickleError
from stackroom.fingerprint import fingerprint
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.corpus import corpus_fingerprint, read_corpus, read_header, write_corpus

ANALYSER = open_analyser(Bm25Settings())
MADE_FOR = fingerprint("bm25_corpus", 1, text="abc")
ROWS = [
    StoredRow("id-0", "a/b.pdf", "Frogs give birth to tadpoles.", {"headings": ["Frogs", "Birth"], "year": 2014}),
    StoredRow("id-1", "a/b.pdf", "the of and", {"open": True, "weight": 0.5, "tags": ["x", "y"]}),
    StoredRow("id-2", "a/b.pdf", "", {}),
]


def test_what_is_written_is_read_back(tmp_path):
    report = write_corpus(tmp_path / "c.pkl", "a/b.pdf", ROWS, ANALYSER, MADE_FOR)
    corpus = read_corpus(tmp_path / "c.pkl")
    assert (report.chunks, report.tokens, report.terms, report.analyser) == (3, 6, 4, ANALYSER.identity)
    assert corpus.header.source_id == "a/b.pdf"
    assert corpus.header.ingredients == MADE_FOR.ingredients
    assert corpus.chunk_ids == ["id-0", "id-1", "id-2"]
    assert corpus.texts == [row.text for row in ROWS]
    assert corpus.metadata == [dict(row.metadata) for row in ROWS]
    first = {
        corpus.vocabulary[term]: (int(count), int(heading))
        for term, count, heading in zip(
            corpus.term_ids[: corpus.row_ends[0]], corpus.counts, corpus.heading_counts, strict=False
        )
    }
    assert first == {"frog": (1, 1), "give": (1, 0), "birth": (1, 1), "~to": (1, 0), "tadpol": (1, 0)}
    assert corpus.row_ends.tolist() == [5, 8, 8]


def test_the_file_names_no_global_at_all(tmp_path):
    write_corpus(tmp_path / "c.pkl", "a/b.pdf", ROWS, ANALYSER, MADE_FOR)
    with (tmp_path / "c.pkl").open("rb") as stream:
        names = {opcode.name for _ in range(2) for opcode, _, _ in pickletools.genops(stream)}
    assert not names & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "NEWOBJ", "INST", "OBJ"}


def test_the_fingerprint_is_read_without_the_body(tmp_path):
    path = tmp_path / "c.pkl"
    write_corpus(path, "a/b.pdf", ROWS, ANALYSER, MADE_FOR)
    assert corpus_fingerprint(path) == MADE_FOR.digest
    header_only = pickle.dumps(pickle.loads(path.read_bytes()), protocol=4)
    path.write_bytes(header_only + b"rubbish")
    assert read_header(path).fingerprint == MADE_FOR.digest
    assert corpus_fingerprint(tmp_path / "absent.pkl") is None


class Colour(enum.StrEnum):
    RED = "red"


def test_an_enumeration_member_is_stored_as_its_text(tmp_path):
    write_corpus(tmp_path / "c.pkl", "s", [StoredRow("i", "s", "x", {"kind": Colour.RED})], ANALYSER, MADE_FOR)
    assert read_corpus(tmp_path / "c.pkl").metadata == [{"kind": "red"}]


def test_a_value_no_store_keeps_is_an_error_that_names_the_key(tmp_path):
    row = StoredRow("i", "s", "x", {"when": {"a": 1}})  # type: ignore[dict-item]
    with pytest.raises(ArtefactError, match="'when' holds a dict"):
        write_corpus(tmp_path / "c.pkl", "s", [row], ANALYSER, MADE_FOR)
    assert not (tmp_path / "c.pkl").exists()


class Hostile:
    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self):
        return (os.mkdir, (self.target,))


@pytest.mark.parametrize("place", ["header", "body"])
def test_a_hostile_pickle_is_refused_and_does_nothing(tmp_path, place):
    path, target = tmp_path / "c.pkl", tmp_path / "harm"
    write_corpus(path, "s", ROWS, ANALYSER, MADE_FOR)
    header = pickle.dumps(pickle.loads(path.read_bytes()), protocol=4)
    hostile = pickle.dumps(Hostile(str(target)))
    path.write_bytes(hostile if place == "header" else header + hostile)
    with pytest.raises(UnsafePickleError, match=r"c\.pkl was refused: it asks for posix\.mkdir"):
        read_corpus(path)
    assert not target.exists()
    assert (corpus_fingerprint(path) is None) == (place == "header")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body.pop("texts"),
        lambda body: body["texts"].pop(),
        lambda body: body["texts"].__setitem__(0, 5),
        lambda body: body["term_ids"].__setitem__(0, 999),
        lambda body: body["term_ids"].__setitem__(0, -1),
        lambda body: body["row_ends"].reverse(),
        lambda body: body["counts"].append("x"),
        lambda body: body["counts"].append(2**40),
    ],
)
def test_a_body_that_does_not_fit_together_is_an_error_that_names_the_file(tmp_path, spoil):
    path = tmp_path / "c.pkl"
    write_corpus(path, "s", ROWS, ANALYSER, MADE_FOR)
    with path.open("rb") as stream:
        header, body = pickle.load(stream), pickle.load(stream)
    spoil(body)
    path.write_bytes(pickle.dumps(header, protocol=4) + pickle.dumps(body, protocol=4))
    with pytest.raises(ArtefactError, match=r"c\.pkl is damaged"):
        read_corpus(path)


@pytest.mark.parametrize("keep", [0, 1, 10, 200, 400])
def test_a_file_cut_short_is_an_error_that_names_it(tmp_path, keep):
    path = tmp_path / "c.pkl"
    write_corpus(path, "s", ROWS, ANALYSER, MADE_FOR)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ArtefactError, match=r"c\.pkl"):
        read_corpus(path)
