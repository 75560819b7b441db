"""Rows deleted, added or altered behind our back are found, named and mended from the artefacts."""

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.doctor import examine, repair
from stackroom.identity import chunk_id


def kinds(problems):
    return {(problem.check, problem.kind, problem.source_id) for problem in problems}


def test_what_was_changed_behind_our_back_is_found_and_mended(project):
    for name in ("a", "b", "c"):
        project.write(f"{name}.md", f"# {name}\n\nThe {name} note speaks of herons, otters and swallows.")
    project.ingest()
    with project.bench() as bench:
        assert examine(bench) == []
        rows = {row.source_id: row for row in bench.store.scan()}

        # One row deleted, one altered, one added to a known source, one of a source that does not exist.
        bench.store.delete_source("a.md")
        altered = StoredRow(rows["b.md"].chunk_id, "b.md", "tampered", rows["b.md"].metadata, rows["b.md"].vector)
        extra = StoredRow(chunk_id("notes", "c.md", 99), "c.md", "extra", {}, np.ones_like(rows["c.md"].vector))
        foreign = StoredRow(chunk_id("notes", "x.md", 0), "x.md", "foreign", {}, np.ones_like(rows["c.md"].vector))
        bench.store.upsert([altered, extra, foreign])
        bench.artefacts.path("bm25_corpus", "a.md", "pkl").write_bytes(b"damaged")

        problems = examine(bench)
        assert kinds(problems) == {
            ("rows", "missing", "a.md"),
            ("rows", "altered", "b.md"),
            ("rows", "extra", "c.md"),
            ("rows", "foreign", "x.md"),
            ("tokens", "unreadable", "a.md"),
        }
        assert repair(bench, problems) == []
        assert examine(bench) == []
        assert {row.source_id: row.text for row in bench.store.scan()} == {
            source: row.text for source, row in rows.items()
        }


def test_a_store_that_was_deleted_is_filled_again_without_embedding_anything(project):
    project.write("a.md", "# A\n\nThe note speaks of herons.")
    project.ingest()
    with project.bench() as bench:
        bench.store.drop()
    with project.bench() as bench:
        problems = examine(bench)
        assert ("rows", "missing", "a.md") in kinds(problems)
        assert repair(bench, problems) == []
        assert bench.store.count() == 1
        assert "embed_counted" not in vars(bench.embedder)
    with project.bench() as bench:
        assert examine(bench) == []
