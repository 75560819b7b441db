"""Whatever happens to folder, settings and process: after a reconcile the stores are those of a fresh build."""

import os
import shutil
import tempfile
import uuid
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from stackroom.config import EmbedderSettings
from stackroom.embedding.model_folder import find_model
from tests.reliability.histories import Library, assert_same, broken_off, fresh_build, picture, reconcile

SEED = int(os.environ.get("STACKROOM_HISTORIES_SEED", "20261130"))
HISTORIES = int(os.environ.get("STACKROOM_HISTORIES", "60"))
"""Histories per backend in the long test; the number in docs/reliability.md was measured with more."""

NAMES = ("heron.md", "otter.md", "birds/heron.md", "birds/swift.txt", "deep/er/engine.md", "Füße & 100%.md")
LONG = "\n\n".join(
    f"Sentence {number} says that the boiler of engine {number} drives a piston." for number in range(40)
)
CONTENTS = (
    "# Herons\n\nBy Ana Ruiz, 2004\n\nThe grey heron waits in shallow water and spears fish.",
    "# Herons\n\nBy Ana Ruiz, 2004\n\nThe grey heron waits in shallow water and spears frogs.",
    "# Otters\n\nBy Ben Ito, 2019\n\nOtters hunt fish.\n\n## Spraint\n\nA note about otters and what they leave.",
    f"# Steam\n\nBy Cy Moe, 1998\n\n{LONG}",
    "The swift sleeps in flight and lands only to breed.",
    "",
    b"\x00\x01\x02\x03 not a text at all \xff\xfe" * 40,
)

TUNINGS = {
    "chunking": ({}, {"max_tokens": 48}, {"max_tokens": 48, "merge_peers": False}),
    "ocr": ({}, {"mode": "never"}),
    "bm25": (
        {},
        {"k1": 0.9},
        {"heading_weight": 0.0},
        {"language": "none", "b": 0.3},
        {"engine": "rank_bm25"},
    ),
    "include": (["**/*"], ["**/*.md"], ["birds/**", "*.md"]),
    "filter_fields": ([], [{"name": "year", "value_type": "int"}]),
}

name = st.sampled_from(NAMES)
which = st.integers(0, 9)
change = st.one_of(
    st.tuples(st.just("write"), name, st.integers(0, len(CONTENTS) - 1)),
    st.tuples(st.just("write"), name, st.integers(0, len(CONTENTS) - 1)),
    st.tuples(st.just("rename"), which, name),
    st.tuples(st.just("copy"), which, name),
    st.tuples(st.just("delete"), which, st.none()),
    st.tuples(st.just("restore"), which, st.none()),
    st.tuples(st.just("move folder"), st.sampled_from(("birds", "deep")), st.sampled_from(("birds", "deep", "new"))),
    st.tuples(st.just("curate"), name, st.sampled_from(("A person's title", "Another title", None))),
    st.sampled_from(sorted(TUNINGS)).flatmap(
        lambda key: st.tuples(st.just("tune"), st.just(key), st.sampled_from(TUNINGS[key]))
    ),
    st.tuples(st.just("tune"), st.just("vector_store"), st.sampled_from((0, 1))),
    st.tuples(st.just("tune"), st.just("embedder"), st.sampled_from((0, 1))),
)
step = st.tuples(
    st.lists(change, min_size=1, max_size=4),
    st.one_of(st.none(), st.integers(0, 150)),  # moment at which a first attempt is broken off
)
history = st.lists(step, min_size=2, max_size=6)


