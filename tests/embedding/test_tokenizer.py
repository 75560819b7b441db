"""Token counts must be those of the embedding model, or chunks are truncated and text is lost."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.config import EmbedderSettings
from stackroom.embedding.tokenizer import Tokenizer, load_tokenizer, open_tokenizer
from stackroom.errors import EmbeddingError


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return open_tokenizer(EmbedderSettings())


def test_the_bundled_model_reads_256_tokens(tokenizer):
    assert tokenizer.max_tokens == 256
    assert tokenizer.file.name == "tokenizer.json"


def test_special_tokens_are_counted(tokenizer):
    assert tokenizer.count("") == 2
    assert tokenizer.count("hello world") == 4
    assert tokenizer.special_tokens == 2


def test_counting_never_truncates(tokenizer):
    assert tokenizer.count("word " * 1000) == 1002


def test_many_texts_are_counted_as_one_by_one(tokenizer):
    texts = ["", "hello world", "tadpole " * 300, "größe ünicode 漢字", "a\ud800b"]
    assert tokenizer.count_many(texts) == [tokenizer.count(text) for text in texts]


def test_spans_are_character_offsets_of_the_tokens(tokenizer):
    text = "Dense 漢字, retrieval"
    assert [text[a:b] for a, b in tokenizer.spans(text)] == ["Dense", "漢", "字", ",", "retrieval"]


@cache
def _opened() -> Tokenizer:
    return open_tokenizer(EmbedderSettings())


@given(st.text(max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_can_be_counted_and_its_spans_agree(text):
    tokenizer = _opened()
    spans = tokenizer.spans(text)
    assert len(spans) == tokenizer.count(text) - tokenizer.special_tokens
    assert all(0 <= a <= b <= len(text) for a, b in spans)


def test_a_lower_limit_in_the_settings_holds_and_a_higher_one_does_not():
    assert open_tokenizer(EmbedderSettings(max_tokens=100)).max_tokens == 100
    assert open_tokenizer(EmbedderSettings(max_tokens=4000)).max_tokens == 256


def test_a_remote_model_is_counted_by_the_named_tokenizer(tokenizer, tmp_path):
    other = tmp_path / "tokenizer.json"
    other.write_bytes(tokenizer.file.read_bytes())
    remote = EmbedderSettings(kind="openai", model="m", base_url="http://127.0.0.1:1/v1", tokenizer=other)
    assert open_tokenizer(remote).file == other
    assert open_tokenizer(remote).max_tokens == 512
    assert open_tokenizer(remote.model_copy(update={"max_tokens": 8191, "tokenizer": None})).max_tokens == 8191


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"model": {}})])
def test_a_damaged_tokenizer_file_is_named(tmp_path, content):
    file = tmp_path / "tokenizer.json"
    file.write_text(content)
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json"):
        load_tokenizer(file, 256)


def test_a_missing_tokenizer_file_is_named(tmp_path):
    with pytest.raises(EmbeddingError, match=r"no tokenizer file .*absent"):
        load_tokenizer(tmp_path / "absent.json", 256)


def test_opening_a_tokenizer_imports_no_model_library():
    """Workers and the command line open it at every start; torch would add seconds."""
    script = (
        "import sys\n"
        "from stackroom.config import EmbedderSettings\n"
        "from stackroom.embedding import open_embedder\n"
        "from stackroom.embedding.tokenizer import open_tokenizer\n"
        "open_tokenizer(EmbedderSettings()).count('x'); open_embedder(EmbedderSettings()).identity\n"
        "print([name for name in ('torch', 'transformers', 'sentence_transformers', 'openai') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert result.stdout.strip() == "[]"
