"""Files that seem to be gone, files that are gone while another store is in use, and settings of the index alone."""

import shutil

import pytest

from stackroom.stages.corpus import build_keyword_index
from stackroom.stages.reconcile import plan_corpus
from stackroom.stages.vanished import remove_vanished
from stackroom.stores.bm25.index import open_index
from tests.reliability.histories import CORPUS, Library, picture, reconcile

TEXTS = {name: f"# {name}\n\nThe {name} note speaks of the {name}." for name in ("heron", "otter", "swift", "engine")}


@pytest.fixture
def library(tmp_path, engines) -> Library:
    """Four documents, ingested into a SQLite store."""
    made = Library(tmp_path, engines[0], "sqlite:{root}/a.db")
    for name, text in TEXTS.items():
        made.write(f"{name}.md", text)
    reconcile(made)
    return made


def sources_of(library: Library) -> set[str]:
    return {source for source, _, _ in picture(library).rows.values()}


def found(library: Library, word: str) -> list[str]:
    with library.bench() as bench:
        index = open_index(bench.settings.state.bm25_index(CORPUS))
        return [hit.source_id for hit in index.search(word, 10)]


def test_a_folder_that_seems_empty_empties_neither_store_nor_keyword_index(library):
    for name in TEXTS:
        (library.folder / f"{name}.md").unlink()

    with library.bench() as bench:
        assert "4 of 4 files have vanished at once" in plan_corpus(bench).refused
        assert remove_vanished(bench).sources == ()
        build_keyword_index(bench)
    assert sources_of(library) == {f"{name}.md" for name in TEXTS}
    assert found(library, "heron") == ["heron.md"]


def test_a_file_deleted_while_another_store_was_in_use_is_gone_when_the_first_one_is_used_again(library):
    library.store = "sqlite:{root}/b.db"
    reconcile(library)
    (library.folder / "otter.md").unlink()
    reconcile(library)
    library.store = "sqlite:{root}/a.db"
    reconcile(library)
    assert sources_of(library) == {"heron.md", "swift.md", "engine.md"}
    assert picture(library).problems == ()


def test_a_store_that_outlived_the_state_folder_keeps_no_rows_of_files_that_are_gone(library, tmp_path):
    shutil.rmtree(tmp_path / ".stackroom")
    (library.folder / "otter.md").unlink()
    reconcile(library)
    assert sources_of(library) == {"heron.md", "swift.md", "engine.md"}


def test_other_weights_of_the_keyword_index_build_it_again_and_process_no_file(library):
    before = picture(library).ranking
    library.tuning["bm25"] = {"k1": 0.4, "b": 0.1}
    planned = reconcile(library)
    assert planned.process == ()
    assert picture(library).ranking != before
    assert found(library, "heron") == ["heron.md"]
