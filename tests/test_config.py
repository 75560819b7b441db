"""What is wrong with stackroom.yaml is said with key, value and what is allowed."""

import pytest

from stackroom.config import load_config
from stackroom.errors import ConfigError
from stackroom.remembered import add_corpus


@pytest.fixture
def project(tmp_path):
    (tmp_path / "papers").mkdir()

    def write(text):
        (tmp_path / "stackroom.yaml").write_text(text)
        return tmp_path

    return write


def test_defaults_hold_for_every_corpus_and_a_corpus_may_differ(project):
    folder = project(
        "defaults: {chunking: {max_tokens: 200}, vector_store: 'sqlite:/x.db'}\n"
        "corpora:\n  a1: {folder: papers}\n"
        "  b1: {folder: papers, chunking: {max_tokens: 100}, vector_store: 'memory:'}\n"
    )
    config = load_config(folder, {})
    assert [config.corpora[name].chunking.max_tokens for name in ("a1", "b1")] == [200, 100]
    assert [config.vector_store_uri(name) for name in ("a1", "b1")] == ["sqlite:/x.db", "memory:"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("corpora: {ab: {folder: papers, chunkin: {}}}", ["corpora.ab.chunkin", "did you mean 'chunking'"]),
        (
            "corpora: {ab: {folder: papers, filter_fields: [{name: x, typ: int}]}}",
            ["filter_fields.0.typ", "value_type"],
        ),
        ("limits: {}\ncorpora: {ab: {folder: papers}}\nlimits: {workers: 2}", ["'limits'", "second time", "line 3"]),
        ("limits: {workers: many}", ["limits.workers", "'many'", "integer"]),
        ("defaults: {ocr: {mode: sometimes}}", ["defaults.ocr.mode", "'sometimes'", "'auto', 'always' or 'never'"]),
        ("corpora: {ab: {folder: stackroom.yaml}}", ["corpora.ab.folder", "stackroom.yaml", "is not a folder"]),
        ("corpora: {ab: {}}", ["corpora.ab.folder is missing"]),
        ("corpora: {'My Papers': {folder: papers}}", ["'My Papers'", "small letters"]),
        ("corpora: {ab: {folder: papers, vector_store: 'redis:x'}}", ["'redis:x'", "chroma:/folder"]),
        ("limits: {worker_memory_mb: 4096, memory_budget_mb: 2048}", ["4096", "2048", "not even one worker"]),
        ("corpora: [", ["not valid YAML"]),
        ("- a", ["must be a mapping"]),
        ("corpora: {ab: {folder: papers, embedder: {kind: openai, model: m}}}", ["base_url"]),
    ],
)
def test_a_wrong_setting_is_named(project, text, parts):
    with pytest.raises(ConfigError) as caught:
        load_config(project(text), {})
    for part in parts:
        assert part in str(caught.value)


def test_a_missing_folder_does_not_keep_the_other_corpora_from_working(project):
    folder = project("corpora: {ab: {folder: unplugged}, cd: {folder: papers}}")
    assert load_config(folder, {}).corpus("ab").folder == folder / "unplugged"


def test_a_missing_file_says_where_to_run(tmp_path):
    with pytest.raises(ConfigError, match=r"stackroom\.yaml does not exist"):
        load_config(tmp_path, {})


def test_environment_variables_move_state_folders_and_stores(project, tmp_path):
    (tmp_path / "other").mkdir()
    folder = project("corpora: {papers: {folder: papers}}")
    config = load_config(
        folder,
        {
            "STACKROOM_STATE": str(tmp_path / "state"),
            "STACKROOM_FOLDER_PAPERS": str(tmp_path / "other"),
            "STACKROOM_STORE_PAPERS": "qdrant:http://localhost:6333",
        },
    )
    assert config.state_folder == tmp_path / "state"
    assert config.corpora["papers"].folder == tmp_path / "other"
    assert config.vector_store_uri("papers") == "qdrant:http://localhost:6333"


def test_an_added_folder_becomes_a_corpus_of_its_name_and_is_remembered(project, tmp_path):
    folder = project("corpora: {papers: {folder: papers}}")
    first, second = tmp_path / "My Reports (2024)", tmp_path / "x" / "My Reports (2024)"
    first.mkdir()
    second.mkdir(parents=True)
    names = [add_corpus(load_config(folder, {}), path) for path in (first, second, first, tmp_path / "papers")]
    assert names == ["my_reports_2024", "my_reports_2024_2", "my_reports_2024", "papers"]
    assert load_config(folder, {}).corpora["my_reports_2024"].folder == first


def test_the_folder_of_stackrooms_own_files_is_no_folder_of_documents(project):
    folder = project("corpora: {papers: {folder: papers}}")
    config = load_config(folder, {})
    (config.state_folder / "stores").mkdir(parents=True)
    for path in (config.state_folder, config.state_folder / "stores"):
        with pytest.raises(ConfigError, match="where Stackroom keeps its own files"):
            add_corpus(config, path)
    assert set(load_config(folder, {}).corpora) == {"papers"}


def test_an_added_folder_that_is_gone_stays_a_corpus_and_stops_no_other(project, tmp_path):
    folder = project("corpora: {papers: {folder: papers}}")
    gone = tmp_path / "gone"
    gone.mkdir()
    add_corpus(load_config(folder, {}), gone)
    gone.rmdir()
    assert set(load_config(folder, {}).corpora) == {"papers", "gone"}
