"""Record sets as Dagster assets: a partition per JSONL file, failures named, deletions propagated, sensor, nightly."""

import os
import time

import dagster as dg
import pytest

from assets.build import build_defs
from assets.forget import forget_everything
from assets.in_flight import RANGE_END_TAG, RANGE_START_TAG
from assets.partitions import CORPUS_TAG, add_sources, known_sources
from resources.records import record_bench_of, record_resources
from stackroom.config import load_config
from stackroom.errors import ConfigError, StoreNotFoundError
from stackroom.identity import partition_key
from stackroom.records.bench import registry_path
from stackroom.records.ingest import plan_records
from stackroom.records.registry import Registry
from stackroom.records.search import RecordSearcher
from stackroom.state import StateFolder
from stackroom.stores.base import CollectionSpec, open_store
from tests.project import QUIET
from tests.records.generator import records, write

CORPUS = "records__plant"
YAML = """
corpora: {{}}
records:
  plant: {{folder: jsonl, vector_store: 'sqlite:{root}/state/records.db'}}
"""


def write_earlier(path, rows):
    """Write a file as if a minute ago: what was written this very moment is looked at twice."""
    write(path, rows)
    os.utime(path, (time.time() - 60,) * 2)


class Plant:
    def __init__(self, root, instance):
        self.root, self.instance, self.folder = root, instance, root / "jsonl"
        self.folder.mkdir()
        (root / "stackroom.yaml").write_text(YAML.format(root=root))
        self.config = load_config(root, {"STACKROOM_STATE": str(root / "state")})
        self.definitions = build_defs(self.config)

    def run(self, job, tags):
        return self.definitions.resolve_job_def(job).execute_in_process(
            instance=self.instance, tags={CORPUS_TAG: CORPUS, **tags}, run_config=QUIET, raise_on_error=False
        )

    def look(self):
        """Evaluate the sensor and execute what it asks for."""
        sensor = self.definitions.resolve_sensor_def(f"watch_{CORPUS}")
        with dg.build_sensor_context(
            instance=self.instance, repository_def=self.definitions.get_repository_def()
        ) as context:
            asked = sensor.evaluate_tick(context).run_requests
        return [self.run(request.job_name, request.tags) for request in asked]

    def bench(self):
        return record_bench_of(self.config, "plant", record_resources(self.config, "plant"))

    def ask(self, *arguments, **options):
        with RecordSearcher(self.config, "plant") as searcher:
            return searcher.query_doc_type(*arguments, **options)

    def partitions(self, name):
        return set(self.instance.get_materialized_partitions(dg.AssetKey([CORPUS, name])))


@pytest.fixture
def plant(tmp_path):
    with dg.instance_for_test(temp_dir=str(tmp_path)) as instance:
        yield Plant(tmp_path, instance)


def test_the_sensor_takes_files_in_names_the_bad_ones_and_removes_what_is_gone(plant):
    everything = list(records(24))
    write_earlier(plant.folder / "a.jsonl", everything[:12])
    write_earlier(plant.folder / "sub/b.jsonl", everything[12:])
    write_earlier(plant.folder / "bad.jsonl", [{"doc_id": "x"}])
    (result,) = plant.look()
    assert not result.success
    assert plant.partitions("record_collections") == {"a.jsonl", "sub/b.jsonl"}
    with plant.bench() as bench:
        states = {state.source_id: (state.state, state.chunks) for state in bench.ledger.sources(CORPUS)}
    assert states == {
        "a.jsonl": ("searchable", 12),
        "sub/b.jsonl": ("searchable", 12),
        "bad.jsonl": ("quarantined", None),
    }
    checks = {
        (event.asset_check_evaluation_data.check_name, event.asset_check_evaluation_data.partition): event
        for event in result.all_events
        if event.event_type_value == "ASSET_CHECK_EVALUATION"
    }
    assert checks["readable", "bad.jsonl"].asset_check_evaluation_data.metadata["reason"].value == "corrupt"
    assert checks["count_matches_records", "a.jsonl"].asset_check_evaluation_data.passed
    # The run itself refreshed the keyword indexes, so that records are found by their words.
    assert len(plant.ask("CR", "unit found shift", hybrid_weight=0.0)) == 4

    assert plant.look() == []

    (plant.folder / "a.jsonl").unlink()
    (result,) = plant.look()
    assert result.success
    assert known_sources(plant.instance, CORPUS) == ["bad.jsonl", "sub/b.jsonl"]
    for weight in (0.0, 1.0):
        assert {hit.file for hit in plant.ask("CR", "unit found shift", hybrid_weight=weight)} == {"sub/b.jsonl"}
    assert plant.look() == []


