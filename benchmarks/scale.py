"""How much the machinery around the stages costs with many small files, against the targets of docs/reliability.md.

    python benchmarks/scale.py --files 10000 [--folder /tmp/scale]
    python benchmarks/scale.py --files 100000 --tick-only

Files are generated; folder, state and Dagster's records lie in a folder of their own, which is deleted at the end.
Every figure is measured in a fresh process. With ``--tick-only`` nothing is ingested: the ledger and the partitions are
filled by library calls, and only the look at the unchanged folder is measured.

Orchestration is wall time minus the time in stage functions: what the main thread of the ingesting process does while
it is neither in a stage function nor waiting for one that works ahead in another thread, per file. On a machine that
has other things to do wall time says little, so the processor time of the same is given, too.
"""

import argparse
import dataclasses
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = "scale"
PER_FOLDER = 500
WORDS = ("heron", "otter", "swift", "river", "lake", "stone", "reed", "moss", "wind", "rain", "fish", "egg", "nest")


@dataclasses.dataclass
class Figure:
    """A figure, what it must not exceed, and the processor time behind it if that says more on a busy machine."""

    name: str
    value: float
    target: float
    unit: str
    processor: float | None = None

    def __str__(self):
        """Return a line of the table."""
        verdict = "ok" if self.value <= self.target else "above"
        used = "" if self.processor is None else f"; processor {self.processor:.2f} {self.unit}"
        return f"{self.name:54} {self.value:8.2f} {self.unit:3} of {self.target:g}: {verdict}{used}"


def generate(folder, files, seed=0):
    """Write small documents, each of its own content."""
    rng = random.Random(seed)
    for number in range(files):
        path = folder / f"{number // PER_FOLDER:03}" / f"note-{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = " ".join(rng.choice(WORDS) for _ in range(20))
        path.write_text(f"# Note {number}\n\nBy Ana Ruiz, 2004\n\n{text.capitalize()}.\n")
        os.utime(path, (time.time() - 3600,) * 2)


def environment(folder):
    """Return the environment of a process that works on the benchmark's project with the product's dagster.yaml."""
    return {
        **os.environ,
        "STACKROOM_CONFIG": str(folder / "stackroom.yaml"),
        "STACKROOM_STATE": str(folder / "state"),
        "DAGSTER_HOME": str(ROOT),
        "PYTHONPATH": str(ROOT),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "ANONYMIZED_TELEMETRY": "False",
    }


def resident():
    """Return the resident memory of this process in MB."""
    import psutil

    return psutil.Process().memory_info().rss / 1e6


