"""Small keyword corpora, written with the real analyser."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from stackroom.artefacts import MetadataValue, StoredRow
from stackroom.config import Bm25Settings
from stackroom.fingerprint import fingerprint
from stackroom.identity import chunk_id
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.build import build_index
from stackroom.stores.bm25.corpus import write_corpus
from stackroom.stores.bm25.index import KeywordIndex, open_index

Text = str | tuple[str, dict[str, MetadataValue]]


def make_rows(source: str, texts: Sequence[Text]) -> list[StoredRow]:
    rows = []
    for number, text in enumerate(texts):
        body, metadata = text if isinstance(text, tuple) else (text, {})
        rows.append(StoredRow(chunk_id("tests", source, number), source, body, {"chunk_index": number, **metadata}))
    return rows


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write the corpus file of a source and return its path."""

    def write_source(source: str, texts: Sequence[Text], settings: Bm25Settings | None = None) -> Path:
        path = tmp_path / "corpora" / f"{source.replace('/', '-')}.pkl"
        rows = make_rows(source, texts)
        made_for = fingerprint("bm25_corpus", 1, texts=[row.text for row in rows], metadata=str(rows))
        write_corpus(path, source, rows, open_analyser(settings or Bm25Settings()), made_for)
        return path

    return write_source


@pytest.fixture
def index_of(tmp_path: Path, write: Callable[..., Path]) -> Callable[..., KeywordIndex]:
    """Index sources and open the index."""

    def build(sources: dict[str, Sequence[Text]], settings: Bm25Settings | None = None) -> KeywordIndex:
        settings = settings or Bm25Settings()
        paths = [write(source, texts, settings) for source, texts in sources.items()]
        build_index(paths, tmp_path / "index", settings)
        return open_index(tmp_path / "index")

    return build
