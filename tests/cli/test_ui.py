"""`stackroom ui`: the web interface starts on loopback with the project's own instance, and Ctrl-C ends all of it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest

from stackroom.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]


STATE = """{
  runsOrError { ... on Runs { results { id } } }
  workspaceOrError { ... on Workspace { locationEntries { loadStatus } } }
}"""


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port: int, query: str) -> dict:
    """Ask Dagster's GraphQL interface."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/graphql",
        data=json.dumps({"query": query}).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["data"]


def test_without_the_definitions_the_ui_could_not_run(project, capsys):
    (project.folder / "assets" / "launch.py").unlink()
    assert main(["ui"]) == 1
    assert "assets/" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_ui_starts_on_loopback_with_the_projects_instance_and_ends_with_ctrl_c(tmp_path):
    for name in ("assets", "resources", "sensors", "stackroom"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("dagster.yaml", "workspace.yaml", "stackroom.yaml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    (tmp_path / "library").mkdir()
    port = free_port()
    hidden = ("STACKROOM_", "DAGSTER_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    log = (tmp_path / "ui.log").open("w")
    command = [sys.executable, "-m", "stackroom", "ui", "--port", str(port)]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + 240
        while True:
            try:
                data = ask(port, STATE)
                break
            except (urllib.error.URLError, ConnectionError):
                assert process.poll() is None, (tmp_path / "ui.log").read_text()
                assert time.monotonic() < deadline, (tmp_path / "ui.log").read_text()
                time.sleep(1)
        assert data["workspaceOrError"]["locationEntries"] == [{"loadStatus": "LOADED"}]
        assert data["runsOrError"] == {"results": []}
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        listening = {
            connection.laddr.ip
            for member in family
            for connection in member.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        }
        assert listening == {"127.0.0.1"}
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        log.close()
    _, left = psutil.wait_procs(family, timeout=60)  # code servers end when they miss their master's heartbeat
    assert left == []
    assert "superseded" not in (tmp_path / "ui.log").read_text()
    assert (tmp_path / ".stackroom" / "history").is_dir()
    assert not (tmp_path / "history").exists()
    assert not (tmp_path / "storage").exists()
