"""A project that is ingested by the real processes: what a person's ``stackroom ingest`` starts, and what kills it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from stackroom.config import load_config
from stackroom.stages.bench import Bench, BenchSettings
from tests.reliability.histories import CORPUS, Library, Picture, picture

ROOT = Path(__file__).resolve().parents[2]
CODE = ("assets", "resources", "sensors", "stackroom_history")
STACKROOM = [sys.executable, "-m", "stackroom"]
LAUNCH = [sys.executable, "-m", "assets.launch", "ingest", "--corpus", CORPUS]


class _OwnEngines:
    """Benches as the product opens them, in a library that was filled by processes."""

    def bench(self, config):
        """Return a bench of the corpus."""
        return Bench(BenchSettings.of(config, CORPUS))


class _Read(Library):
    """A library that is only looked at: its settings stay as they are."""

    @property
    def config(self):
        """The settings as they are now."""
        return load_config(self.root, {"STACKROOM_STATE": str(self.root / "state")})


@dataclass(frozen=True)
class Checkout:
    """A folder with the code location and a corpus, as a person has it after cloning."""

    root: Path

    @classmethod
    def make(cls, root: Path, store: str = "", more: str = "") -> "Checkout":
        """Copy the code into ``root``; ``store`` is the vector store's URI, ``more`` further lines of the corpus."""
        root.mkdir(parents=True, exist_ok=True)
        for name in CODE:
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "dagster.yaml", root / "dagster.yaml")
        (root / "docs").mkdir(exist_ok=True)
        lines = ["limits: {workers: 1}", "corpora:", f"  {CORPUS}:", "    folder: docs"]
        lines += [f"    vector_store: {store!r}"] if store else []
        (root / "stackroom.yaml").write_text("\n".join(lines) + f"\n{more}")
        return cls(root)

    @property
    def folder(self) -> Path:
        """Folder of documents."""
        return self.root / "docs"

    @property
    def state(self) -> Path:
        """State folder."""
        return self.root / "state"

    @property
    def environment(self) -> dict[str, str]:
        """Environment of every process of this project; it also names them, see :meth:`processes`."""
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DAGSTER_HOME": str(self.root),
            "STACKROOM_STATE": str(self.state),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "HF_HUB_OFFLINE": "1",
        }

    def start(self, command: list[str]) -> subprocess.Popen:
        """Start a process in a session of its own."""
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def run(self, *arguments: str, timeout: float = 600) -> subprocess.CompletedProcess:
        """Run a ``stackroom`` command to its end; its output is text."""
        return subprocess.run(
            [*STACKROOM, *arguments],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def ingest(self, timeout: float = 900) -> list[dict[str, Any]]:
        """Ingest in the process that ``stackroom ingest`` starts; return its events."""
        process = self.start(LAUNCH)
        output, _ = process.communicate(timeout=timeout)
        return [json.loads(line) for line in output.decode().splitlines()]

    def processes(self) -> list[psutil.Process]:
        """Return living processes that were started for this project, workers included."""
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get("DAGSTER_HOME") == str(self.root)
                if mine and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def library(self) -> Library:
        """Return the library to look at."""
        return _Read(self.root, _OwnEngines(), "")

    def picture(self) -> Picture:
        """Return everything a search depends on."""
        return picture(self.library())

    def temporary(self) -> list[str]:
        """Return names of temporary files and folders in the state folder."""
        return sorted(
            path.relative_to(self.state).as_posix()
            for path in self.state.rglob("*")
            if path.name.endswith(".tmp") or path.name.startswith((".making", "tmp"))
        )


def kill(process: subprocess.Popen) -> None:
    """Kill a process and everything of its group, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def wait_until(true, seconds: float = 60.0, what: str = "it") -> None:
    """Wait until ``true()``.

    Raises:
        AssertionError: it did not become true in time.
    """
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what} did not happen within {seconds:.0f} seconds"
        time.sleep(0.05)
