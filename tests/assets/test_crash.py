"""Killing a run with SIGKILL at any moment and running again gives what an undisturbed run gives."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = 12


def make_project(folder: Path) -> dict[str, str]:
    """Copy the code location into ``folder`` with a corpus of small notes; return the environment to run it in."""
    folder.mkdir(parents=True)
    for name in ("assets", "resources", "sensors"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "dagster.yaml", folder / "dagster.yaml")
    (folder / "docs").mkdir()
    for number in range(FILES):
        text = f"# Note {number}\n\n" + "\n\n".join(f"Sentence {n} of note {number} about herons." for n in range(30))
        (folder / "docs" / f"note{number:02}.md").write_text(text)
    (folder / "stackroom.yaml").write_text("limits: {workers: 1}\ncorpora: {notes: {folder: docs}}\n")
    return {
        **os.environ,
        "DAGSTER_HOME": str(folder),
        "STACKROOM_STATE": str(folder / "state"),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "HF_HUB_OFFLINE": "1",
    }


def start(folder: Path, environment: dict[str, str]) -> subprocess.Popen:
    command = [sys.executable, "-m", "assets.launch", "ingest", "--corpus", "notes"]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )


def wait_for_files(process: subprocess.Popen, files: int) -> None:
    """Wait until so many files were reported, or the plan for 0; or the run's end."""
    for line in process.stdout:
        event = json.loads(line)["event"]
        files -= event == "file"
        if event in ("plan", "file") and files <= 0:
            return


def finish(folder: Path, environment: dict[str, str]) -> dict:
    process = start(folder, environment)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output.decode()
    return json.loads(output.decode().splitlines()[-1])


def picture(folder: Path) -> dict[str, object]:
    """Everything the run left behind that a search depends on."""
    code = (
        "import json, pathlib\n"
        "from stackroom.config import load_config\n"
        "from stackroom.stages.bench import Bench, BenchSettings\n"
        "from stackroom.doctor import examine\n"
        "from stackroom.stores.bm25.index import open_index\n"
        "with Bench(BenchSettings.of(load_config(pathlib.Path.cwd()), 'notes')) as bench:\n"
        "    rows = sorted((row.chunk_id, row.text, sorted(map(str, row.metadata.items())),"
        " [round(float(x), 5) for x in row.vector]) for row in bench.store.scan())\n"
        "    index = open_index(bench.settings.state.bm25_index('notes'))\n"
        "    hits = [(hit.chunk_id, round(hit.score, 6)) for hit in index.search('heron note 7', 50)]\n"
        "    print(json.dumps({'rows': rows, 'hits': hits, 'problems': [p.message for p in examine(bench)]}))\n"
    )
    environment = {**os.environ, "STACKROOM_STATE": str(folder / "state")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    artefacts = folder / "state" / "artefacts"
    seen["artefacts"] = sorted(
        str(path.relative_to(artefacts))
        for path in artefacts.rglob("*")
        if path.is_file() and path.suffix in (".json", ".parquet", ".pkl")
    )
    seen["temporary"] = [path.name for path in artefacts.rglob("*.tmp")]
    seen["pickles"] = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in artefacts.rglob("*.pkl")}
    return seen


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_random_moments_the_next_run_completes_the_work(tmp_path):
    undisturbed = tmp_path / "undisturbed"
    environment = make_project(undisturbed)
    assert finish(undisturbed, environment)["searchable"] == FILES
    expected = picture(undisturbed)
    assert expected["problems"] == []
    assert len(expected["rows"]) >= FILES

    killed = tmp_path / "killed"
    environment = make_project(killed)
    chance = random.Random(20261130)
    for _ in range(8):
        process = start(killed, environment)
        wait_for_files(process, chance.randint(0, 2))
        time.sleep(chance.uniform(0.0, 0.4))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    finish(killed, environment)
    seen = picture(killed)
    seen.pop("temporary")
    expected.pop("temporary")
    assert seen == expected
