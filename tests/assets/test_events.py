"""What a run leaves in Dagster's storage for the UI: checks that count, nothing out of step, failures that say why."""

import dagster as dg

from assets.show import escape, plain, table
from stackroom.stages.order import STAGES

NOTE = "# Herons\n\nThe grey heron waits in shallow water."
HOSTILE = "**x** <img src=a> [c](javascript:1) | y"


def key(stage):
    return dg.AssetKey(["notes", stage])


def latest(project, stage, partition):
    """Return the storage record of the latest materialization of a partition."""
    wanted = dg.AssetRecordsFilter(key(stage), asset_partitions=[partition])
    return project.instance.fetch_materializations(wanted, limit=1).records[0]


def evaluations(project, stage, check):
    records = project.instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(key(stage), check), limit=20
    )
    return [record.event.asset_check_evaluation for record in records if record.event]


def test_checks_and_inputs_point_to_the_latest_materializations(project):
    project.write("heron.md", NOTE)
    project.ingest()
    project.ingest(force=True)
    ids = {stage.name: latest(project, stage.name, "heron.md").storage_id for stage in STAGES}
    for stage in STAGES:
        tags = latest(project, stage.name, "heron.md").asset_materialization.tags
        pointers = {tag.rpartition("/")[2]: int(tags[tag]) for tag in tags if tag.startswith("dagster/input_event_p")}
        assert pointers == {need: ids[need] for need in stage.needs}, stage.name
        versions = {tag.rpartition("/")[2]: tags[tag] for tag in tags if tag.startswith("dagster/input_data_v")}
        made = {need: latest(project, need, "heron.md").asset_materialization.tags for need in stage.needs}
        assert versions == {need: made[need]["dagster/data_version"] for need in stage.needs}
    for stage, check in (("source_document", "readable"), ("chunks", "parses"), ("lint_report", "severity_gate")):
        newest = evaluations(project, stage, check)[0]
        assert newest.target_materialization_data.storage_id == ids[stage]
    (corpus_wide, *_) = evaluations(project, "corpus_lint_report", "nothing_quarantined")
    wanted = project.instance.fetch_materializations(key("corpus_lint_report"), limit=1).records[0]
    assert corpus_wide.target_materialization_data.storage_id == wanted.storage_id


def test_a_file_that_did_not_get_through_says_why_on_every_partition_it_lacks(project):
    project.write("broken.pdf", "")
    project.write("heron.md", NOTE)
    project.ingest()
    for stage in STAGES:
        wanted = dg.AssetRecordsFilter(key(stage.name), asset_partitions=["broken.pdf"])
        (note,) = project.instance.fetch_observations(wanted, limit=10).records
        shown = note.event_log_entry.asset_observation
        assert shown.description.startswith("empty: ")
        assert (shown.metadata["reason"].value, shown.metadata["stage"].value) == ("empty", "source_document")
        assert shown.metadata["remedy"].value
        wanted = dg.AssetRecordsFilter(key(stage.name), asset_partitions=["heron.md"])
        assert project.instance.fetch_observations(wanted, limit=10).records == []


def test_plain_text_and_cells_are_left_as_they_are_and_markdown_is_escaped():
    # Dagster shows text and cells as they are: an entity would be seen as such.
    assert plain(HOSTILE).value == HOSTILE
    (row,) = table([{"a": {"key": ["x", "y"], "page": 3}, "b": None}], {"a": "string", "b": "string"}).records
    assert row.data == {"a": "key x; y, page 3", "b": ""}
    assert not set("*<>[]()|") & set(escape(HOSTILE))
    assert plain("long " * 200).value.endswith("…")
    assert len(plain("long " * 200).value) == 400
