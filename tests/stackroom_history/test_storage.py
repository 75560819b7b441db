"""Dagster works with our records as it does with its own, and continues those it wrote before."""

import multiprocessing
import sqlite3

import dagster as dg
import pytest

from stackroom_history.storage import OPEN_RUNS

CUSTOM = {"custom": {"module": "stackroom_history.storage", "class": "History"}}
FILES = dg.StaticPartitionsDefinition(["a.md", "b.md"])


@dg.multi_asset(
    specs=[dg.AssetSpec("chunks", skippable=True)],
    check_specs=[dg.AssetCheckSpec("parses", asset="chunks", partitions_def=FILES)],
    partitions_def=FILES,
)
def take_files(context):
    for key in context.partition_keys:
        yield dg.AssetMaterialization("chunks", partition=key, metadata={"note": f"of {key} — größer"})
        yield dg.AssetCheckEvaluation(asset_key=dg.AssetKey("chunks"), check_name="parses", passed=True, partition=key)
    yield dg.Output(None, output_name="chunks_parses")


def run(instance):
    assert dg.materialize([take_files], instance=instance, partition_key="a.md").success


def seen(instance):
    """What the web interface asks for: latest materializations, checks, and the log of each run."""
    records = instance.fetch_materializations(dg.AssetKey("chunks"), limit=50).records
    check = dg.AssetCheckKey(dg.AssetKey("chunks"), "parses")
    executions = instance.event_log_storage.get_asset_check_execution_history(check, limit=50)
    return {
        "notes": [record.asset_materialization.metadata["note"].value for record in records],
        "partitions": instance.get_materialized_partitions(dg.AssetKey("chunks")),
        "checks": [(one.partition, one.status.value, one.event.message) for one in executions],
        "logs": [[event.message for event in instance.all_logs(one.run_id)] for one in instance.get_runs()],
    }


@pytest.fixture
def instance(tmp_path):
    """Return an instance with our storage."""
    storage = {"custom": {**CUSTOM["custom"], "config": {"base_dir": str(tmp_path / "records")}}}
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides={"storage": storage}) as made:
        assert type(made.event_log_storage).__name__ == "EventRecords"
        yield made


def stored_types(folder):
    kinds = set()
    for path in folder.glob("*.db"):
        with sqlite3.connect(path) as db:
            kinds |= {kind for (kind,) in db.execute("SELECT DISTINCT typeof(event) FROM event_logs")}
    return kinds


def test_events_are_packed_on_disk_and_read_as_they_were(instance, tmp_path):
    run(instance)
    found = seen(instance)
    assert found["notes"] == ["of a.md — größer"]
    assert found["partitions"] == {"a.md"}
    assert found["checks"] == [("a.md", "SUCCEEDED", "Asset check 'parses' on 'chunks' passed.")]
    assert any("Materialized value chunks" in message for message in found["logs"][0])
    assert stored_types(tmp_path / "records" / "history" / "runs") == {"blob"}


def test_records_of_dagsters_own_storage_are_continued(tmp_path):
    own = {"sqlite": {"base_dir": str(tmp_path / "records")}}
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides={"storage": own}) as instance:
        run(instance)
        before = seen(instance)
    ours = {"custom": {**CUSTOM["custom"], "config": {"base_dir": str(tmp_path / "records")}}}
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides={"storage": ours}) as instance:
        assert seen(instance) == before
        run(instance)
        assert seen(instance)["notes"] == before["notes"] * 2
    assert stored_types(tmp_path / "records" / "history" / "runs") == {"blob", "text"}


def test_files_of_only_a_few_runs_stay_open(instance):
    for _ in range(OPEN_RUNS + 2):
        run(instance)
    engines = instance.event_log_storage._engines
    assert len(engines) == OPEN_RUNS + 1
    assert "index" in engines
    assert len(seen(instance)["logs"]) == OPEN_RUNS + 2


def test_a_forked_process_opens_its_own_connections(instance):
    run(instance)
    before = seen(instance)

    def look(pipe):
        pipe.send(seen(instance))

    ours, theirs = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=look, args=(theirs,))
    child.start()
    assert ours.poll(30)
    assert ours.recv() == before
    child.join(30)
    run(instance)
    assert seen(instance)["notes"] == before["notes"] * 2


def test_everything_can_be_wiped(instance):
    run(instance)
    instance.wipe()
    assert seen(instance) == {"notes": [], "partitions": set(), "checks": [], "logs": []}
    run(instance)
    assert seen(instance)["partitions"] == {"a.md"}
