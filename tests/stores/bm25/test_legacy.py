"""``langchain_documents.pkl`` was written by langchain-core 1.x itself: two pickled lists of Documents."""

import os
import pickle
import struct
from pathlib import Path

import pytest

from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError, UnsafePickleError
from stackroom.stores.bm25.legacy import open_legacy_index, read_legacy_corpus

DOCUMENTS = Path(__file__).with_name("langchain_documents.pkl")


def test_batches_are_read_to_the_end_of_the_file():
    rows = read_legacy_corpus(DOCUMENTS, "cables")
    assert {name: [row.text for row in found] for name, found in rows.items()} == {
        "cable.pdf": [
            "Passive cables attenuate slow signals less than fast ones.",
            "The length constant depends on membrane and axial resistance.",
        ],
        "spines.pdf": ["Dendritic spines isolate synaptic calcium."],
    }
    assert rows["cable.pdf"][1].metadata == {"file_name": "cable.pdf", "year": 2004}
    assert rows["spines.pdf"][0].metadata["open"] is True


def test_it_is_searched_like_any_other_index():
    index = open_legacy_index(DOCUMENTS, "cables", Bm25Settings())
    hits = index.search("dendritic calcium signals", 5)
    assert [hit.source_id for hit in hits] == ["spines.pdf", "cable.pdf"]
    assert [hit.source_id for hit in index.search("signals calcium", 5, {"year": {"$gte": 2000}})] == ["cable.pdf"]


class Hostile:
    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self):
        return (os.mkdir, (self.target,))


def test_a_hostile_file_is_refused_and_does_nothing(tmp_path):
    path, target = tmp_path / "old.pkl", tmp_path / "harm"
    path.write_bytes(DOCUMENTS.read_bytes() + pickle.dumps([Hostile(str(target))]))
    with pytest.raises(UnsafePickleError, match=r"old\.pkl was refused: opcode REDUCE at byte \d+ would call"):
        read_legacy_corpus(path, "c")
    assert not target.exists()


def test_another_class_is_refused_even_without_a_call(tmp_path):
    path = tmp_path / "old.pkl"
    path.write_bytes(pickle.dumps([os.getcwd]))
    with pytest.raises(UnsafePickleError, match=r"asks for posix\.getcwd"):
        read_legacy_corpus(path, "c")


def test_a_memo_number_that_would_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "old.pkl"
    path.write_bytes(b"\x80\x04]r" + struct.pack("<I", 2**31) + b".")
    with pytest.raises(UnsafePickleError, match="numbers object 2147483648 in a file of 9 bytes"):
        read_legacy_corpus(path, "c")


@pytest.mark.parametrize("content", [{"a": 1}, ["text"], [["nested"]], 5])
def test_anything_but_lists_of_documents_is_an_error(tmp_path, content):
    path = tmp_path / "old.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(ArtefactError, match=r"old\.pkl holds a \w+ where a (list of documents|document) was expected"):
        read_legacy_corpus(path, "c")


def test_a_document_of_another_shape_is_an_error(tmp_path):
    path = tmp_path / "old.pkl"
    path.write_bytes(DOCUMENTS.read_bytes().replace(b"page_content", b"page_kontent"))
    with pytest.raises(ArtefactError, match="page_content is not text"):
        read_legacy_corpus(path, "c")


def test_an_empty_and_a_missing_file():
    with pytest.raises(ArtefactError, match="cannot be read"):
        read_legacy_corpus(Path("/nowhere/old.pkl"), "c")
