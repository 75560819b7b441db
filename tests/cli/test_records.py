"""`stackroom records`: what it asks the ingesting process for, and what it shows of hits and refused lines."""

import json

import pytest

from stackroom.cli import main
from stackroom.cli.output import program
from stackroom.config import load_config
from stackroom.records.bench import RecordBench, RecordBenchSettings
from stackroom.records.ingest import ingest_records
from tests.records.generator import records, write


@pytest.fixture
def plant(project):
    text = f"corpora: {{}}\nrecords:\n  plant: {{folder: jsonl, vector_store: 'sqlite:{project.state}/records.db'}}\n"
    (project.folder / "stackroom.yaml").write_text(text)
    write(project.folder / "jsonl" / "a.jsonl", [*records(12), {"record_id": "odd"}])
    return project


def test_ingestion_asks_for_the_record_set_and_hands_switches_on(plant, capsys):
    plant.script({"event": "plan", "files": 1, "unchanged": 0}, plant.done(searchable=1, chunks=12))
    assert main(["records", "ingest", "--retry"]) == 0
    assert [call["arguments"] for call in plant.calls()] == [["ingest", "--records", "plant", "--retry"]]
    assert main(["records", "ingest", "nope"]) == 1
    assert "there is no record set 'nope'" in capsys.readouterr().err


def test_the_summary_speaks_of_records_files_and_refused_lines(plant, capsys):
    plant.script(plant.done(searchable=1, chunks=7, converted=1, embedded=5, refused_lines=2))
    assert main(["records", "ingest"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "  1 file searchable, 7 records, 2 lines refused; 1 file read, 5 texts embedded; 1.0 s" in out
    assert f"  `{program()} records lint plant` lists the refused lines" in out
    plant.script(plant.done(searchable=2, chunks=1, refused_lines=0))
    assert main(["records", "ingest"]) == 0
    assert "  2 files searchable, 1 record; 0 files read, 0 texts embedded; 1.0 s\n" in capsys.readouterr().out


def test_search_and_lint_show_records_and_refused_lines(plant, capsys):
    assert main(["records", "lint"]) == 0
    assert "nothing has been read yet" in capsys.readouterr().out
    config = load_config(plant.folder)
    with RecordBench(RecordBenchSettings.of(config, "plant")) as bench:
        ingest_records(bench)
    assert main(["records", "search", "found on shift", "--type", "cr", "--json", "--weight", "0"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {hit["doc_type"] for hit in answer["hits"]} == {"CR"}
    assert all(hit["snippet"].startswith("Unit") for hit in answer["hits"])
    component = answer["hits"][0]["metadata"]["component_ids"][-1]
    assert main(["records", "search", "found on shift", "--component", component, "--weight", "0"]) == 0
    assert answer["hits"][0]["record_id"] in capsys.readouterr().out
    assert main(["records", "search", "shift", "--type", "XX"]) == 1
    assert "'XX' was never ingested" in capsys.readouterr().err
    assert main(["records", "lint", "--json"]) == 2
    report = json.loads(capsys.readouterr().out)["record_sets"]["plant"]
    assert [(line["file"], line["line"], line["record_id"]) for line in report["refused"]] == [("a.jsonl", 13, "odd")]
    assert main(["records", "lint"]) == 2
    assert "a.jsonl:13" in capsys.readouterr().out


def test_without_record_sets_the_message_says_how_to_add_one(project, capsys):
    (project.folder / "stackroom.yaml").write_text("corpora: {}\n")
    assert main(["records", "search", "x"]) == 1
    assert "stackroom.yaml names no record set" in capsys.readouterr().err


def test_status_and_doctor_cover_record_sets(plant, capsys):
    assert main(["status"]) == 0
    assert "plant (records): 1 file, 1 pending; 0 records, 0 lines refused" in capsys.readouterr().out
    assert main(["doctor"]) == 0
    with RecordBench(RecordBenchSettings.of(load_config(plant.folder), "plant")) as bench:
        ingest_records(bench)
        (known, *_) = bench.registry.collections("plant")
        bench.store(known).delete_source("a.jsonl")
    (plant.folder / "jsonl" / "bad.jsonl").write_text("no record\n")
    with RecordBench(RecordBenchSettings.of(load_config(plant.folder), "plant")) as bench:
        ingest_records(bench)
    capsys.readouterr()
    assert main(["status", "--json"]) == 2
    (line,) = json.loads(capsys.readouterr().out)["record_sets"]
    assert (line["files"], line["records"], line["refused"]) == ({"searchable": 1, "quarantined": 1}, 12, 2)
    assert [(file["source_id"], file["reason"]) for file in line["failed"]] == [("bad.jsonl", "corrupt")]
    assert sum(line["collections"].values()) == 12

    assert main(["doctor", "plant", "--json"]) == 2
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [(one["corpus"], one["check"], one["kind"]) for one in problems] == [("plant", "rows", "missing")]
    assert main(["doctor", "plant", "--repair"]) == 0
    assert "plant: 1 file in the stores, 1 problem, all repaired" in capsys.readouterr().out
    assert main(["doctor"]) == 0
