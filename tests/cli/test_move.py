"""`stackroom move`: another backend with nothing embedded; verified, switched, the old one kept until it is dropped."""

import json

import numpy as np
import pytest

from stackroom.artefacts import StoredRow
from stackroom.cli import main
from stackroom.cli.output import shown_uri
from stackroom.errors import StoreNotFoundError
from stackroom.identity import chunk_id
from stackroom.outcome import Produced
from stackroom.remembered import read_moved_stores
from stackroom.stages import vector_collection
from stackroom.stages.bench import Bench, BenchSettings, FileWork
from stackroom.stages.exact_search import compare_with_exact
from stackroom.stores.base import open_store


def run(capsys, *arguments: str) -> tuple[int, dict | None, str]:
    """Return exit code, JSON and messages of a command."""
    capsys.readouterr()
    code = main([*arguments, "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else None, printed.err


def rows(bench) -> dict[str, str]:
    """Return the text of every row of a store by its readable id."""
    return {str(row.metadata["readable_id"]): row.text for row in bench.store.scan()}


def test_a_moved_corpus_is_searched_and_ingested_in_its_new_store(own_copy, capsys):
    with own_copy.bench() as bench:
        before = rows(bench)
    new = f"chroma:{own_copy.root}/chroma"
    code, answer, _ = run(capsys, "move", "notes", "--to", "chroma:chroma")
    assert code == 0
    assert answer == {
        "corpus": "notes",
        "from": own_copy.store,
        "to": new,
        "collection": answer["collection"],
        "sources": 4,
        "rows": 4,
        "sampled_queries": 4,
        "recall": 1.0,
        "waiting": 0,
    }
    assert own_copy.config.vector_store_uri("notes") == new
    with own_copy.bench() as bench:
        assert rows(bench) == before
    assert (
        json.loads((own_copy.root / ".stackroom" / "stores.json").read_text())["domains"]["notes"]["vector_stores"][0][
            "path"
        ]
        == new
    )
    assert own_copy.ingest() == ()  # every file is still up to date
    _, found, _ = run(capsys, "search", "bird that spears fish", "--k", "1")
    assert (found["hits"][0]["source_id"], found["warnings"]) == ("birds/heron.md", [])

    stores = run(capsys, "status")[1]["stores"]
    here = {"corpus": "notes", "vector_store": new, "moved_from": own_copy.store, "kept": [own_copy.store]}
    assert stores == [{**here, "building": None}]
    main(["status"])
    assert "move notes --drop-old` deletes them" in capsys.readouterr().out

    code, answer, _ = run(capsys, "move", "notes", "--drop-old")
    assert (code, [one["vector_store"] for one in answer["dropped"]]) == (0, [own_copy.store])
    assert run(capsys, "status")[1]["stores"][0]["kept"] == []
    with own_copy.bench() as bench, pytest.raises(StoreNotFoundError):
        open_store(own_copy.store, bench.collection, create=False)
    assert run(capsys, "move", "notes", "--drop-old")[1]["dropped"] == []
    assert main(["doctor"]) == 0


def test_a_corpus_that_is_moved_back_holds_what_changed_meanwhile(own_copy, capsys):
    assert main(["move", "notes", "--to", "sqlite:second.db"]) == 0
    (own_copy.folder / "engine.md").unlink()
    own_copy.ingest()
    assert main(["move", "notes", "--to", own_copy.store]) == 0
    moved = read_moved_stores(own_copy.root / ".stackroom")["notes"]
    assert (moved.configured, moved.uri) == (own_copy.store, None)
    assert [kept.uri for kept in moved.kept] == [f"sqlite:{own_copy.root}/second.db"]
    with own_copy.bench() as bench:
        assert set(rows(bench)) == {"birds/heron.md#0", "birds/swift.md#0", "otter.md#0"}
    assert main(["move", "notes", "--drop-old"]) == 0
    assert read_moved_stores(own_copy.root / ".stackroom") == {}
    assert own_copy.ingest() == ()


def test_a_change_of_the_settings_overrides_a_move(own_copy):
    assert main(["move", "notes", "--to", "sqlite:second.db"]) == 0
    text = (own_copy.root / "stackroom.yaml").read_text()
    (own_copy.root / "stackroom.yaml").write_text(text.replace("vectors.db", "third.db"))
    assert own_copy.config.vector_store_uri("notes") == f"sqlite:{own_copy.root}/third.db"


def test_an_interrupted_move_goes_on_where_it_stopped(own_copy, capsys):
    settings = BenchSettings.of(own_copy.config, "notes")
    uri = f"sqlite:{own_copy.root}/second.db"
    with Bench(BenchSettings(**{**vars(settings), "store_uri": uri})) as bench:
        assert isinstance(vector_collection.run(FileWork(bench, "otter.md")), Produced)
    assert run(capsys, "move", "notes", "--to", uri)[1]["rows"] == 4


def test_rows_of_something_else_are_not_written_over(own_copy, capsys):
    uri = f"sqlite:{own_copy.root}/second.db"
    with own_copy.bench() as bench, open_store(uri, bench.collection) as store:
        row = StoredRow(chunk_id("x", "their.pdf", 0), "their.pdf", "theirs", {}, np.ones(bench.collection.dimension))
        store.upsert([row])
        code, _, message = run(capsys, "move", "notes", "--to", uri)
        assert (code, "holds 1 file that is not of notes (for example their.pdf)" in message) == (1, True)
        assert store.source_ids() == {"their.pdf"}
    assert own_copy.config.vector_store_uri("notes") == own_copy.store


def test_nothing_is_switched_when_a_file_cannot_be_copied(own_copy, capsys):
    with own_copy.bench() as bench:
        bench.artefacts.path("embeddings", "otter.md", "parquet").unlink()
    code, _, message = run(capsys, "move", "notes", "--to", "sqlite:second.db")
    assert (code, "1 of 4 files of notes cannot be copied (otter.md:" in message) == (1, True)
    assert own_copy.config.vector_store_uri("notes") == own_copy.store


def test_the_old_store_is_not_dropped_while_the_new_one_lacks_rows(own_copy, capsys):
    assert main(["move", "notes", "--to", "sqlite:second.db"]) == 0
    with own_copy.bench() as bench:
        bench.store.delete_source("otter.md")
    code, _, message = run(capsys, "move", "notes", "--drop-old")
    assert (code, "holds 3 rows of notes instead of 4" in message) == (1, True)
    with own_copy.bench() as bench:
        assert open_store(own_copy.store, bench.collection, create=False).count() == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--to URI or --drop-old"),
        (["--to", "sqlite:x.db", "--drop-old"], "--to URI or --drop-old"),
        (["--to", "memory:"], "would be lost"),
        (["--to", "mongodb:x"], "not a store URI"),
        (["--to", "sqlite:vectors.db"], "already"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_copied(in_filled, capsys, arguments, words):
    code, _, message = run(capsys, "move", "notes", *arguments)
    assert (code, words in message) == (1, True), message


def test_a_store_that_the_environment_names_cannot_be_moved(own_copy, capsys, monkeypatch):
    monkeypatch.setenv("STACKROOM_STORE_NOTES", own_copy.store)
    code, _, message = run(capsys, "move", "notes", "--to", "sqlite:second.db")
    assert (code, "STACKROOM_STORE_NOTES names the store" in message) == (1, True)


def test_a_store_that_lost_rows_disagrees_with_the_exact_answer(own_copy):
    sources = ["birds/heron.md", "birds/swift.md", "engine.md", "otter.md"]
    with own_copy.bench() as bench:
        assert compare_with_exact(bench, sources, depth=2).recall == 1.0
        assert compare_with_exact(bench, []).queries == 0
        bench.store.delete_source("otter.md")
        assert compare_with_exact(bench, sources, depth=2).recall < 0.9


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("pgvector:postgresql://me:s3cret@host:5432/db", "pgvector:postgresql://me:***@host:5432/db"),
        ("pgvector:postgresql://host/db?user=me&password=s3cret&x=1", "pgvector:postgresql://host/db?user=me&password=***&x=1"),
        ("pgvector:postgresql://me@host/db", "pgvector:postgresql://me@host/db"),
        ("qdrant:http://host:6333", "qdrant:http://host:6333"),
        ("sqlite:/a@b:c/d.db", "sqlite:/a@b:c/d.db"),
    ],
)  # fmt: skip
def test_passwords_are_not_shown(uri, shown):
    assert shown_uri(uri) == shown
