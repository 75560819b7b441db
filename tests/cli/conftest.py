"""A small project whose ingesting process is a script that speaks the protocol, to try the command alone."""

import json
import sys
from pathlib import Path

import pytest

from tests.filled import Filled, copy, fill, hide_environment

FAKE_LAUNCH = '''
"""Stands in for assets.launch: prints the lines of script.json, and behaves as it says."""
import json, os, pathlib, signal, sys, time

here = pathlib.Path.cwd()
record = {"arguments": sys.argv[1:], "home": os.environ["DAGSTER_HOME"], "state": os.environ["STACKROOM_STATE"],
          "offline": os.environ["HF_HUB_OFFLINE"]}
with open(here / "calls.jsonl", "a") as calls:
    calls.write(json.dumps(record) + "\\n")
for step in json.loads((here / "script.json").read_text()):
    match step:
        case {"stderr": text}:
            print(text, file=sys.stderr, flush=True)
        case {"stdout": text}:
            print(text, flush=True)
        case {"kill": number}:
            os.kill(os.getpid(), number)
        case {"exit": code}:
            sys.exit(code)
        case {"wait": seconds}:
            try:
                time.sleep(seconds)
            except KeyboardInterrupt:
                (here / "interrupted").write_text("once")
                try:
                    time.sleep(1)
                except KeyboardInterrupt:
                    (here / "interrupted").write_text("twice")
                sys.exit(130)
        case _:
            print(json.dumps(step), flush=True)
'''


class Project:
    """The folder of the project and what its fake process has been told and asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / ".stackroom"

    def script(self, *steps: dict) -> None:
        """Say what the ingesting process prints and does."""
        (self.folder / "script.json").write_text(json.dumps(steps))

    @staticmethod
    def done(**changes: object) -> dict:
        """Return a `done` event."""
        counts = {"searchable": 0, "partial": 0, "quarantined": 0, "converted": 0, "embedded": 0}
        return {"event": "done", "ok": True, "failed": [], "seconds": 1.0, **counts, **changes}

    def calls(self) -> list[dict]:
        """Return how the process was called, in order."""
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def add_file(self, name: str, text: str = "Some words.") -> Path:
        """Put a document into the corpus's folder."""
        path = self.folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with one corpus called `papers`; the current folder is inside it."""
    folder = tmp_path / "project"
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "assets").mkdir()
    (folder / "assets" / "launch.py").write_text(FAKE_LAUNCH)
    (folder / "stackroom.yaml").write_text("corpora:\n  papers:\n    folder: docs\n")
    for variable in ("STACKROOM_STATE", "STACKROOM_PROJECT", "STACKROOM_CONFIG", "DAGSTER_HOME", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(folder / "docs" / "deep")
    monkeypatch.setattr(sys, "argv", ["stackroom"])
    return Project(folder)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A project whose four documents have been ingested; for tests that change nothing."""
    return fill(tmp_path_factory.mktemp("filled"))


@pytest.fixture
def in_filled(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> Filled:
    """The ingested project, shared by tests that change nothing, as the current folder."""
    hide_environment(monkeypatch)
    monkeypatch.chdir(filled.root)
    return filled


@pytest.fixture
def own_copy(filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Filled:
    """An ingested project of the test's own, as the current folder."""
    hide_environment(monkeypatch)
    made = copy(filled, tmp_path)
    monkeypatch.chdir(made.root)
    return made
