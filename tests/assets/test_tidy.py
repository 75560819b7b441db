"""Deleting old runs, artefacts and cached things: never what the pages of an asset or a file of today need."""

import datetime as dt
import os

import dagster as dg
import pytest

from assets.build import build_defs
from assets.tidy import superseded_runs, tidy_everything
from stackroom.embedding import open_embedder
from stackroom.housekeeping import tidy, tidy_vectors
from stackroom.ledger import Ledger
from stackroom.settings import EmbedderSettings
from tests.project import CORPUS

NEXT_YEAR = dt.datetime.now(dt.UTC) + dt.timedelta(days=400)


def counts(done) -> dict[str, int]:
    """Return how many of each kind."""
    return {one.kind: one.count for one in done}


def test_the_newest_run_of_every_file_stays_and_superseded_ones_go(project):
    project.write("a.md", "# A\n\nThe note speaks of herons.")
    project.write("b.md", "# B\n\nThe note speaks of otters.")
    (project.folder / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    (first,) = project.ingest()
    project.write("a.md", "# A\n\nThe note speaks of swifts.")
    (second,) = project.ingest()
    project.write("a.md", "# A\n\nThe note speaks of rivers.")
    (third,) = project.ingest()
    before = project.partitions("chunks")
    runs = {run.run_id for run in project.instance.get_runs()}
    old = {run.run_id for run in superseded_runs(project.instance, NEXT_YEAR)}
    # The first run is the last that took b.md through, and says why bad.pdf failed.
    assert second.run_id in old
    assert not old & {first.run_id, third.run_id}
    assert list(superseded_runs(project.instance, dt.datetime.now(dt.UTC) - dt.timedelta(days=1))) == []

    listed = tidy_everything(project.config, project.instance, dry_run=True, now=NEXT_YEAR)
    assert (listed[0].count, counts(listed)["artefacts"]) == (len(old), 0)
    assert {run.run_id for run in project.instance.get_runs()} == runs
    tidy_everything(project.config, project.instance, now=NEXT_YEAR)
    assert {run.run_id for run in project.instance.get_runs()} == runs - old
    assert project.partitions("chunks") == before
    noted = dg.AssetRecordsFilter(dg.AssetKey([CORPUS, "chunks"]), asset_partitions=["bad.pdf"])
    assert project.instance.fetch_observations(noted, limit=1).records[0].run_id == first.run_id
    assert counts(tidy_everything(project.config, project.instance, now=NEXT_YEAR))["runs"] == 0


def test_the_job_deletes_nothing_in_a_dry_run_and_says_what_it_would(project):
    log = project.state.root / "logs" / "ingest-corpus-notes-20200101-000000.log"
    project.state.ledger.parent.mkdir(exist_ok=True)
    Ledger(project.state.ledger).close()
    log.parent.mkdir()
    log.write_text("x")
    os.utime(log, (1e9, 1e9))
    job = build_defs(project.config).resolve_job_def("tidy")
    for dry_run, left in ((True, True), (False, False)):
        ops = {"ops": {"delete_what_is_too_old": {"config": {"dry_run": dry_run}}}}
        result = job.execute_in_process(instance=project.instance, run_config=ops)
        (output,) = (event for event in result.all_events if event.is_successful_output)
        assert output.event_specific_data.metadata["logs"].value == 1
        assert log.exists() is left


def test_a_run_in_flight_is_never_deleted(project):
    project.instance.create_run_for_job(dg.JobDefinition(name="j", graph_def=dg.GraphDefinition(name="g")))
    assert list(superseded_runs(project.instance, NEXT_YEAR)) == []


def test_orphans_of_all_kinds_are_deleted_and_what_is_used_stays(project):
    project.write("a.md", "# A\n\nThe note speaks of herons.")
    project.ingest()
    chunks = project.state.artefacts(CORPUS).root / "chunks"
    stranger, leftover = chunks / "gone.md~0123456789abcdef.parquet", chunks / ".x.parquet.abc.tmp"
    converted = project.state.conversion_cache / "ff" / ("f" * 64) / "k.document.json.gz"
    log = project.state.root / "logs" / "ingest-corpus-notes-20200101-000000.log"
    for path in (stranger, leftover, converted, log):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        os.utime(path, (1e9, 1e9))
    kept = {path for path in project.state.root.rglob("*") if path.is_file()} - {stranger, leftover, converted, log}
    wanted = {"artefacts": 2, "conversions": 1, "logs": 1, "vectors": 0}
    assert counts(tidy(project.config, dry_run=True)) == wanted
    assert stranger.exists()
    assert counts(tidy(project.config)) == wanted
    assert not any(path.exists() for path in (stranger, leftover, converted, log))
    assert all(path.exists() for path in kept)
    assert set(counts(tidy(project.config)).values()) == {0}


@pytest.mark.slow
def test_the_embedding_cache_loses_only_texts_that_no_chunk_has(project):
    project.write("a.md", "# A\n\nThe note speaks of herons.")
    project.ingest()
    embedder = open_embedder(EmbedderSettings(), cache=project.state.embedding_cache)
    embedder.embed([f"a text of nobody, number {number}" for number in range(20)])
    for number in range(300):  # another megabyte
        embedder._cache.put("a model that is gone", {f"{number:064x}": [0.0] * 1000})
    embedder.close()
    assert tidy_vectors(project.config).count == 0
    text = (project.root / "stackroom.yaml").read_text()
    (project.root / "stackroom.yaml").write_text(text + "retention: {vectors_mb: 1}\n")
    assert tidy_vectors(project.config, dry_run=True).count == 320
    assert tidy_vectors(project.config).count == 320
    assert project.state.embedding_cache.stat().st_size < 2**20
    again = open_embedder(EmbedderSettings(), cache=project.state.embedding_cache)
    assert again._cache.count() == 1
    again.close()
    project.write("b.md", "# A\n\nThe note speaks of herons.")
    (result,) = project.ingest()
    made = [event for event in result.get_asset_materialization_events() if event.asset_key.path[-1] == "embeddings"]
    assert made[0].materialization.metadata["new"].value == 0
