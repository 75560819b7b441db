"""An edit of the curated map reaches the stores at the price of the metadata, whatever happens on the way."""

import json
import pickle

import pytest

from stackroom.metadata_map.editing import set_fields
from stackroom.outcome import Failed, Produced, Unchanged
from stackroom.retrieval.search import Searcher
from stackroom.stages import bm25_corpus, embeddings, lint_report, metadata_map, vector_collection
from stackroom.stages.bench import FileWork
from stackroom.stages.order import STAGES
from stackroom.stores.bm25.corpus import read_corpus
from tests.filled import CORPUS, Filled, copy, hide_environment

SOURCE = "otter.md"
LONG = "# Otters\n\nBy Ana Ruiz, 2019\n\n" + "\n\n".join(
    f"## Brook {number}\n\nOtters hunt fish in brook {number} and leave spraint on stones." for number in range(12)
)


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Filled:
    with pytest.MonkeyPatch.context() as patch:
        hide_environment(patch)
        made = Filled(tmp_path_factory.mktemp("edited"))
        made.folder.mkdir()
        (made.folder / SOURCE).write_text(LONG, encoding="utf-8")
        (made.folder / "heron.md").write_text("# Herons\n\nThe grey heron waits and spears fish.", encoding="utf-8")
        made.settings()
        made.ingest()
        return made


@pytest.fixture(params=["sqlite", "chroma"])
def project(template, tmp_path, monkeypatch, request) -> Filled:
    hide_environment(monkeypatch)
    made = OnStore(tmp_path)
    made.kind = request.param
    copy(template, tmp_path)
    made.settings()
    made.ingest()
    return made


class OnStore(Filled):
    """A project whose rows lie in a store of some kind."""

    kind = "sqlite"

    @property
    def store(self) -> str:
        return f"{self.kind}:{self.root}/vectors-{self.kind}"


def edit(project: Filled, *authors: str) -> None:
    with project.bench() as bench:
        set_fields(project.folder, bench.curated, SOURCE, {"authors": list(authors)})


def run(bench) -> dict:
    return {stage.name: stage.run(FileWork(bench, SOURCE)) for stage in STAGES}


def rows(bench) -> dict:
    return {
        row.chunk_id: (row.source_id, row.text, dict(row.metadata), row.vector.tolist()) for row in bench.store.scan()
    }


def test_a_corrected_author_costs_only_metadata_and_gives_what_a_fresh_build_gives(project):
    with project.bench() as bench:
        before = rows(bench)
    edit(project, "Zoë Quillfeather", "Ben Ito")
    with project.bench() as bench:
        outcomes = run(bench)
        after = rows(bench)
    assert all(isinstance(outcomes[name], Unchanged) for name in ("chunks", "embeddings"))
    count = len([key for key in after if after[key][0] == SOURCE])
    assert count >= 12
    summary = outcomes["vector_collection"].summary
    assert (summary["upserted"], summary["metadata_only"], summary["deleted"]) == (0, count, 0)
    for chunk_id, (source, text, metadata, vector) in after.items():
        if source == SOURCE:
            assert metadata["authors"] == ["Zoë Quillfeather", "Ben Ito"]
            assert "quillfeather" in metadata["authors__names"]
            assert (text, vector) == (before[chunk_id][1], before[chunk_id][3])
        else:
            assert before[chunk_id] == (source, text, metadata, vector)
    assert project.ingest() == (SOURCE,)
    found = Searcher(project.config).search(
        "fish", [CORPUS], k=20, where={"authors": {"$contains": "zoe quillfeather"}}
    )
    assert {hit.source_id for hit in found.hits} == {SOURCE}
    assert all(any(hit.ranks.get(side) for hit in found.hits) for side in ("dense", "bm25"))
    with project.bench() as bench:
        bench.store.delete_source(SOURCE)
        bench.manifest.delete(bench.settings.store_uri, bench.collection.name, SOURCE)
        assert run(bench)["vector_collection"].summary["upserted"] == count
        assert rows(bench) == after


