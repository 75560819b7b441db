"""`stackroom doctor`: what is wrong with the stores is named, and mended on request."""

import json

from stackroom.cli import main
from stackroom.cli.output import program


def doctor_json(capsys, *arguments: str) -> tuple[int, dict]:
    """Return exit code and answer of `doctor --json`."""
    capsys.readouterr()
    code = main(["doctor", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_sound_stores_have_no_problems(in_filled, capsys):
    assert doctor_json(capsys) == (0, {"repaired": False, "problems": [], "left": [], "not_ingested": []})
    assert main(["doctor", "notes"]) == 0
    assert capsys.readouterr().out.strip() == "notes: 4 files in the stores, no problems"


def test_a_fresh_project_has_no_problems_and_nothing_is_written(project, capsys):
    assert doctor_json(capsys) == (0, {"repaired": False, "problems": [], "left": [], "not_ingested": ["papers"]})
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == f"papers: nothing has been ingested yet; run `{program()} ingest papers`\n"
    assert not project.state.exists()


def test_a_corpus_and_a_record_set_beside_an_ingested_corpus_are_named_as_not_ingested(own_copy, capsys):
    (own_copy.root / "other").mkdir()
    settings = own_copy.root / "stackroom.yaml"
    settings.write_text(settings.read_text() + "  other: {folder: other}\nrecords: {plant: {folder: other}}\n")
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "notes: 4 files in the stores, no problems",
        f"other: nothing has been ingested yet; run `{program()} ingest other`",
        f"plant: nothing has been ingested yet; run `{program()} records ingest plant`",
    ]


def test_an_unknown_corpus_could_not_be_examined(project, capsys):
    assert main(["doctor", "letters"]) == 1
    assert "known: papers" in capsys.readouterr().err


def test_damage_gives_two_until_it_is_repaired(own_copy, capsys):
    with own_copy.bench() as bench:
        bench.store.delete_source("otter.md")
        bench.artefacts.path("bm25_corpus", "engine.md", "pkl").write_bytes(b"damaged")
    code, answer = doctor_json(capsys)
    assert code == 2
    assert [(one["corpus"], one["check"], one["kind"], one["source_id"]) for one in answer["problems"]] == [
        ("notes", "rows", "missing", "otter.md"),
        ("notes", "tokens", "unreadable", "engine.md"),
    ]
    assert answer["left"] == answer["problems"]
    assert main(["doctor"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "notes: 4 files in the stores, 2 problems" in out
    assert "doctor notes --repair` to write" in out

    code, answer = doctor_json(capsys, "--repair")
    assert (code, len(answer["problems"]), answer["left"], answer["repaired"]) == (0, 2, [], True)
    assert doctor_json(capsys)[1]["problems"] == []


def test_what_cannot_be_repaired_is_left_with_its_reason(own_copy, capsys):
    with own_copy.bench() as bench:
        bench.artefacts.path("embeddings", "otter.md", "parquet").unlink()
    assert main(["doctor", "--repair"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "1 problem, 1 left" in out
    assert "left: otter.md: `embeddings` of this file has not been materialized" in out
    assert "ingest notes --force`" in out
