"""One loaded model for all embedding tests (loading torch takes seconds), and a scripted embedding service."""

import json
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stackroom.config import EmbedderSettings
from stackroom.embedding import open_embedder


@pytest.fixture(scope="session")
def bundled():
    embedder = open_embedder(EmbedderSettings())
    embedder.embed([f"text {number}" for number in range(30)])  # more than are embedded without torch
    yield embedder
    embedder.close()


@dataclass
class Answer:
    """What the service does with one request; the defaults answer it well."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    order: list[int] | None = None
    body: object = None
    cut_after: int | None = None
    drip_seconds: float = 0.0
    reset: bool = False


class Service:
    """A real HTTP server on loopback that answers `/v1/embeddings` by a script, then well."""

    def __init__(self):
        self.script: list[Answer] = []
        self.requests: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.arrivals: list[float] = []
        self.dimension = 2
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                service.arrivals.append(time.monotonic())
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append({"path": self.path, **request})
                service.headers.append(dict(self.headers))
                service.answer(self, request, service.script.pop(0) if service.script else Answer())

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    @property
    def inputs(self):
        return [request["input"] for request in self.requests]

    def vector(self, text):
        """The vector of a text: position of its first letter in the alphabet, then ones."""
        return [float(ord(text[0]) - ord("a")), *[1.0] * (self.dimension - 1)]

    def answer(self, handler, request, answer):
        texts = request["input"]
        if answer.reset:
            # Linger 0 makes the kernel send RST instead of an orderly end.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.close_connection = True
            handler.connection.close()
            return
        order = list(range(len(texts))) if answer.order is None else answer.order
        data = [{"object": "embedding", "index": i, "embedding": self.vector(texts[i])} for i in order]
        usage = {"prompt_tokens": 5 * len(texts), "total_tokens": 5 * len(texts)}
        body = {"data": data, "usage": usage} if answer.body is None else answer.body
        if answer.status != 200 and answer.body is None:
            body = {"error": {"message": f"scripted {answer.status}"}}
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(payload)))
        handler.end_headers()
        if answer.cut_after is not None:
            payload = payload[: answer.cut_after]
            handler.close_connection = True
        try:
            if answer.drip_seconds:
                for start in range(0, len(payload), 8):
                    handler.wfile.write(payload[start : start + 8])
                    handler.wfile.flush()
                    time.sleep(answer.drip_seconds)
            else:
                handler.wfile.write(payload)
        except OSError:  # the client has given up, as it should
            handler.close_connection = True

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service():
    service = Service()
    yield service
    service.close()
