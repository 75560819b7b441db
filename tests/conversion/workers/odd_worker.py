"""A worker for tests of the pool: does what it is told, however harmful."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path


def open_worker(options):
    if options.get("fat_mb"):
        Worker.ballast = bytearray(os.urandom(1 << 20)) * options["fat_mb"]
    if options.get("dies"):
        sys.exit("no model here")
    return Worker(options)


class Worker:
    ballast = b""

    def __init__(self, options):
        self.options = options
        self.prepared = 0

    def prepare(self):
        if self.options.get("model_mb"):
            Worker.ballast = bytearray(os.urandom(1 << 20)) * self.options["model_mb"]
        if self.options.get("model_missing"):
            raise FileNotFoundError("no model.onnx here")
        self.prepared += 1

    def prepared_times(self, request, report):
        return {"times": self.prepared, "pid": os.getpid()}

    def handle(self, request, report):
        return getattr(self, request["do"])(request, report)

    def echo(self, request, report):
        return {"said": request.get("say"), "pid": os.getpid()}

    def threads(self, request, report):
        return {"omp": os.environ["OMP_NUM_THREADS"], "offline": os.environ["HF_HUB_OFFLINE"]}

    def hang(self, request, report):
        # PyDLL keeps the interpreter's lock, as native code that loops for ever does.
        ctypes.PyDLL(None).sleep(3600)

    def sleep(self, request, report):
        time.sleep(request["seconds"])
        return {"slept": request["seconds"]}

    def announce_then_sleep(self, request, report):
        for step in request["steps"]:
            report({"pages": request["pages"], "step_pages": step["pages"]})
            time.sleep(step["seconds"])
        return {"steps": len(request["steps"])}

    def hoard(self, request, report):
        hoard = []
        while True:
            hoard.append(bytearray(b"x") * (16 << 20))
            time.sleep(0.005)

    def ask_too_much(self, request, report):
        return {"length": len(bytearray(1 << 40))}

    def segfault(self, request, report):
        ctypes.string_at(0)

    def kill(self, request, report):
        os.kill(os.getpid(), signal.SIGKILL)

    def exit(self, request, report):
        os.write(2, b"the model file is broken\n")
        os._exit(3)

    def chatter(self, request, report):
        os.write(2, b"warning " * 200_000)
        print("to standard output " * 1000)
        return {"pid": os.getpid()}

    def garbage(self, request, report):
        for descriptor in range(3, 4096):  # the channel has the number it had in the parent
            try:
                os.write(descriptor, b"\xff" * 64)
            except OSError:
                continue
        time.sleep(60)

    def fail(self, request, report):
        raise ValueError("this page has no size")

    def once(self, request, report):
        """Die the first time, work the second."""
        flag = Path(request["flag"])
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"pid": os.getpid()}
