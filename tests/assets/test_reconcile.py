"""Whatever happens to the files, the stores end up like a fresh build, at the cost of what changed."""

import shutil

import dagster as dg

from stackroom.retrieval.search import Searcher
from stackroom.stages.reconcile import plan_corpus

TEXTS = {name: f"# {name}\n\nThe {name} note is about {name} and nothing else." for name in ("heron", "otter", "swift")}


def stored(project) -> dict[tuple[str, str], str]:
    with project.bench() as bench:
        return {(row.source_id, str(row.metadata["readable_id"])): row.text for row in bench.store.scan()}


def fresh_rows(project, tmp_path_factory) -> dict[tuple[str, str], str]:
    """Rows of a build of the same folder from nothing."""
    from tests.project import Project

    root = tmp_path_factory.mktemp("fresh")
    shutil.copytree(project.folder, root / "docs")
    (root / "home").mkdir()
    with dg.instance_for_test(temp_dir=str(root / "home")) as instance:
        made = Project(root, instance)
        made.settings()
        made.ingest()
        return stored(made)


def materialized(results) -> set[tuple[str, str]]:
    return {
        (event.asset_key.path[-1], event.partition)
        for result in results
        for event in result.get_asset_materialization_events()
        if event.partition and not event.step_materialization_data.materialization.metadata["unchanged"].value
    }


def test_a_history_of_changes_ends_like_a_fresh_build(project, tmp_path_factory):
    for name, text in TEXTS.items():
        project.write(f"{name}.md", text)
    project.ingest()
    assert project.ingest() == []

    # Edited: only that file is processed.
    project.write("otter.md", TEXTS["otter"] + "\n\nOne more sentence about otters.")
    assert {partition for _, partition in materialized(project.ingest())} == {"otter.md"}

    # Renamed and moved: no conversion (the cache answers), no embedding, the old rows vanish.
    (project.folder / "birds").mkdir()
    (project.folder / "heron.md").rename(project.folder / "birds" / "grey heron.md")
    results = project.ingest()
    embedded = [
        event.step_materialization_data.materialization.metadata["new"].value
        for result in results
        for event in result.get_asset_materialization_events()
        if event.asset_key.path[-1] == "embeddings"
    ]
    assert embedded == [0]
    assert set(project.states()) == {"birds/grey heron.md", "otter.md", "swift.md"}

    # Deleted, and a duplicate added.
    (project.folder / "swift.md").unlink()
    shutil.copy(project.folder / "otter.md", project.folder / "copy of otter.md")
    project.ingest()
    assert set(project.states()) == {"birds/grey heron.md", "otter.md", "copy of otter.md"}
    assert set(project.instance.get_dynamic_partitions("notes__sources")) == set(project.states())

    assert stored(project) == fresh_rows(project, tmp_path_factory)
    found = Searcher(project.config).search("heron", ["notes"], k=3)
    assert found.hits[0].source_id == "birds/grey heron.md"
    assert "swift.md" not in {hit.source_id for hit in found.hits}


def test_an_emptied_folder_is_not_taken_for_deletions_until_confirmed(project):
    project.write("heron.md", TEXTS["heron"])
    project.ingest()
    (project.folder / "heron.md").unlink()
    with project.bench() as bench:
        refused = plan_corpus(bench)
    assert refused.delete == ()
    assert "1 of 1 file has vanished" in refused.refused
    assert len(stored(project)) == 1


def test_a_file_that_turns_bad_leaves_the_stores(project):
    project.write("heron.md", TEXTS["heron"])
    project.write("otter.md", TEXTS["otter"])
    project.ingest()
    (project.folder / "otter.md").write_bytes(b"")
    project.ingest()
    assert project.states() == {"heron.md": ("searchable", None), "otter.md": ("quarantined", "empty")}
    assert {source for source, _ in stored(project)} == {"heron.md"}
