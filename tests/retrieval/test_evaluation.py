import math

import pytest

from stackroom.errors import ConfigError
from stackroom.retrieval.evaluation import (
    Question,
    evaluate_corpus,
    format_evaluation,
    ndcg,
    read_judgements,
    read_questions,
    recall,
    reciprocal_rank,
)
from stackroom.retrieval.search import Searcher


def test_measures_worked_out_by_hand():
    judged = {"a": 2, "b": 1, "c": 0, "d": -1}
    found = ["x", "b", "a", "c"]
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(found, judged) == pytest.approx((1 / math.log2(3) + 2 / math.log2(4)) / ideal)
    assert ndcg(["a", "b"], judged) == 1.0
    assert ndcg([], judged) == ndcg(["c", "d"], judged) == ndcg(["a"], {}) == 0.0
    assert ndcg(["x"] * 9 + ["a"], {"a": 1}) == pytest.approx(1 / math.log2(11))
    assert ndcg([str(number) for number in range(10)] + ["a"], {"a": 1}) == 0.0
    assert recall(found, judged) == 1.0
    assert recall(found, judged, depth=2) == 0.5
    assert reciprocal_rank(found, judged) == 0.5
    assert reciprocal_rank(["x"], judged) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\ta\t1\n",
        "1\ta\t2\n1\tb\t0\n2\ta\t1",
        "1 0 a 2\n1 0 b 0\n2 0 a 1\n",
        "1\t0\ta\t2\r\n1\t0\tb\t0\r\n2\t0\ta\t1\r\n",
        "\ufeffquery-id\tcorpus-id\tscore\n1\ta\t2.0\n1\tb\t0\n\n2\ta\t1\n",
    ],
)
def test_judgements_with_and_without_header_and_grades(tmp_path, text):
    path = tmp_path / "qrels.tsv"
    path.write_bytes(text.encode())
    assert read_judgements(path) == {"1": {"a": 2, "b": 0}, "2": {"a": 1}}


@pytest.mark.parametrize("text", ["1\ta\t1\n1\tb\tyes\n", "1\n", "1\ta\n"])
def test_a_line_that_is_no_judgement_is_named(tmp_path, text):
    (tmp_path / "q.tsv").write_text(text)
    with pytest.raises(ConfigError, match=r"q\.tsv, line \d: a judgement is"):
        read_judgements(tmp_path / "q.tsv")


def test_questions_are_read_and_wrong_lines_named(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"_id": 7, "text": "frogs"}\n\n{"id": "b", "query": "cats"}\n')
    assert read_questions(path) == [Question("7", "frogs"), Question("b", "cats")]
    for line in ("[]", "{", '{"_id": "1"}'):
        path.write_text(f'{{"_id": 7, "text": "frogs"}}\n{line}\n')
        with pytest.raises(ConfigError, match=r"q\.jsonl, line 2"):
            read_questions(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_questions(tmp_path / "absent")


def test_a_corpus_is_measured_per_side_and_fused(project, embedders):
    questions = [
        Question("1", "frog giving birth to tadpoles"),
        Question("2", "sleeping pets"),
        Question("3", "nobody judged this"),
    ]
    questions.append(Question("cats.md", "A cat sleeps for most of the day."))
    judgements = {"1": {"frogs": 1}, "2": {"cats.md": 2}, "cats.md": {"frogs": 1}, "9": {"x": 1}}
    with Searcher(project, embedders) as searcher:
        evaluation = evaluate_corpus(searcher, "animals", questions, judgements)
        with pytest.raises(ConfigError, match="belong together"):
            evaluate_corpus(searcher, "animals", questions, {"9": {"x": 1}})
    assert [scores.side for scores in evaluation.sides] == ["bm25", "dense", "hybrid"]
    hybrid = evaluation.side("hybrid")
    assert (hybrid.ndcg_at_10, hybrid.recall_at_100, hybrid.mrr, hybrid.questions) == (1.0, 1.0, 1.0, 3)
    assert 0 < hybrid.latency_ms_p50 <= hybrid.latency_ms_p95
    assert evaluation.to_json()["sides"][2]["ndcg_at_10"] == 1.0
    assert format_evaluation(evaluation).splitlines()[2].startswith("hybrid  nDCG@10 1.0000  recall@100 1.0000")
