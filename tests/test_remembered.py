"""Stores that were moved are used instead of the configured ones, until settings or environment say otherwise."""

import stat

import pytest

from stackroom.config import load_config
from stackroom.errors import ConfigError
from stackroom.remembered import MOVED_STORES_FILE, KeptStore, MovedStore, read_moved_stores, write_moved_store


@pytest.fixture
def project(tmp_path):
    (tmp_path / "papers").mkdir()

    def write(store):
        line = f"    vector_store: '{store}'\n" if store else ""
        (tmp_path / "stackroom.yaml").write_text(f"corpora:\n  papers:\n    folder: papers\n{line}")
        return tmp_path

    return write


@pytest.mark.parametrize("configured", [None, "sqlite:/a.db"])
def test_a_moved_store_counts_while_the_settings_name_the_old_one(project, configured):
    folder = project(configured)
    state = folder / ".stackroom"
    write_moved_store(state, "papers", MovedStore(configured, "sqlite:/b.db", (KeptStore("sqlite:/a.db", "papers-m"),)))
    assert load_config(folder, {}).vector_store_uri("papers") == "sqlite:/b.db"
    assert load_config(folder, {"STACKROOM_STORE_PAPERS": "sqlite:/c.db"}).vector_store_uri("papers") == "sqlite:/c.db"
    assert load_config(project("sqlite:/new.db"), {}).vector_store_uri("papers") == "sqlite:/new.db"
    write_moved_store(state, "papers", None)
    assert read_moved_stores(state) == {}


def test_a_store_of_the_defaults_is_moved_like_one_of_the_corpus(project):
    folder = project(None)
    (folder / "stackroom.yaml").write_text(
        "defaults: {vector_store: 'sqlite:/a.db'}\ncorpora:\n  papers: {folder: papers}\n"
    )
    write_moved_store(folder / ".stackroom", "papers", MovedStore("sqlite:/a.db", "sqlite:/b.db"))
    assert load_config(folder, {}).corpora["papers"].vector_store == "sqlite:/b.db"


def test_what_is_written_is_read_and_only_the_owner_may(tmp_path):
    moved = MovedStore("sqlite:/a.db", None, (KeptStore("chroma:/x", "papers-m"), KeptStore("sqlite:/y", "papers-m")))
    write_moved_store(tmp_path, "papers", moved)
    assert read_moved_stores(tmp_path) == {"papers": moved}
    assert stat.S_IMODE((tmp_path / MOVED_STORES_FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["{", "[]", '{"papers": {}}', '{"papers": 1}'])
def test_a_damaged_file_is_named_with_its_remedy(project, text):
    folder = project(None)
    (folder / ".stackroom").mkdir()
    (folder / ".stackroom" / MOVED_STORES_FILE).write_text(text)
    with pytest.raises(ConfigError, match=r"moved-stores\.json is damaged .*; delete it and move the corpora again"):
        load_config(folder, {})
