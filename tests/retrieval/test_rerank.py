import sys

import pytest

from stackroom.config import RetrievalSettings
from stackroom.errors import EmbeddingError
from stackroom.retrieval.document import Document
from stackroom.retrieval.fusion import RankedList
from stackroom.retrieval.pipeline import rank
from stackroom.retrieval.rerank import cross_encoder_rerank, load_cross_encoder
from stackroom.stores.base import StoreHit


class ByLength:
    """Scores a pair by the length of the passage."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, str]]] = []

    def predict(self, sentences, *, show_progress_bar):
        self.asked.append(sentences)
        assert show_progress_bar is False
        return [len(passage) for _, passage in sentences]


def test_documents_get_the_models_scores_and_order():
    model = ByLength()
    docs = [(Document("aa", {"n": 1}), 0.9), (Document("aaaa"), 0.1), (Document("bb"), 0.5)]
    ranked = cross_encoder_rerank("q", docs, model)
    assert [(found.page_content, score) for found, score in ranked] == [("aaaa", 4.0), ("aa", 2.0), ("bb", 2.0)]
    assert model.asked == [[("q", "aa"), ("q", "aaaa"), ("q", "bb")]]
    assert ranked[1][0].metadata == {"n": 1}


def test_another_number_of_scores_is_an_error():
    class Short(ByLength):
        def predict(self, sentences, *, show_progress_bar):
            return [1.0]

    with pytest.raises(ValueError, match="1 scores for 2 texts"):
        cross_encoder_rerank("q", [(Document("a"), 1.0), (Document("b"), 1.0)], Short())


def test_a_ranking_is_rescored_with_headings_and_explained():
    hits = [
        StoreHit("a", "s", "x", {"headings": ["A long heading"]}, 3.0),
        StoreHit("b", "s", "y", {}, 2.0),
        StoreHit("c", "s", "zzzz", {}, 1.0),
    ]
    model = ByLength()
    ranked = rank([RankedList("c", "bm25", "bm25", hits)], RetrievalSettings(), "q", 2, model)
    assert [(entry.fused.hit.chunk_id, entry.score) for entry in ranked] == [("a", 16.0), ("c", 4.0)]
    assert model.asked[0][0] == ("q", "A long heading\nx")
    told = ranked[1].explanation("convex", 0.0, None)
    assert (told["cross_encoder"], told["fused"], told["score"]) == (4.0, 0.0, 4.0)


@pytest.mark.parametrize("name", ["", None])
def test_no_name_is_an_error(name):
    with pytest.raises(ValueError, match="no cross-encoder was named"):
        load_cross_encoder(name)


def test_a_missing_library_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match="make install"):
        load_cross_encoder("any")


def test_a_missing_model_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbeddingError, match=r"no-such-model.* cannot be loaded"):
        load_cross_encoder("cross-encoder/no-such-model")
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbeddingError, match=r"cross-encoder folder .* cannot be loaded"):
        load_cross_encoder(str(tmp_path / "empty"))


def test_a_model_in_a_folder_is_loaded_and_used(tmp_path):
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "frog", "cat"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "model")
    tiny = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = BertConfig(vocab_size=len(words), num_labels=1, **tiny)
    BertForSequenceClassification(config).save_pretrained(tmp_path / "model")
    model = load_cross_encoder(str(tmp_path / "model"))
    ranked = cross_encoder_rerank("frog", [(Document("cat"), 0.5), (Document("frog"), 0.5)], model)
    assert {found.page_content for found, _ in ranked} == {"cat", "frog"}
    assert ranked[0][1] >= ranked[1][1]
