"""One bad file never costs another: good ones go all the way, bad ones are named, and only those are retried."""

import dagster as dg
import pytest

from stackroom.stages.order import STAGES

LOREM = "# Note {number}\n\nThe quick brown fox number {number} jumps over the lazy dog near the river bank."


def failure_table(result) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            return str(event.step_failure_data.user_failure_data.metadata["failed_files"].value)
    raise AssertionError("the run did not fail")


def test_seventeen_of_twenty_files_go_through_all_stages_and_three_are_named(project):
    for number in range(17):
        project.write(f"note{number:02}.md", LOREM.format(number=number))
    project.write("broken.pdf", "")
    (project.folder / "noise.pdf").write_bytes(b"%PDF-1.4\n" + bytes(range(256)) * 8)
    (project.folder / "nul.docx").write_bytes(b"\0" * 4096)

    (result,) = project.ingest()

    assert not result.success
    bad = {"broken.pdf", "noise.pdf", "nul.docx"}
    good = {f"note{number:02}.md" for number in range(17)}
    for stage in STAGES[2:]:
        assert set(project.partitions(stage.name)) == good, stage.name
    states = project.states()
    assert {source for source, (state, _) in states.items() if state == "searchable"} == good
    assert {source: reason for source, (state, reason) in states.items() if state == "quarantined"} == {
        "broken.pdf": "empty",
        "noise.pdf": "corrupt",
        "nul.docx": "empty",
    }
    table = failure_table(result)
    assert all(name.replace(".", "&#46;") in table for name in bad)

    # Nothing changed: nothing is tried again.
    assert project.ingest() == []

    # Good copies arrive: exactly those three are processed, and the run is green.
    before = project.partitions("chunks")
    for name in bad:
        (project.folder / name).unlink()
        project.write(name.rpartition(".")[0] + ".md", LOREM.format(number=name))
    results = project.ingest()
    assert all(result.success for result in results)
    after = project.partitions("chunks")
    assert {key: after[key] for key in before} == before
    assert set(after) - set(before) == {"broken.md", "noise.md", "nul.md"}
    assert set(project.states()) == good | {"broken.md", "noise.md", "nul.md"}


def test_a_failed_partition_shows_the_reason_in_its_check(project):
    project.write("broken.pdf", "")
    project.write("good.md", LOREM.format(number=1))
    project.ingest()
    key = dg.AssetCheckKey(dg.AssetKey(["notes", "source_document"]), "readable")
    records = project.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    evaluations = [record.event.asset_check_evaluation for record in records if record.event]
    failed = [evaluation for evaluation in evaluations if evaluation and not evaluation.passed]
    assert [evaluation.partition for evaluation in failed] == ["broken.pdf"]
    assert failed[0].metadata["reason"].value == "empty"


def test_a_stage_can_be_materialized_alone_and_says_what_it_misses(project):
    project.write("a.md", LOREM.format(number=1))
    project.ingest()
    from assets.build import build_defs
    from assets.partitions import add_sources

    project.write("b.md", LOREM.format(number=2))
    add_sources(project.instance, "notes", ["b.md"])
    definitions = build_defs(project.config)
    alone = [dg.AssetKey(["notes", "lint_report"])]
    tags = {"dagster/partition": "a.md"}
    done = project.run(definitions, "ingest_notes", tags, selection=alone)
    assert done.success
    assert {event.asset_key.path[-1] for event in done.get_asset_materialization_events()} == {"lint_report"}
    missing = project.run(definitions, "ingest_notes", {"dagster/partition": "b.md"}, selection=alone)
    assert not missing.success
    assert "has not been materialized" in failure_table(missing).replace("&#46;", ".")


@pytest.mark.parametrize(
    "name", ["with space.md", "quo'te\".md", "100%.md", "emoji-📄.md", "new\nline.md", "e\u0301t.md"]
)
def test_awkward_names_go_through_and_show_readably(project, name):
    project.write(name, LOREM.format(number=7))
    (result,) = project.ingest()
    assert result.success
    (source,) = project.states()
    assert project.states()[source] == ("searchable", None)


def test_equal_names_in_two_folders_both_survive(project):
    project.write("a/paper.md", LOREM.format(number="alpha"))
    project.write("b/paper.md", LOREM.format(number="beta"))
    project.ingest()
    with project.bench() as bench:
        assert bench.store.source_ids() == {"a/paper.md", "b/paper.md"}
