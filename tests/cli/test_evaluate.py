"""`stackroom eval`: measures by questions whose answers are known, from options or from the settings."""

import json

import pytest

from stackroom.cli import main


@pytest.fixture
def questions(in_filled, tmp_path):
    """Return the options that name two questions and their answers."""
    queries, qrels = tmp_path / "questions.jsonl", tmp_path / "qrels.tsv"
    queries.write_text('{"_id": "1", "text": "bird that spears fish"}\n{"_id": "2", "text": "boiler and piston"}\n')
    qrels.write_text("query-id\tcorpus-id\tscore\n1\theron\t1\n2\tengine.md\t1\n")
    return ["--queries", str(queries), "--qrels", str(qrels)]


def test_every_side_is_measured(questions, capsys):
    assert main(["eval", *questions, "--corpus", "notes", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["corpus"], answer["min_ndcg"], answer["passed"], answer["warnings"]) == ("notes", None, True, [])
    assert {side["side"]: side["ndcg_at_10"] for side in answer["sides"]} == {"bm25": 1.0, "dense": 1.0, "hybrid": 1.0}
    assert main(["eval", *questions]) == 0
    printed = capsys.readouterr().out
    assert "notes: 2 questions with known answers" in printed
    assert "hybrid   1.0000" in printed


def test_without_questions_nothing_can_be_measured(in_filled, capsys):
    assert main(["eval", "--json"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, "corpora.notes.evaluation" in printed.err) == ("", True)


def test_two_means_below_what_the_settings_ask_for(own_copy, capsys):
    own_copy.settings("    evaluation: {queries: q.jsonl, qrels: r.tsv, min_ndcg: 0.99}\n")
    (own_copy.root / "q.jsonl").write_text('{"_id": "1", "text": "bird that spears fish"}\n')
    (own_copy.root / "r.tsv").write_text("1\tbirds/heron.md\t1\n")
    assert main(["eval"]) == 0
    (own_copy.root / "r.tsv").write_text("1\tengine.md\t1\n")
    assert main(["eval", "--json"]) == 2
    assert json.loads(capsys.readouterr().out.split("1.000, asked for is 0.990\n")[1])["passed"] is False
    (own_copy.root / "r.tsv").unlink()
    assert main(["eval"]) == 1
    assert "r.tsv cannot be read" in capsys.readouterr().err