class Story:
    """A library while a history happens to it."""

    def __init__(self, root: Path, engines, stores, models) -> None:
        self.root, self.engines, self.stores, self.models = root, engines, stores, models
        (root / "now" / "docs").mkdir(parents=True)
        self.library = Library(root / "now", engines[0], stores[0])
        self.curated: dict[str, dict] = {}
        self.deleted: list[tuple[str, bytes]] = []
        for number, first in enumerate(NAMES[:3]):
            self.library.write(first, CONTENTS[number])

    def happen(self, kind: str, what, how) -> None:
        getattr(self, kind.replace(" ", "_"))(what, how)

    def write(self, target: str, content: int) -> None:
        self.library.write(target, CONTENTS[content])

    def rename(self, number: int, target: str) -> None:
        if old := self._pick(number):
            self._place(target)
            (self.library.folder / old).rename(self.library.folder / target)

    def copy(self, number: int, target: str) -> None:
        old = self._pick(number)
        if old and old != target:
            shutil.copy2(self.library.folder / old, self._place(target))

    def delete(self, number: int, _) -> None:
        if old := self._pick(number):
            path = self.library.folder / old
            self.deleted.append((old, path.read_bytes()))
            path.unlink()

    def restore(self, number: int, _) -> None:
        if self.deleted:
            self.library.write(*self.deleted[number % len(self.deleted)])

    def move_folder(self, old: str, new: str) -> None:
        source, target = self.library.folder / old, self.library.folder / new
        if source.is_dir() and not target.exists():
            source.rename(target)

    def curate(self, target: str, title: str | None) -> None:
        self.curated.pop(target, None)
        if title is not None:
            self.curated[target] = {"DEFAULT": {"title": title, "year": 1901}}
        self.library.curate(self.curated)

    def tune(self, key: str, value) -> None:
        if key == "vector_store":
            self.library.store = self.stores[value % len(self.stores)]
        elif key == "embedder":
            self.library.tuning["embedder"] = self.models[value]
        else:
            self.library.tuning[key] = value

    def _pick(self, number: int) -> str | None:
        files = self.library.files()
        return files[number % len(files)] if files else None

    def _place(self, target: str) -> Path:
        path = self.library.folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def live(steps, monkeypatch, engines, stores, models) -> int:
    """Let a history happen and compare with a fresh build after every reconcile; return how many were broken off."""
    broken = 0
    with tempfile.TemporaryDirectory(prefix="stackroom-history-", dir=os.environ.get("STACKROOM_FAST_FOLDER")) as root:
        story = Story(Path(root), engines, stores, models)
        for number, (changes, moment) in enumerate(steps):
            for kind, what, how in changes:
                story.happen(kind, what, how)
            if moment is not None:
                with broken_off(monkeypatch, moment) as interruption:
                    reconcile(story.library)
                broken += interruption.happened
            reconcile(story.library)
            root_of_fresh = Path(root) / f"fresh{number}"
            root_of_fresh.mkdir()
            fresh = fresh_build(story.library, root_of_fresh, engines[1], f"sqlite:{root_of_fresh}/fresh.db")
            assert_same(picture(story.library), picture(fresh))
            assert reconcile(story.library).empty
    return broken


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> tuple[dict, dict]:
    """Two embedding models: the bundled one, and the same weights under another name, a model of its own."""
    bundled = find_model(EmbedderSettings()).path
    other = tmp_path_factory.mktemp("models") / "other-model"
    other.symlink_to(bundled)
    return {"kind": "bundled"}, {"kind": "sentence_transformers", "model": str(other)}


COMMON = {
    "deadline": None,
    "database": None,
    "print_blob": True,
    "suppress_health_check": list(HealthCheck),
    # Reducing a failure to its smallest form takes minutes; ask for it when there is one.
    "phases": (Phase.generate, Phase.shrink) if os.environ.get("STACKROOM_HISTORIES_SHRINK") else (Phase.generate,),
}


def test_after_any_history_sqlite_store_and_keyword_index_are_those_of_a_fresh_build(monkeypatch, engines, models):
    @seed(SEED)
    @settings(max_examples=3, **COMMON)
    @given(history)
    def run(steps):
        live(steps, monkeypatch, engines, ("sqlite:{root}/a.db", "sqlite:{root}/b.db"), models)

    run()


def new_database(address: str) -> str:
    """Return the store URI of an empty database on a server."""
    import psycopg

    name = f"history_{uuid.uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"pgvector:{address.replace('/postgres?', f'/{name}?')}"


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("backend", ["sqlite", "chroma", "pgvector"])
def test_after_hundreds_of_histories_the_stores_are_those_of_a_fresh_build(
    backend, request, monkeypatch, engines, models, capsys
):
    told = {"histories": 0, "reconciles": 0, "broken off": 0}

    def stores() -> tuple[str, ...]:
        if backend == "pgvector":
            return tuple(new_database(request.getfixturevalue("postgres_address")) for _ in range(2))
        return (f"{backend}:{{root}}/a.db", f"{backend}:{{root}}/b.db")

    @seed(SEED)
    @settings(max_examples=HISTORIES, **COMMON)
    @given(history)
    def run(steps):
        told["broken off"] += live(steps, monkeypatch, engines, stores(), models)
        told["histories"] += 1
        told["reconciles"] += len(steps)

    run()
    with capsys.disabled():
        print(f"\n{backend}, seed {SEED}: {told}")
