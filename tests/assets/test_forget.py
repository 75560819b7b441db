"""Forgetting a corpus leaves its documents and nothing else; other corpora do not notice."""

import json

import pytest

from assets.build import build_defs
from assets.forget import forget_everything
from assets.in_flight import LAUNCHER_TAG, this_process
from assets.jobs import ingest_job_name
from assets.partitions import CORPUS_TAG, known_sources
from stackroom.config import load_config
from stackroom.errors import ConfigError, StoreError, StoreNotFoundError
from stackroom.ledger import Ledger
from stackroom.remembered import read_serving
from stackroom.stages.forgetting import traces
from stackroom.stores.base import CollectionSpec, open_store
from stackroom.stores.manifest import Manifest, ManifestRow
from tests.project import CORPUS


@pytest.fixture
def gone(project, monkeypatch):
    """A project whose ingested corpus is no longer in stackroom.yaml."""
    monkeypatch.setenv("STACKROOM_STATE", str(project.root / "state"))
    project.write("a.md", "# A\n\nThe note speaks of herons.")
    project.write("b.md", "# B\n\nThe note speaks of otters.")
    project.ingest()
    with pytest.raises(ConfigError, match="remove its entry under `corpora` first"):
        forget_everything(project.config, project.instance, CORPUS)
    (project.root / "stackroom.yaml").write_text("corpora: {}\n")
    return project


def test_everything_made_of_a_corpus_goes_and_its_documents_stay(gone):
    serving = read_serving(gone.state.root, CORPUS)
    seen = forget_everything(gone.config, gone.instance, CORPUS, dry_run=True)
    assert (seen["sources"], seen["partitions"], seen["keyword_index"]) == (2, 2, True)
    assert seen["collections"] == [{"vector_store": serving.uri, "collection": serving.collection, "rows": 2}]
    assert traces(gone.config, CORPUS).any
    assert forget_everything(gone.config, gone.instance, CORPUS) == {**seen, "dry_run": False}

    assert not traces(gone.config, CORPUS).any
    assert known_sources(gone.instance, CORPUS) == []
    assert Ledger(gone.state.ledger).version(CORPUS) == 0
    with pytest.raises(StoreNotFoundError):
        open_store(serving.uri, CollectionSpec(serving.collection, "", "", 0), create=False)
    assert not gone.state.artefacts(CORPUS).root.exists()
    assert sorted(path.name for path in gone.folder.iterdir()) == ["a.md", "b.md"]
    assert json.loads(gone.state.stores_config.read_text()) == {"domains": {}}
    with pytest.raises(ConfigError, match="nothing is known of a corpus 'notes'"):
        forget_everything(gone.config, gone.instance, CORPUS)


def test_a_collection_that_has_become_empty_goes_as_well(gone):
    serving = read_serving(gone.state.root, CORPUS)
    with Manifest(gone.state.manifest) as manifest:
        manifest.delete_collection(*serving.place)
    (found,) = forget_everything(gone.config, gone.instance, CORPUS)["collections"]
    assert found["collection"] == serving.collection
    with pytest.raises(StoreNotFoundError):
        open_store(serving.uri, CollectionSpec(serving.collection, "", "", 0), create=False)


def test_nothing_is_deleted_while_a_run_is_in_flight_or_a_store_is_out_of_reach(gone):
    with Manifest(gone.state.manifest) as manifest:
        place = ("qdrant:http://127.0.0.1:9", "notes-elsewhere")
        manifest.put(ManifestRow(*place, "a.md", "f", ("c",), "m", 3))
        # A record collection may be called like those of a corpus; it is not the corpus's.
        manifest.put(ManifestRow(read_serving(gone.state.root, CORPUS).uri, "notesx-m", "a.md", "f", ("c",), "m", 3))
    with pytest.raises(StoreError, match="collection notes-elsewhere of notes cannot be reached"):
        forget_everything(gone.config, gone.instance, CORPUS)
    assert len(Ledger(gone.state.ledger).sources(CORPUS)) == 2
    assert [rows for *_, rows in traces(gone.config, CORPUS).collections] in ([2, -1], [-1, 2])
    gone.settings()
    run = gone.instance.create_run_for_job(
        build_defs(gone.config).resolve_job_def(ingest_job_name(CORPUS)),
        tags={CORPUS_TAG: CORPUS, LAUNCHER_TAG: this_process()},
    )
    (gone.root / "stackroom.yaml").write_text("corpora: {}\n")
    with pytest.raises(ConfigError, match="1 run of notes is queued or running"):
        forget_everything(gone.config, gone.instance, CORPUS)
    gone.instance.report_run_failed(run)
    found = forget_everything(gone.config, gone.instance, CORPUS, leave_unreachable=True)
    assert ("notes-elsewhere", None) in [(one["collection"], one["rows"]) for one in found["collections"]]
    with Manifest(gone.state.manifest) as manifest:
        assert [name for _, name, _ in manifest.collections()] == ["notesx-m"]


def test_a_folder_that_was_added_is_forgotten_with_its_entry(project, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKROOM_STATE", str(project.root / "state"))
    added = {"letters": {"folder": str(tmp_path / "docs"), "description": ""}}
    (project.state.root / "corpora.json").parent.mkdir(exist_ok=True)
    (project.state.root / "corpora.json").write_text(json.dumps(added))
    assert "letters" in project.config.corpora
    assert forget_everything(project.config, project.instance, "letters")["added"] is True
    assert "letters" not in load_config(project.root).corpora
