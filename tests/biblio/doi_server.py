"""A DOI service on the loopback interface, which answers as it is told."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


class Reply:
    """What the server sends for one request."""

    def __init__(self, status=200, body=None, headers=None, delay=0.0, drip=0.0):
        self.status, self.body, self.headers = status, body, headers or {}
        self.delay, self.drip = delay, drip


class Server:
    """A server on which each service has its own path.

    ``replies`` holds per service replies that are taken in order, the last one for ever, or a function from the path
    that was asked for to a reply.
    """

    def __init__(self):
        self.replies, self.requests, self.lock = {}, [], threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.handle(self)

            def log_message(self, *arguments):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.base = f"http://127.0.0.1:{self.http.server_address[1]}"

    def handle(self, request):
        parts = urlsplit(request.path)
        name = parts.path.split("/")[1]
        with self.lock:
            self.requests.append((name, unquote(parts.path), parse_qs(parts.query), dict(request.headers)))
            queue = self.replies.get(name, [Reply(404)])
            if callable(queue):
                queue = [queue(unquote(parts.path))]
            reply = queue.pop(0) if len(queue) > 1 else queue[0]
        time.sleep(reply.delay)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        try:
            request.send_response(reply.status)
            for key, value in reply.headers.items():
                request.send_header(key, value)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            for start in range(0, len(body), 1 if reply.drip else max(len(body), 1)):
                request.wfile.write(body[start : start + 1] if reply.drip else body)
                time.sleep(reply.drip)
        except OSError:  # the client has had enough
            return

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def asked(self):
        return [name for name, *_ in self.requests]
