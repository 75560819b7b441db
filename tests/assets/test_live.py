"""The product as people run it: `dagster dev` with a web server and daemon, driven over GraphQL."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORPUS = "notes"

LAUNCH = """
mutation($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}"""

BACKFILL = """
query($id: String!) {
  partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status }
    ... on PythonError { message }
  }
}"""

PARTITIONS = """
query($keys: [AssetKeyInput!]) {
  assetNodes(assetKeys: $keys) {
    assetKey { path }
    partitionStats { numMaterialized numFailed numPartitions }
    assetPartitionStatuses { ... on DefaultPartitionStatuses { materializedPartitions failedPartitions } }
    assetMaterializations(limit: 20) {
      partition
      metadataEntries { label ... on IntMetadataEntry { intValue } }
    }
  }
}"""

CHECKS = """
query($key: AssetKeyInput!, $name: String!, $partition: String) {
  assetCheckExecutions(assetKey: $key, checkName: $name, limit: 20, partition: $partition) {
    status
    evaluation { success description }
  }
}"""


class Server:
    """A running `dagster dev`, and GraphQL against it."""

    def __init__(self, folder: Path, state: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.log = state / "dev.log"
        state.mkdir(parents=True, exist_ok=True)
        self.environment = {
            **os.environ,
            "DAGSTER_HOME": str(folder),
            "STACKROOM_STATE": str(state),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "HF_HUB_OFFLINE": "1",
        }

    def start(self) -> None:
        """Start and wait until the server answers."""
        command = [str(Path(sys.executable).parent / "dagster"), "dev", "-h", "127.0.0.1", "-p", str(self.port)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        give_up = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):
                self.ask("{ version }")
                return
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < give_up, self.log.read_text()[-3000:]
            time.sleep(0.5)

    def stop(self) -> None:
        """Stop everything that was started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)

    def ask(self, query: str, **variables):
        """Send a GraphQL query and return its data."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            data=json.dumps({"query": query, "variables": variables}).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            body = json.load(answer)
        assert not body.get("errors"), body["errors"]
        return body["data"]

    def backfill(self, assets: list[str], partitions: list[str]) -> str:
        """Launch a backfill, wait for its end and return its status."""
        params = {
            "assetSelection": [{"path": [CORPUS, name]} for name in assets],
            "partitionNames": partitions,
            "tags": [],
        }
        launched = self.ask(LAUNCH, params=params)["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        give_up = time.monotonic() + 240
        while time.monotonic() < give_up:
            status = self.ask(BACKFILL, id=launched["backfillId"])["partitionBackfillOrError"]["status"]
            if status not in ("REQUESTED", "CANCELING", "COMPLETING", "FAILING"):
                return status
            time.sleep(1)
        raise AssertionError(f"the backfill did not end:\n{self.log.read_text()[-3000:]}")


@pytest.fixture
def live(tmp_path):
    """Return a running server over a copy of the project with a small corpus of two good files and a broken one."""
    with serving(tmp_path) as server:
        yield server


@contextlib.contextmanager
def serving(tmp_path: Path, schedules: str = "", corpora: str = ""):
    """Run a server over a copy of the project in ``tmp_path``; ``schedules`` and ``corpora`` are added to settings."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("assets", "resources", "sensors"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("workspace.yaml", "dagster.yaml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# Alpha\n\nThe alpha note is about herons at the lake.")
    (folder / "docs" / "b.md").write_text("# Beta\n\nThe beta note is about otters in the river.")
    (folder / "docs" / "broken.pdf").write_bytes(b"")
    (folder / "stackroom.yaml").write_text(
        f"limits: {{workers: 1}}\ncorpora:\n  {CORPUS}: {{folder: docs}}\n{corpora}{schedules}"
    )
    server = Server(folder, tmp_path / "state")
    register = (
        "import dagster as dg, pathlib\n"
        "from stackroom.config import load_config\n"
        "from assets.partitions import add_sources\n"
        "from resources.bench import bench_of, default_resources\n"
        "from stackroom.stages.reconcile import plan_corpus\n"
        f"config = load_config(pathlib.Path.cwd()); name = {CORPUS!r}\n"
        "with bench_of(config, name, default_resources(config, name)) as bench: planned = plan_corpus(bench)\n"
        "add_sources(dg.DagsterInstance.get(), name, list(planned.process))\n"
    )
    subprocess.run([sys.executable, "-c", register], cwd=folder, env=server.environment, check=True, timeout=120)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_backfill_shows_good_and_failed_partitions_metadata_and_checks(live):
    stages = ["source_document", "ocr_classification", "chunks", "metadata_map", "embeddings", "vector_collection"]
    stages += ["bm25_corpus", "lint_report"]
    status = live.backfill(stages, ["a.md", "b.md", "broken.pdf"])
    assert status == "COMPLETED_FAILED"

    nodes = live.ask(PARTITIONS, keys=[{"path": [CORPUS, "chunks"]}])["assetNodes"]
    assert sorted(nodes[0]["assetPartitionStatuses"]["materializedPartitions"]) == ["a.md", "b.md"]
    assert nodes[0]["assetPartitionStatuses"]["failedPartitions"] == ["broken.pdf"]
    counts = {
        materialization["partition"]: next(
            entry["intValue"] for entry in materialization["metadataEntries"] if entry["label"] == "chunk_count"
        )
        for materialization in nodes[0]["assetMaterializations"]
    }
    assert counts == {"a.md": 1, "b.md": 1}

    key = {"path": [CORPUS, "source_document"]}
    checks = live.ask(CHECKS, key=key, name="readable", partition="broken.pdf")["assetCheckExecutions"]
    assert checks[0]["status"] == "FAILED"
    assert checks[0]["evaluation"]["description"].startswith("empty: ")
    good = live.ask(CHECKS, key=key, name="readable", partition="a.md")["assetCheckExecutions"]
    assert good[0]["status"] == "SUCCEEDED"

    # A good file in place of the broken one: only its partition is run again, and everything is green.
    (live.folder / "docs" / "broken.pdf").write_text("This is plain text with a wrong name, about swallows.")
    assert live.backfill(stages, ["broken.pdf"]) == "COMPLETED_SUCCESS"
    nodes = live.ask(PARTITIONS, keys=[{"path": [CORPUS, "lint_report"]}])["assetNodes"]
    assert nodes[0]["partitionStats"] == {"numMaterialized": 3, "numFailed": 0, "numPartitions": 3}
