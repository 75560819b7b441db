"""What a newcomer does first: ingest the sample library in a fresh copy, and search it."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackroom.config import load_config
from stackroom.retrieval.search import Searcher

REPOSITORY = Path(__file__).resolve().parent.parent
QUERIES = json.loads((REPOSITORY / "tests" / "library_queries.json").read_text(encoding="utf-8"))
COPIED = (
    "assets", "library", "resources", "sensors", "stackroom", "stackroom_history", "dagster.yaml", "stackroom.yaml",
    "workspace.yaml",
)  # fmt: skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


class Copy:
    """A copy of the repository in which the command runs as a newcomer would run it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            source = REPOSITORY / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command with nothing of Stackroom's in the environment."""
        hidden = ("STACKROOM_", "DAGSTER_", "HF_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        return subprocess.run(
            [sys.executable, "-m", "stackroom", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
        )

    def json(self, *arguments: str) -> dict:
        """Run a command with --json and return what it printed."""
        return json.loads(self.run(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """The copy, with the sample library ingested."""
    copy = Copy(tmp_path_factory.mktemp("newcomer"))
    ended = copy.run("ingest")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "10 searchable" in ended.stdout
    assert 'search "' in ended.stdout
    return copy


def test_every_document_of_the_library_can_be_searched(copy):
    sources = copy.json("status")["sources"]
    library = copy.folder / "library"
    files = sorted(
        path.relative_to(library).as_posix() for path in library.rglob("*.*") if path.name != "metadata-map.json"
    )
    assert [source["source_id"] for source in sources] == files
    assert {source["state"] for source in sources} == {"searchable"}
    assert all(source["chunks"] > 0 for source in sources)


def test_each_question_finds_its_document_first(copy):
    """Asked in one process, through the library, because loading the model for each question takes seconds."""
    with Searcher(load_config(copy.folder, {})) as searcher:
        first = {entry["query"]: searcher.search(entry["query"]).hits[0].source_id for entry in QUERIES}
    assert first == {entry["query"]: entry["source_id"] for entry in QUERIES}


def test_a_hit_says_where_it_comes_from(copy):
    answer = copy.json("search", "supply boat came to the lighthouse with oil and flour")
    hit = answer["hits"][0]
    documented = {"corpus", "source_id", "chunk_id", "chunk_index", "score", "pages", "headings", "text", "metadata"}
    assert set(hit) >= {*documented, "ranks"}
    assert hit["pages"] == [3]
    assert "supply boat" in hit["text"]
    assert hit["metadata"]["title"] == "Reading Pages by Eye: When a Document Needs OCR"
    assert set(hit["ranks"]) == {"dense", "bm25"}
    assert answer["warnings"] == []


def test_a_filter_on_an_author_keeps_only_that_authors_documents(copy):
    where = '{"authors": {"$contains": "Carvalho"}}'
    hits = copy.json("search", "pages of a document", "--filter", where, "--k", "50")["hits"]
    assert {hit["source_id"] for hit in hits} == {
        "guides/damaged-files.pdf",
        "guides/reading-pages-by-eye.pdf",
        "reference/troubleshooting.md",
    }


def test_a_second_ingestion_does_nothing_and_is_quick(copy):
    start = time.monotonic()
    ended = copy.run("ingest")
    assert time.monotonic() - start < 30
    assert ended.returncode == 0
    assert "nothing to do, 10 unchanged" in ended.stdout
    assert "0 converted, 0 texts embedded" in ended.stdout


def test_lint_finds_no_error_in_the_library(copy):
    lint = copy.json("lint")
    assert lint["sources"] == 10
    assert [finding for finding in lint["findings"] if finding["severity"] == "error"] == []


def test_a_folder_of_ones_own_becomes_a_corpus_and_a_changed_file_alone_is_processed(copy, tmp_path):
    folder = tmp_path / "My Notes"
    folder.mkdir()
    (folder / "bees.md").write_text("# Bees\n\nThe hive beside the orchard swarmed in May.\n")
    (folder / "wells.md").write_text("# Wells\n\nThe old well gives clear water again.\n")
    assert copy.run("ingest", "--source", str(folder)).returncode == 0
    assert copy.json("search", "a swarm of bees", "--corpus", "my_notes")["hits"][0]["source_id"] == "bees.md"
    (folder / "wells.md").write_text("# Wells\n\nThe old well has been closed with a lid of oak.\n")
    ended = copy.run("ingest", "my_notes")
    assert "1 file to do, 1 unchanged" in ended.stdout
    assert "oak" in copy.json("search", "lid of the well", "--corpus", "my_notes")["hits"][0]["text"]


def test_nothing_is_written_outside_the_state_folder(copy):
    """The project folder is DAGSTER_HOME, which Dagster likes to fill."""
    made = {path.name for path in copy.folder.iterdir()} - set(COPIED)
    assert made <= {".stackroom", "__pycache__"}