def peak():
    """Return the highest resident memory so far in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


class Stopwatch:
    """Seconds the main thread spends in what is not orchestration."""

    def __init__(self):
        self.stages = self.waiting = self.refreshing = 0.0
        self.processor = 0.0

    def timed(self, run, kind):
        """Return a function that also counts its seconds, in the main thread only."""

        def measured(*args, **options):
            if threading.current_thread() is not threading.main_thread():
                return run(*args, **options)
            started, used = time.perf_counter(), time.thread_time()
            try:
                return run(*args, **options)
            finally:
                setattr(self, kind, getattr(self, kind) + time.perf_counter() - started)
                self.processor += time.thread_time() - used

        return measured

    def install(self):
        """Put the stopwatch around stages, the wait for those that work ahead, and what refreshes the corpus."""
        import assets.build
        import assets.indexes
        import assets.per_file

        assets.build.STAGE_ASSETS = tuple(
            dataclasses.replace(
                asset, stage=dataclasses.replace(asset.stage, run=self.timed(asset.stage.run, "stages"))
            )
            for asset in assets.build.STAGE_ASSETS
        )
        prepared = assets.per_file.prepared

        def waited(*args, **options):
            results = prepared(*args, **options)
            advance = self.timed(lambda: next(results, None), "waiting")
            while (item := advance()) is not None:
                yield item

        assets.per_file.prepared = waited
        for name in ("refresh_stores", "lint_whole_corpus", "write_stores_config"):
            setattr(assets.indexes, name, self.timed(getattr(assets.indexes, name), "refreshing"))


def first_ingest(files):
    """Ingest everything as `stackroom ingest` does; return figures."""
    from assets import launch
    from stackroom.config import load_config

    watch, memory, done = Stopwatch(), [], 0
    watch.install()
    started, used = time.perf_counter(), time.thread_time()

    def figures():
        wall, processor = time.perf_counter() - started, time.thread_time() - used
        outside = watch.stages + watch.waiting + watch.refreshing
        return {
            "files": done,
            "seconds": wall,
            "in stages": watch.stages,
            "waiting": watch.waiting,
            "refreshing": watch.refreshing,
            "orchestration": (wall - outside) / max(done, 1) * 1000,
            "orchestration, processor": (processor - watch.processor) / max(done, 1) * 1000,
            "growth": max(memory[1:]) - memory[1] if len(memory) > 1 else 0,
            "resident": memory[-1] if memory else 0,
        }

    def say(event, **values):
        nonlocal done
        if event == "file":
            done += 1
        elif event == "run":
            memory.append(resident())
            print(json.dumps(figures()), file=sys.stderr, flush=True)
        elif event in ("error", "note"):
            print(event, values, file=sys.stderr, flush=True)

    options = launch._parser().parse_args(["ingest", "--corpus", CORPUS])
    code = launch.ingest(load_config(ROOT), options, say)
    assert (code, done) == (0, files), (code, done)
    memory.append(resident())
    return figures()


def fill(files):
    """Write into ledger and partitions that every file has been processed, without processing any."""
    import dagster as dg

    from assets.partitions import add_sources
    from resources.bench import bench_of, default_resources
    from stackroom.config import load_config
    from stackroom.ledger import Verdict
    from stackroom.stages.corpus import build_keyword_index
    from stackroom.stages.verdict import revision, settings_digest

    config = load_config(ROOT)
    with bench_of(config, CORPUS, default_resources(config, CORPUS)) as bench:
        hashes = bench.ledger.observe(CORPUS, bench.scan)
        digest = settings_digest(bench)
        for source, content in hashes.items():
            verdict = Verdict("searchable", revision(bench, source, content, digest), chunks=1)
            bench.ledger.record(CORPUS, source, verdict)
        build_keyword_index(bench)
        bench.ledger.mark_indexed(CORPUS, bench.ledger.version(CORPUS))
    with dg.DagsterInstance.get() as instance:
        add_sources(instance, CORPUS, list(hashes))
    return {"filled": len(hashes) / files}


def ticks(files):
    """Evaluate the sensor three times in one process, as the code server does."""
    import dagster as dg

    from assets.definitions import defs

    repository = defs.get_repository_def()
    sensor = defs.resolve_sensor_def(f"watch_{CORPUS}")
    seconds, processor, before = [], [], resident()
    with dg.DagsterInstance.get() as instance:
        for _ in range(3):
            with dg.build_sensor_context(instance=instance, repository_def=repository) as context:
                started, used = time.perf_counter(), time.thread_time()
                tick = sensor.evaluate_tick(context)
                seconds.append(time.perf_counter() - started)
                processor.append(time.thread_time() - used)
                assert tick.skip_message == f"{files} files unchanged", tick
    return {"seconds": seconds, "processor": processor, "growth": peak() - before, "peak": peak()}


def change(files):
    """Change a file and bring everything into step."""
    path = sorted(Path(os.environ["STACKROOM_CONFIG"]).with_name("docs").rglob("*.md"))[files // 2]
    path.write_text(f"# Changed\n\nThis note is about cormorants at {time.time_ns()}.\n")
    return follow()


def watched(files):
    """Change three files, one after the other, while the daemon runs and the sensor is on."""
    from scale_daemon import watched_changes

    paths = sorted(Path(os.environ["STACKROOM_CONFIG"]).with_name("docs").rglob("*.md"))
    return {"changes": watched_changes(ROOT, CORPUS, [paths[files // part] for part in (4, 3, 2)])}


def deletion(files):
    """Delete a thousand files, or a third, and bring everything into step."""
    gone = sorted(Path(os.environ["STACKROOM_CONFIG"]).with_name("docs").rglob("*.md"))[: min(1000, files // 3)]
    for path in gone:
        path.unlink()
    return {**follow(), "files": len(gone)}


def follow():
    """Do what `stackroom ingest` does."""
    from assets import launch
    from stackroom.config import load_config

    options = launch._parser().parse_args(["ingest", "--corpus", CORPUS])
    code = launch.ingest(load_config(ROOT), options, lambda *_, **__: None)
    assert code == 0, code
    return {}


PHASES = {
    "first": first_ingest,
    "fill": fill,
    "ticks": ticks,
    "change": change,
    "watched": watched,
    "deletion": deletion,
}


def in_fresh_process(name, folder, files):
    """Run a phase in a process of its own; return what it measured, its wall and its processor seconds."""
    command = [sys.executable, __file__, "--phase", name, "--folder", str(folder), "--files", str(files)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment(folder), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout.splitlines()[-1]), "wall": wall, "used": used}


def size(folder):
    """Return the megabytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def look(folder, files):
    """Measure unchanged looks; the first one of a process also loads what later ones find loaded."""
    target = 2.0 if files <= 10_000 else 15.0
    seen = in_fresh_process("ticks", folder, files)
    yield Figure("an unchanged look of the sensor", min(seen["seconds"][1:]), target, "s", min(seen["processor"][1:]))
    yield Figure("the first look of a process", seen["seconds"][0], target, "s", seen["processor"][0])
    yield Figure("growth of the process during three looks", seen["growth"], 200, "MB")


def everything(folder, files):
    """Measure one thing after the other."""
    first = in_fresh_process("first", folder, files)
    name = "orchestration per file of the first ingestion"
    yield Figure(name, first["orchestration"], 150, "ms", first["orchestration, processor"])
    yield Figure("growth of the ingesting process after its first run", first["growth"], 300, "MB")
    yield Figure(
        "Dagster's records", size(folder / "state" / "history") + size(folder / "state" / "schedules"), 500, "MB"
    )
    yield from look(folder, files)
    changed = in_fresh_process("change", folder, files)
    yield Figure("`stackroom ingest` with one changed file", changed["wall"], 10, "s", changed["used"])
    seen = in_fresh_process("watched", folder, files)["changes"]
    yield Figure("a changed file and the daemon, from look to end", sorted(one["seconds"] for one in seen)[1], 5, "s")
    gone = in_fresh_process("deletion", folder, files)
    yield Figure(f"{gone['files']} deleted files", gone["wall"], 60, "s", gone["used"])


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where to work; deleted at the end if it was made here")
    parser.add_argument("--tick-only", action="store_true", help="measure looks only, over a ledger filled by calls")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        print(json.dumps(PHASES[options.phase](options.files)))
        return
    folder = options.folder or Path(tempfile.mkdtemp(prefix="scale-"))
    (folder / "docs").mkdir(parents=True)
    (folder / "state").mkdir()
    (folder / "stackroom.yaml").write_text(f"corpora: {{{CORPUS}: {{folder: {folder}/docs}}}}\n")
    generate(folder / "docs", options.files)
    if options.tick_only:
        in_fresh_process("fill", folder, options.files)
    for figure in (look if options.tick_only else everything)(folder, options.files):
        print(figure, flush=True)
    if not options.folder:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