def test_refused_lines_are_shown_and_an_unchanged_file_says_so(plant):
    write(plant.folder / "a.jsonl", [*records(3), {"record_id": "odd", "metadata": []}])
    add_sources(plant.instance, CORPUS, ["a.jsonl"])
    with plant.bench() as bench:
        assert plan_records(bench).process == ("a.jsonl",)
    key = partition_key("a.jsonl")
    tags = {RANGE_START_TAG: key, RANGE_END_TAG: key}
    first, second = (plant.run(f"ingest_{CORPUS}", tags) for _ in range(2))
    assert first.success
    assert second.success
    shown = {
        event.asset_key.path[-1]: event.step_materialization_data.materialization.metadata
        for event in first.get_asset_materialization_events()
    }
    assert shown["record_file"]["refused"].value == 1
    (line,) = shown["record_file"]["refused_lines"].value.records
    assert (line.data["line"], line.data["record_id"]) == (4, "odd")
    assert shown["record_collections"]["upserted"].value == 3
    assert shown["record_indexes"]["records"].value == 3
    again = {
        event.asset_key.path[-1]: event.step_materialization_data.materialization.metadata
        for event in second.get_asset_materialization_events()
    }
    assert all(metadata["unchanged"].value for metadata in again.values())


def test_the_nightly_schedule_asks_for_what_is_new(plant):
    write(plant.folder / "a.jsonl", list(records(3)))
    schedule = plant.definitions.resolve_schedule_def(f"nightly_{CORPUS}")
    with dg.build_schedule_context(instance=plant.instance) as context:
        (request,) = schedule.evaluate_tick(context).run_requests
    assert request.tags[RANGE_START_TAG] == "a.jsonl"
    assert known_sources(plant.instance, CORPUS) == ["a.jsonl"]


def test_a_record_set_is_forgotten_and_its_files_stay(plant, monkeypatch):
    monkeypatch.setenv("STACKROOM_STATE", str(plant.root / "state"))
    write_earlier(plant.folder / "a.jsonl", list(records(12)))
    plant.look()
    with pytest.raises(ConfigError, match="remove its entry under `records` first"):
        forget_everything(plant.config, plant.instance, "plant", records=True)
    (plant.root / "stackroom.yaml").write_text("corpora: {}\n")
    config = load_config(plant.root)

    seen = forget_everything(config, plant.instance, "plant", records=True, dry_run=True)
    assert (seen["record_set"], seen["sources"], seen["partitions"], seen["keyword_index"]) == ("plant", 1, 1, True)
    assert sum(one["rows"] for one in seen["collections"]) == 12
    places = [(known.store, known.collection) for known in registry_of(config).collections("plant")]
    assert len(places) == len(seen["collections"])

    assert forget_everything(config, plant.instance, "plant", records=True) == {**seen, "dry_run": False}
    assert known_sources(plant.instance, CORPUS) == []
    assert registry_of(config).collections("plant") == []
    assert registry_of(config).counts(*places[0][:1], [name for _, name in places]) == {name: 0 for _, name in places}
    for store, collection in places:
        with pytest.raises(StoreNotFoundError):
            open_store(store, CollectionSpec(collection, "", "", 0), create=False)
    assert (plant.folder / "a.jsonl").exists()
    with pytest.raises(ConfigError, match="nothing is known of a record set 'plant'"):
        forget_everything(config, plant.instance, "plant", records=True)


def registry_of(config):
    return Registry(registry_path(StateFolder(config.state_folder)))
