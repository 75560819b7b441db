"""An ingestion that changes the model is killed again and again; what answers is always one whole collection."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackroom.doctor import examine
from stackroom.remembered import read_serving
from stackroom.retrieval.search import Searcher
from tests.filled import CORPUS, Filled, fill, hide_environment
from tests.small_model import write_small_model

INGEST = """
import sys
from pathlib import Path
from tests.filled import Filled
Filled(Path(sys.argv[1])).ingest()
print("done", flush=True)
"""
FILES = 24


def settings(library: Filled, model: Path) -> None:
    """Write the settings with a model."""
    library.settings(f"    embedder: {{kind: sentence_transformers, model: '{model}'}}\n")


def ingest_killed_after(root: Path, seconds: float) -> bool:
    """Ingest in a process of its own and kill it; returns whether it was done before."""
    process = subprocess.Popen(
        [sys.executable, "-c", INGEST, str(root)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(timeout=seconds) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "chroma"])
def test_a_change_of_the_model_survives_kills_at_any_moment(tmp_path, monkeypatch, backend):
    hide_environment(monkeypatch)
    monkeypatch.setattr(Filled, "store", property(lambda self: f"{backend}:{self.root}/vectors-{backend}"))
    library = fill(tmp_path / "library")
    for number in range(FILES):
        (library.folder / f"note{number:02}.md").write_text(f"# Note {number}\n\nIt tells of place number {number}.")
    library.ingest()
    models = [write_small_model(tmp_path / f"model{number}", factor=1 + number / 2) for number in range(2)]
    random_ = random.Random(5)
    switched = 0
    for attempt in range(16):
        settings(library, models[switched % 2])
        before = read_serving(library.root / ".stackroom", CORPUS)
        started = time.monotonic()
        done = ingest_killed_after(library.root, random_.uniform(1.0, 12.0) if attempt < 12 else 120.0)
        serving = read_serving(library.root / ".stackroom", CORPUS)
        with Searcher(library.config) as searcher:
            hits = searcher.search("place number", k=FILES).hits
            assert len({hit.source_id for hit in hits if hit.ranks["dense"]}) == FILES, (attempt, started)
        with library.bench() as bench:
            assert len(bench.manifest.sources(*serving.place)) == FILES + 4
            if serving != before:
                assert serving.collection == bench.collection.name
                switched += 1
            if done:
                assert [name for uri, name, _ in bench.manifest.collections() if uri == serving.uri] == [
                    bench.collection.name
                ]
                assert examine(bench) == []
    assert switched >= 2
