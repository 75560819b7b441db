"""Whatever is done to the stores behind our back is named, and mended without converting or embedding anything."""

import json
import pickle
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.doctor import examine, repair
from stackroom.identity import chunk_id
from stackroom.stores.base import open_store
from stackroom.stores.bm25.versions import current_version
from tests.reliability.histories import CORPUS, Engines, Library, Picture, assert_same, picture, reconcile

BACKENDS = [
    "sqlite",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("memory", "chroma", "qdrant", "pgvector")),
]
NAMES = ("deleted", "text", "metadata", "vector", "extra", "whole")
LONG = "\n\n".join(f"Sentence {number} of a note about otters, steam and herons." for number in range(40))


@pytest.fixture
def library(tmp_path, engines) -> Library:
    """Six documents in a SQLite store."""
    return filled(Library(tmp_path, engines[0], "sqlite:{root}/a.db"))


def filled(library: Library) -> Library:
    for name in NAMES:
        library.write(f"{name}.md", f"# {name}\n\nBy Ana Ruiz, 2004\n\nThe {name} note.\n\n{LONG}")
    reconcile(library)
    return library


def mended(library: Library, expected: Picture, engines: Engines) -> list[tuple[str, str, str | None]]:
    """Have the doctor examine and repair; return what it found, after the stores were seen to be as expected."""
    before = len(engines.converted), engines.embedded
    with library.bench() as bench:
        problems = examine(bench)
        assert repair(bench, problems) == []
    assert_same(picture(library), expected)
    assert (len(engines.converted), engines.embedded) == before
    return sorted((problem.check, problem.kind, problem.source_id) for problem in problems)


def drift(library: Library) -> None:
    """Write into the vector store as a program would that knows nothing of the manifest."""
    with library.bench() as bench:
        uri, spec = bench.settings.store_uri, bench.collection
    with open_store(uri, spec) as store:
        rows: dict[str, list[StoredRow]] = {}
        for row in sorted(store.scan(), key=lambda row: row.metadata["chunk_index"]):
            rows.setdefault(row.source_id.removesuffix(".md"), []).append(row)
        other = np.roll(np.asarray(rows["vector"][0].vector), 1)
        store.delete_rows("deleted.md", [rows["deleted"][0].chunk_id])
        store.delete_source("whole.md")
        store.upsert(
            [
                replace(rows["text"][0], text="tampered"),
                replace(rows["metadata"][0], metadata={**rows["metadata"][0].metadata, "year": 1066}),
                replace(rows["vector"][0], vector=other),
                StoredRow(chunk_id(CORPUS, "extra.md", 99), "extra.md", "one too many", {}, other),
                StoredRow(chunk_id(CORPUS, "nobody.md", 0), "nobody.md", "of no source", {}, other),
            ]
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_deleted_added_and_altered_in_a_store_are_named_and_mended(backend, request, tmp_path, engines):
    uri = {"memory": f"memory:{tmp_path}", "sqlite": f"sqlite:{tmp_path}/a.db"}.get(backend)
    if backend == "pgvector":
        uri = f"pgvector:{request.getfixturevalue('postgres_address')}"
    library = filled(Library(tmp_path, engines[0], uri or f"{backend}:{tmp_path}/store"))
    expected = picture(library)
    assert len(expected.rows) > 2 * len(NAMES)
    drift(library)
    assert mended(library, expected, engines[0]) == [
        ("rows", "altered", "metadata.md"),
        ("rows", "altered", "text.md"),
        ("rows", "altered", "vector.md"),
        ("rows", "extra", "extra.md"),
        ("rows", "foreign", "nobody.md"),
        ("rows", "missing", "deleted.md"),
        ("rows", "missing", "whole.md"),
    ]
    if backend == "pgvector":
        with library.bench() as bench:
            bench.store.drop()


def test_a_store_file_that_was_deleted_is_written_again(library, engines, tmp_path):
    expected = picture(library)
    for path in tmp_path.glob("a.db*"):
        path.unlink()
    found = mended(library, expected, engines[0])
    assert found == [("rows", "missing", f"{name}.md") for name in sorted(NAMES)]


def test_notes_of_what_is_stored_that_were_lost_or_invented_are_mended(library, engines, tmp_path):
    expected = picture(library)
    with sqlite3.connect(tmp_path / ".stackroom" / "manifest.sqlite") as manifest:
        manifest.execute("UPDATE manifest SET source_id = 'nobody.md' WHERE source_id = 'text.md'")
    assert mended(library, expected, engines[0]) == [
        ("manifest", "foreign", "nobody.md"),
        ("manifest", "missing", "text.md"),
    ]


def tokens(library: Library, name: str):
    with library.bench() as bench:
        return bench.artefacts.path("bm25_corpus", f"{name}.md", "pkl")


def test_tokens_deleted_damaged_and_altered_are_made_again(library, engines):
    expected = picture(library)
    tokens(library, "deleted").unlink()
    tokens(library, "whole").write_bytes(b"damaged")
    with tokens(library, "text").open("rb") as file:
        header, body = pickle.load(file), pickle.load(file)
    body["vocabulary"] = [f"x{term}" for term in body["vocabulary"]]
    tokens(library, "text").write_bytes(pickle.dumps(header, 4) + pickle.dumps(body, 4))
    assert mended(library, expected, engines[0])[-3:] == [
        ("tokens", "altered", "text.md"),
        ("tokens", "unreadable", "deleted.md"),
        ("tokens", "unreadable", "whole.md"),
    ]


def index_files(library: Library):
    with library.bench() as bench:
        return current_version(bench.settings.state.bm25_index(CORPUS))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_an_index_with_any_damaged_file_is_built_again(library, engines, part):
    """Every third file of the index has a bit flipped in its middle, one after the other."""
    expected = picture(library)
    files = sorted(path for path in index_files(library).iterdir() if path.stat().st_size and path.name != "index.json")
    assert len(files) >= 6
    for path in files[part::3]:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x10
        path.write_bytes(bytes(data))
        found = mended(library, expected, engines[0])
        assert [(check, source) for check, _, source in found] == [("index", None)], path.name


def test_an_index_that_is_gone_foreign_or_of_other_settings_is_built_again(library, engines):
    expected = picture(library)
    version = index_files(library)
    (version.parent / "CURRENT").unlink()
    assert mended(library, expected, engines[0]) == [("index", "unreadable", None)]
    meta = version / "index.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "fingerprint": "0" * 64}))
    assert mended(library, expected, engines[0]) == [("index", "stale", None)]
    meta.unlink()
    assert mended(library, expected, engines[0]) == [("index", "unreadable", None)]


@pytest.mark.slow
def test_a_vector_index_that_lost_its_files_is_made_anew(tmp_path, engines):
    library = Library(tmp_path, engines[0], f"chroma:{tmp_path}/store")
    sections = (f"## Section {number}\n\nThe otter numbered {number} swims." for number in range(1200))
    library.write("long.md", "\n\n".join(("# Otters", *sections)))
    library.write("short.md", "# Herons\n\nThe heron stands.")
    reconcile(library)
    expected = picture(library)
    assert len(expected.rows) > 1200
    for path in (tmp_path / "store").glob("*/*.bin"):
        path.write_bytes(b"")
    assert ("query", "unsearchable", None) in mended(library, expected, engines[0])
    with library.bench() as bench:
        assert examine(bench) == []
