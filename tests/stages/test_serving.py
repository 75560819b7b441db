"""Another embedding model or store: the old collection answers until the new one is complete, then it goes.

Real stores and a real second model; a crash is the state it leaves, made by hand.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.cli import main
from stackroom.doctor import examine, repair
from stackroom.errors import StoreNotFoundError
from stackroom.identity import chunk_id
from stackroom.ledger import Verdict
from stackroom.remembered import KeptStore, read_moved_stores, read_serving, write_serving
from stackroom.retrieval.search import Searcher
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.removal import withdraw_source
from stackroom.stages.rows import rows_with_vectors
from stackroom.stages.serving import Settled, asked_for, building, settle_collections, verify_collection
from stackroom.stores.base import CollectionSpec, open_store
from tests.filled import CORPUS, DOCUMENTS, Filled, copy, fill, hide_environment
from tests.small_model import write_small_model


@dataclass
class Library(Filled):
    """A filled project whose settings can be changed piece by piece."""

    backend: str = "sqlite"
    model: Path | None = None

    @property
    def store(self) -> str:
        """URI of the configured store."""
        return f"chroma:{self.root}/chroma" if self.backend == "chroma" else super().store

    def settings(self, text: str = "") -> None:
        """Write stackroom.yaml with the model, if there is one."""
        model = f"    embedder: {{kind: sentence_transformers, model: '{self.model}'}}\n" if self.model else ""
        super().settings(model + text)

    def use_model(self, model: Path | None) -> None:
        """Change the embedding model."""
        self.model = model
        self.settings()

    def searched(self) -> tuple[str, str, tuple[str, ...]]:
        """Return first file, the collection asked, and warnings of a search by a process of its own."""
        with Searcher(self.config) as searcher:
            return found(searcher)

    def collections(self) -> list[tuple[str, str, int]]:
        """Return what the manifest notes; of the configured store."""
        with self.bench() as bench:
            return [row for row in bench.manifest.collections() if row[0] == self.store]


def found(searcher: Searcher) -> tuple[str, str, tuple[str, ...]]:
    """Return first file, the collection asked, and warnings of a search."""
    result = searcher.search("bird that spears fish", k=1)
    return result.hits[0].source_id, searcher.sides(CORPUS)._places.collection, result.warnings


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return write_small_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture
def library(template, tmp_path, monkeypatch):
    hide_environment(monkeypatch)
    made = Library(copy(template, tmp_path).root)
    made.settings()
    made.ingest()
    monkeypatch.chdir(tmp_path)
    return made


def exists(uri: str, collection: str) -> bool:
    """Return whether a store holds a collection."""
    try:
        open_store(uri, CollectionSpec(collection, "", "", 0), create=False).close()
    except StoreNotFoundError:
        return False
    return True


@pytest.mark.parametrize("backend", ["sqlite", "chroma"])
def test_the_old_model_answers_until_the_new_collection_is_complete(library, small, backend, capsys):
    library.backend = backend
    library.settings()
    library.ingest()
    old = read_serving(library.root / ".stackroom", CORPUS)
    with Searcher(library.config) as open_all_the_time:
        assert found(open_all_the_time) == ("birds/heron.md", old.collection, ())
        library.use_model(small)
        assert library.ingest(most=2) == ("birds/heron.md", "birds/swift.md")
        assert library.searched() == ("birds/heron.md", old.collection, ())
        with library.bench() as bench:
            state = building(bench)
            assert (state.done, state.of, state.instead_of, state.problem) == (2, 4, old, None)
            new = bench.collection
        stores = json.loads((library.root / ".stackroom" / "stores.json").read_text())
        assert stores["domains"][CORPUS]["vector_stores"][0]["name"] == old.collection
        assert main(["status"]) == 0
        assert "notes: building new collection: 2 of 4 files" in capsys.readouterr().out

        assert len(library.ingest()) == 2
        assert found(open_all_the_time)[1:] == (new.name, ())
    assert library.searched()[1:] == (new.name, ())
    assert [(name, files) for _, name, files in library.collections()] == [(new.name, 4)]
    assert not exists(old.uri, old.collection)
    stores = json.loads((library.root / ".stackroom" / "stores.json").read_text())
    assert stores["domains"][CORPUS]["vector_stores"][0]["name"] == new.name
    with library.bench() as bench:
        assert (new.dimension, examine(bench)) == (96, [])


def test_both_sides_agree_on_chunks_while_the_new_collection_is_built(library, small):
    library.use_model(small)
    library.ingest(most=3)
    with Searcher(library.config) as searcher:
        result = searcher.search("grey heron waits in shallow water", k=1)
    assert (result.hits[0].ranks, result.warnings) == ({"dense": 1, "bm25": 1}, ())


def test_settings_that_leave_the_model_as_it_is_build_nothing(library):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.settings("    embedder: {batch_size: 7, threads: 1}\n")
    assert library.ingest() == ()
    assert library.searched() == ("birds/heron.md", old.collection, ())
    with library.bench() as bench:
        assert settle_collections(bench) == Settled()
    now = read_serving(library.root / ".stackroom", CORPUS)
    assert (now.place, now.embedder["batch_size"]) == (old.place, 7)


def test_a_state_folder_that_is_moved_still_answers(library, tmp_path):
    text = (library.root / "stackroom.yaml").read_text()
    (library.root / "stackroom.yaml").write_text(text.replace(f"vector_store: '{library.store}'", "description: d"))
    library.ingest()
    assert library.searched()[2] == ()
    (library.root / ".stackroom").rename(tmp_path / "elsewhere")
    with (library.root / "stackroom.yaml").open("a") as settings:
        settings.write(f"state_folder: {tmp_path}/elsewhere\n")
    assert library.searched()[::2] == ("birds/heron.md", ())


def test_a_crash_between_switch_and_drop_is_finished_by_the_next_run(library, small):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.use_model(small)
    library.ingest(most=3)
    with library.bench() as bench:
        write_serving(library.root / ".stackroom", CORPUS, asked_for(bench))
        assert bench.manifest.sources(*old.place).keys() == DOCUMENTS.keys()
    library.ingest()
    assert not exists(old.uri, old.collection)
    assert [files for *_, files in library.collections()] == [4]


def test_a_crash_between_drop_and_note_is_finished_by_the_next_run(library, small):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.use_model(small)
    library.ingest(most=3)
    with library.bench() as bench:
        write_serving(library.root / ".stackroom", CORPUS, asked_for(bench))
        bench.other_store(*old.place).drop()
    library.ingest()
    assert [files for *_, files in library.collections()] == [4]


def test_going_back_to_the_old_model_drops_what_was_half_built(library, small):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.use_model(small)
    library.ingest(most=2)
    with library.bench() as bench:
        abandoned = bench.collection.name
    library.use_model(None)
    library.ingest()
    assert read_serving(library.root / ".stackroom", CORPUS) == old
    assert not exists(old.uri, abandoned)
    assert library.collections() == [(*old.place, 4)]
    with library.bench() as bench:
        assert examine(bench) == []


def test_a_pending_file_delays_the_switch_and_a_quarantined_one_does_not(library, small):
    library.use_model(small)
    library.ingest(most=3)
    with library.bench() as bench:
        bench.ledger.record(CORPUS, "otter.md", Verdict("pending", None, "store_unavailable", "try again"))
        assert settle_collections(bench).building.in_words() == "building new collection: 3 of 4 files"
        bench.ledger.record(CORPUS, "otter.md", Verdict("quarantined", None, "corrupt", "broken"))
        settled = settle_collections(bench)
        assert settled.building is None
        told = f"the new collection is complete and in use; {settled.replaced.collection} answered until now"
        assert settled.in_words() == [told]
    assert [files for *_, files in library.collections()] == [3]


def test_settings_that_fail_most_files_do_not_empty_the_search(library, small):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.use_model(small)
    library.ingest(most=1)
    with library.bench() as bench:
        for source in list(DOCUMENTS)[1:]:
            bench.ledger.record(CORPUS, source, Verdict("quarantined", None, "internal_error", "bad vectors"))
        state = settle_collections(bench).building
        assert "3 of 4 files are quarantined under the new settings" in state.in_words()
        assert library.searched()[1] == old.collection
        assert settle_collections(bench, accept_losses=True).building is None
    assert library.searched()[1] != old.collection


def test_a_file_that_is_deleted_meanwhile_is_not_found_any_more(library, small):
    library.use_model(small)
    library.ingest(most=1)
    (library.folder / "otter.md").unlink()
    (library.folder / "birds/heron.md").write_bytes(b"")
    library.ingest(most=1)
    with library.bench() as bench:
        old = building(bench).instead_of
        assert bench.other_store(*old.place).source_ids() == {"birds/swift.md", "engine.md"}
        assert bench.ledger.source(CORPUS, "birds/heron.md").state == "quarantined"


def test_the_old_collection_keeps_a_file_that_only_the_new_settings_fail(library, small):
    library.use_model(small)
    library.ingest(most=2)
    with library.bench() as bench:
        old = building(bench).instead_of
        withdraw_source(bench, "birds/heron.md")
        assert "birds/heron.md" in bench.other_store(*old.place).source_ids()
        assert "birds/heron.md" not in bench.store.source_ids()


def test_a_new_collection_that_is_not_sound_is_not_used_until_it_is_repaired(library, small):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.use_model(small)
    library.ingest(most=3)
    with library.bench() as bench:
        rows, _ = rows_with_vectors(FileWork(bench, "engine.md"))
        turned = np.roll(rows[0].vector, 7)
        bench.store.upsert([StoredRow(rows[0].chunk_id, rows[0].source_id, rows[0].text, rows[0].metadata, turned)])
        assert verify_collection(bench) == ["vectors differ from their artefacts (for example of engine.md)"]
    library.ingest()
    with library.bench() as bench:
        assert building(bench).done == 4
        assert library.searched()[1] == old.collection
        problems = examine(bench)
        assert [(one.kind, one.source_id) for one in problems] == [("altered", "engine.md")]
        assert repair(bench, problems) == []
    assert library.searched()[1:] == (bench.collection.name, ())


@pytest.mark.parametrize("spoil", ["row gone", "foreign row"])
def test_rows_that_are_not_as_noted_are_noticed(library, spoil):
    with library.bench() as bench:
        if spoil == "row gone":
            bench.store.delete_source("engine.md")
            wanted = "not as many rows as noted of 1 file (for example engine.md)"
        else:
            row = StoredRow(chunk_id("x", "their.md", 0), "their.md", "theirs", {}, np.ones(384))
            bench.store.upsert([row])
            wanted = "rows of 1 file are not noted (for example their.md)"
        assert verify_collection(bench)[0] == wanted


def test_another_store_is_filled_from_the_artefacts_without_embedding_anything(library, capsys):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.backend = "chroma"
    library.settings()
    library.ingest(most=1)
    assert library.searched() == ("birds/heron.md", old.collection, ())
    loaded: list[Bench] = []
    opened = Library.bench

    def noted(self):
        loaded.append(opened(self))
        return loaded[-1]

    Library.bench = noted
    try:
        assert len(library.ingest()) == 3
    finally:
        Library.bench = opened
    # The model itself was never loaded, neither in full nor the small form for a few texts.
    assert [(bench.embedder._model._model, bench.embedder._model._small) for bench in loaded] == [(None, None)]
    assert read_serving(library.root / ".stackroom", CORPUS).uri == library.store
    assert read_moved_stores(library.root / ".stackroom")[CORPUS].kept == (KeptStore(*old.place),)
    assert library.searched() == ("birds/heron.md", old.collection, ())
    assert exists(*old.place)
    assert main(["move", CORPUS, "--drop-old"]) == 0
    assert not exists(*old.place)
    assert read_moved_stores(library.root / ".stackroom") == {}


def test_a_move_while_another_store_is_being_filled_keeps_both(library):
    old = read_serving(library.root / ".stackroom", CORPUS)
    library.backend = "chroma"
    library.settings()
    library.ingest(most=1)
    assert main(["move", CORPUS, "--to", "sqlite:third.db"]) == 0
    assert library.searched() == ("birds/heron.md", old.collection, ())
    assert read_serving(library.root / ".stackroom", CORPUS).uri == f"sqlite:{library.root}/third.db"
    kept = read_moved_stores(library.root / ".stackroom")[CORPUS].kept
    assert [one.uri for one in kept] == [library.store, old.uri]
    assert main(["move", CORPUS, "--drop-old"]) == 0
    assert not exists(*old.place)


def test_without_the_old_model_the_new_collection_answers_and_says_so(library, small, tmp_path):
    other = write_small_model(tmp_path / "other", factor=1.5)
    library.use_model(other)
    library.ingest()
    library.use_model(small)
    (other / "model.safetensors").unlink()
    library.ingest(most=1)
    first, collection, warnings = library.searched()
    assert (first, collection) == ("birds/heron.md", None)
    assert "the model of the collection in use is not on this machine any more" in warnings[0]
