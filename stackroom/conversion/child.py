"""Entry point of a worker process: ``python -m stackroom.conversion.child FD``.

Reads requests from its socket, hands them to the module it was told, writes answers. It knows nothing of documents:
that is the module's business (``worker.py``). It ends when its parent does.
"""

import ctypes
import importlib
import os
import queue
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, Protocol

from stackroom.conversion.channel import Decoder, Message, encode, receive

ADDRESS_SLACK_MB = 2048
"""How far private memory may exceed the resident limit before the kernel refuses more: thread stacks and reserved but
untouched memory count here. The limit proper is kept by the parent; this one stops a single giant allocation."""

_PR_SET_PDEATHSIG = 1

Report = Callable[[Message], None]
"""Tells the parent how far the work is; ``pages`` (of the file) and ``step_pages`` (next) extend the deadline."""


class Worker(Protocol):
    """What the module's ``open_worker(options)`` returns."""

    def prepare(self) -> None:
        """Load what only some requests need; called before the first of them. What it raises ends the process."""
        ...

    def handle(self, request: Message, report: Report) -> Message:
        """Do what is asked and return the answer, JSON-serialisable."""
        ...


def main(descriptor: int) -> None:
    """Serve requests from the socket with this file descriptor until the parent closes it."""
    connection = socket.socket(fileno=descriptor)
    inbox: queue.Queue[Message] = queue.Queue()
    threading.Thread(target=_read, args=(connection, inbox), daemon=True).start()
    start = inbox.get()
    _end_with_parent(start["parent"])
    _limit_memory(start["memory_mb"])

    def send(message: Message) -> None:
        connection.sendall(encode(message))

    worker: Worker = importlib.import_module(start["module"]).open_worker(start["options"])
    send({"kind": "ready"})
    while True:
        message = inbox.get()
        if message["kind"] == "prepare":
            worker.prepare()
            send({"kind": "ready"})
            continue
        request = message["request"]
        send(_answer(worker, request, lambda progress: send({"kind": "progress", **progress})))


def _answer(worker: Worker, request: Message, report: Report) -> Message:
    """Return the worker's answer; whatever it raises becomes one, so that nothing ends the process unsaid."""
    try:
        return {"kind": "answer", "answer": worker.handle(request, report)}
    except MemoryError:
        return {"kind": "out_of_memory", "traceback": traceback.format_exc(limit=-8)}
    except Exception as error:  # noqa: BLE001 - the one place in a worker where everything must be caught
        text = "".join(traceback.format_exception(error)[-12:])
        return {"kind": "error", "type": type(error).__name__, "message": str(error)[:2000], "traceback": text[-6000:]}


def _read(connection: socket.socket, inbox: "queue.Queue[Message]") -> None:
    """Pass messages on; end the process, busy or not, when the parent has closed its side or died."""
    decoder = Decoder()
    while (messages := receive(connection, decoder)) is not None:
        for message in messages:
            inbox.put(message)
    os._exit(0)


def _end_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, even in the middle of native code (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(0)


def _limit_memory(memory_mb: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = (memory_mb + ADDRESS_SLACK_MB) * 1_000_000
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def plain(value: Any) -> Any:
    """Return ``value`` with what JSON lacks made plain: tuples and sets as lists, paths and enumerations as text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)


if __name__ == "__main__":
    main(int(sys.argv[1]))