def test_an_edit_that_breaks_off_is_completed_or_undone_by_the_next_run(project):
    """The rows of the first batch say one thing, the others another; the manifest must not take that for done."""
    with project.bench() as bench:
        original = rows(bench)
    for undone in (False, True):
        edit(project, "Zoë Quillfeather")
        with project.bench() as bench:
            metadata_map.run(FileWork(bench, SOURCE))
            break_off_after_one_batch(bench.store)
            with pytest.raises(KeyboardInterrupt):
                vector_collection.run(FileWork(bench, SOURCE))
        with project.bench() as bench:
            said = {tuple(row[2].get("authors", ())) for row in rows(bench).values() if row[0] == SOURCE}
            assert len(said) == (1 if project.kind == "sqlite" else 2)  # SQLite rolls back, Chroma has written a batch
        if undone:
            (project.folder / "metadata-map.json").unlink()
        with project.bench() as bench:
            outcome = run(bench)["vector_collection"]
            assert isinstance(outcome, Produced)
            said = {tuple(row[2].get("authors", ())) for row in rows(bench).values() if row[0] == SOURCE}
            assert said == {("Ana Ruiz",) if undone else ("Zoë Quillfeather",)}
            assert isinstance(run(bench)["vector_collection"], Unchanged)
            if undone:
                assert rows(bench) == original
        (project.folder / "metadata-map.json").unlink(missing_ok=True)
        with project.bench() as bench:
            run(bench)


def break_off_after_one_batch(store) -> None:
    """Let the store write rows one by one, and end the run as Ctrl-C would at the second."""
    rewrite, calls = store._rewrite, []
    store.max_batch_rows = 1

    def dying(batch):
        calls.append(batch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rewrite(batch)

    store._rewrite = dying


def test_rows_that_are_not_what_was_noted_are_replaced_as_a_whole(project):
    """Somebody deleted rows behind our back; relabelling the others would leave the loss unnoticed."""
    edit(project, "Zoë Quillfeather")
    with project.bench() as bench:
        lost = sorted(bench.store.ids_of_source(SOURCE))[3:5]
        bench.store.delete_rows(SOURCE, lost)
        summary = run(bench)["vector_collection"].summary
        assert (summary["upserted"], summary["metadata_only"]) == (summary["rows"], 0)
        assert set(lost) < bench.store.ids_of_source(SOURCE)


def test_changed_text_of_a_chunk_is_not_taken_for_changed_metadata(template, tmp_path, monkeypatch):
    hide_environment(monkeypatch)
    project = copy(template, tmp_path)
    (project.folder / SOURCE).write_text(LONG.replace("spraint", "droppings"), encoding="utf-8")
    edit(project, "Zoë Quillfeather")
    with project.bench() as bench:
        summary = run(bench)["vector_collection"].summary
        assert (summary["upserted"], summary["metadata_only"]) == (summary["rows"], 0)
        assert all("spraint" not in row[1] for row in rows(bench).values() if row[0] == SOURCE)


def test_nothing_is_looked_for_in_the_document_or_tokenised_again(template, tmp_path, monkeypatch):
    hide_environment(monkeypatch)
    project = copy(template, tmp_path)
    with project.bench() as bench:
        work = FileWork(bench, SOURCE)
        # What was found is marked, so that it shows whether it is found again.
        path = work.artefact(metadata_map.STAGE, "json")
        recorded = json.loads(path.read_text())
        recorded["data"]["generated"]["DEFAULT"]["journal"] = "Journal of Marks"
        path.write_text(json.dumps(recorded))
        before = read_corpus(work.artefact(bm25_corpus.STAGE, "pkl"))
    edit(project, "Zoë Quillfeather")
    with project.bench() as bench:
        work = FileWork(bench, SOURCE)
        assert isinstance(metadata_map.run(work), Produced)
        assert metadata_map.read(work).data["merged"]["DEFAULT"]["journal"] == "Journal of Marks"
        assert isinstance(bm25_corpus.run(work), Produced)
        after = read_corpus(work.artefact(bm25_corpus.STAGE, "pkl"))
        assert {tuple(row["authors"]) for row in after.metadata} == {("Zoë Quillfeather",)}
        assert (after.vocabulary, after.term_ids.tolist()) == (before.vocabulary, before.term_ids.tolist())
        fresh = FileWork(bench, SOURCE, force=True)
        assert isinstance(bm25_corpus.run(fresh), Produced)
        again = read_corpus(work.artefact(bm25_corpus.STAGE, "pkl"))
        assert pickle.dumps(vars(again)) == pickle.dumps(vars(after))
        metadata_map.run(fresh)
        assert "journal" not in metadata_map.read(work).data["merged"]["DEFAULT"]
        for stage in (embeddings, lint_report):
            assert not isinstance(stage.run(work), Failed)
