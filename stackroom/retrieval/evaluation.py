"""How well search finds what is known to be right: nDCG@10, recall@100 and reciprocal rank, per side and fused.

Questions and judgements are those of the common test collections (JSON lines, tab-separated judgements). What is judged
are sources; a ranking of chunks counts each source once, at its best chunk.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from stackroom.errors import ConfigError
from stackroom.retrieval.pipeline import rank
from stackroom.retrieval.search import Searcher, checked_query
from stackroom.words import count

GAIN_DEPTH = 10
RECALL_DEPTH = 100
_CHUNK_DEPTH = 3 * RECALL_DEPTH
"""Chunks asked of a side when it is measured alone, so that they come from enough sources."""
SIDE_NAMES = ("bm25", "dense", "hybrid")

Judgements = Mapping[str, Mapping[str, int]]
"""Question id to judged document id to grade; above 0 means relevant."""


@dataclass(frozen=True)
class Question:
    """A question of a test collection."""

    question_id: str
    text: str


@dataclass(frozen=True)
class SideScores:
    """How one side did over all questions."""

    side: str
    ndcg_at_10: float
    recall_at_100: float
    mrr: float
    """Mean reciprocal rank of the first relevant source, within the first 100."""
    questions: int
    latency_ms_p50: float
    latency_ms_p95: float


@dataclass(frozen=True)
class Evaluation:
    """How each side and the fused ranking did."""

    sides: tuple[SideScores, ...]
    warnings: tuple[str, ...] = ()

    def side(self, name: str) -> SideScores:
        """Return the scores of ``bm25``, ``dense`` or ``hybrid``."""
        return next(scores for scores in self.sides if scores.side == name)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"sides": [dict(vars(scores)) for scores in self.sides], "warnings": list(self.warnings)}


def read_questions(path: Path) -> list[Question]:
    """Read questions: one JSON object a line, with ``_id`` (or ``id``) and ``text`` (or ``query``).

    Raises:
        ConfigError: the file cannot be read, or a line is not a question; the line is named.
    """
    questions = []
    for number, line in _lines(path):
        try:
            entry = json.loads(line)
            identity = entry.get("_id", entry.get("id"))
            text = entry.get("text", entry.get("query"))
        except (ValueError, AttributeError) as error:
            raise ConfigError(f"{path}, line {number}: not a JSON object ({error})") from error
        if identity is None or not isinstance(text, str):
            raise ConfigError(f'{path}, line {number}: a question needs "_id" and "text"')
        questions.append(Question(str(identity), text))
    return questions


def read_judgements(path: Path) -> dict[str, dict[str, int]]:
    """Read judgements: question, document and grade, tab-separated, with or without a header line.

    The four-column form of TREC (question, 0, document, grade; separated by blanks) is read as well.

    Raises:
        ConfigError: the file cannot be read, or a line is not a judgement; the line is named.
    """
    judgements: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = line.split("\t") if "\t" in line else line.split()
        if len(cells) == 4:
            cells = [cells[0], *cells[2:]]
        grade = _grade(cells[2]) if len(cells) == 3 else None
        if grade is None:
            if number == 1 and len(cells) == 3:
                continue  # the header
            raise ConfigError(f"{path}, line {number}: a judgement is question, document and a number; got {line!r}")
        judgements.setdefault(cells[0].strip(), {})[cells[1].strip()] = grade
    return judgements


def ndcg(found: Sequence[str], judged: Mapping[str, int], depth: int = GAIN_DEPTH) -> float:
    """Return the normalised discounted cumulative gain of a ranking of documents, with linear gains.

    Args:
        found: document ids, best first, each once.
        judged: document id to grade; what is not judged, or below 0, gains nothing.
        depth: places that count.
    """
    gains = [max(0, judged.get(document, 0)) for document in found[:depth]]
    ideal = sorted((max(0, grade) for grade in judged.values()), reverse=True)[:depth]
    best = _discounted(ideal)
    return _discounted(gains) / best if best else 0.0


def recall(found: Sequence[str], judged: Mapping[str, int], depth: int = RECALL_DEPTH) -> float:
    """Return the share of relevant documents among the first ``depth``."""
    relevant = {document for document, grade in judged.items() if grade > 0}
    return len(relevant & set(found[:depth])) / len(relevant) if relevant else 0.0


def reciprocal_rank(found: Sequence[str], judged: Mapping[str, int], depth: int = RECALL_DEPTH) -> float:
    """Return 1 / place of the first relevant document; 0 when none is among the first ``depth``."""
    for place, document in enumerate(found[:depth], start=1):
        if judged.get(document, 0) > 0:
            return 1 / place
    return 0.0


def evaluate_corpus(
    searcher: Searcher, corpus: str, questions: Sequence[Question], judgements: Judgements
) -> Evaluation:
    """Ask every judged question of a corpus, of each side alone and of both with the corpus's own settings.

    A judged document is a source: its ``source_id``, file name, or file name without suffix. Questions without a
    relevant document are left out, and so is a document with the id of the question, unless it is judged: in some
    collections the questions are documents.

    Args:
        searcher: an open searcher.
        corpus: name of the corpus.
        questions: the questions.
        judgements: what is relevant to them.

    Raises:
        ConfigError: there is no such corpus, or no question has a relevant document.
    """
    judged = [
        question for question in questions if any(g > 0 for g in judgements.get(question.question_id, {}).values())
    ]
    if not judged:
        raise ConfigError("no question has a relevant document; do the two files belong together?")
    names = {document for grades in judgements.values() for document in grades}
    rankings: dict[str, list[list[str]]] = {side: [] for side in SIDE_NAMES}
    times: dict[str, list[float]] = {side: [] for side in SIDE_NAMES}
    warnings: dict[str, None] = {}
    _Answer(searcher, corpus, judged[0].text)  # opens stores and model, which no latency shall include
    for question in judged:
        answer = _Answer(searcher, corpus, question.text)
        warnings.update(dict.fromkeys(answer.warnings))
        for side in SIDE_NAMES:
            found = _documents(answer.sources[side], names)
            rankings[side].append(_without_itself(found, question, judgements[question.question_id]))
            times[side].append(answer.seconds[side])
    grades = [judgements[question.question_id] for question in judged]
    return Evaluation(tuple(_scores(side, rankings[side], grades, times[side]) for side in SIDE_NAMES), tuple(warnings))


def format_evaluation(evaluation: Evaluation) -> str:
    """Return one line per side."""
    lines = [
        f"{scores.side:<7} nDCG@10 {scores.ndcg_at_10:.4f}  recall@100 {scores.recall_at_100:.4f}  "
        f"MRR {scores.mrr:.4f}  latency p50 {scores.latency_ms_p50:.1f} ms, p95 {scores.latency_ms_p95:.1f} ms  "
        f"({count(scores.questions, 'question')})"
        for scores in evaluation.sides
    ]
    return "\n".join([*lines, *(f"warning: {warning}" for warning in evaluation.warnings)])


class _Answer:
    """What each side and the fused ranking answer to one question, as source ids, with the time each took."""

    def __init__(self, searcher: Searcher, corpus: str, text: str) -> None:
        query = checked_query(text)
        sides = searcher.sides(corpus)
        settings = sides.settings.retrieval
        depth = max(settings.candidates, _CHUNK_DEPTH)
        vectors: dict[str, np.ndarray] = {}
        keywords, keyword_seconds = _timed(lambda: sides.keywords(query, depth, None))
        dense, dense_seconds = _timed(lambda: sides.dense(query, depth, None, vectors))
        lists = [keywords.ranked.cut(settings.candidates), dense.ranked.cut(settings.candidates)]
        fused, fusion_seconds = _timed(lambda: rank(lists, settings, query, _CHUNK_DEPTH))
        self.warnings = [answer.problem for answer in (keywords, dense) if answer.problem]
        self.sources = {
            "bm25": [hit.source_id for hit in keywords.ranked.hits],
            "dense": [hit.source_id for hit in dense.ranked.hits],
            "hybrid": [entry.fused.hit.source_id for entry in fused],
        }
        self.seconds = {
            "bm25": keyword_seconds,
            "dense": dense_seconds,
            "hybrid": keyword_seconds + dense_seconds + fusion_seconds,
        }


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def _documents(sources: Iterable[str], names: set[str]) -> list[str]:
    """Return each source once, under the name by which it is judged."""
    return list(dict.fromkeys(_judged_name(source, names) for source in sources))


def _without_itself(found: Sequence[str], question: Question, judged: Mapping[str, int]) -> list[str]:
    return [name for name in found if name != question.question_id or name in judged]


def _judged_name(source: str, names: set[str]) -> str:
    path = PurePosixPath(source)
    return next((name for name in (source, path.name, path.stem) if name in names), source)


def _scores(
    side: str, rankings: Sequence[Sequence[str]], grades: Sequence[Mapping[str, int]], seconds: Sequence[float]
) -> SideScores:
    pairs = list(zip(rankings, grades, strict=True))
    milliseconds = np.array(seconds) * 1000
    return SideScores(
        side=side,
        ndcg_at_10=float(np.mean([ndcg(found, judged) for found, judged in pairs])),
        recall_at_100=float(np.mean([recall(found, judged) for found, judged in pairs])),
        mrr=float(np.mean([reciprocal_rank(found, judged) for found, judged in pairs])),
        questions=len(pairs),
        latency_ms_p50=float(np.percentile(milliseconds, 50)),
        latency_ms_p95=float(np.percentile(milliseconds, 95)),
    )


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def _grade(cell: str) -> int | None:
    try:
        return round(float(cell))
    except ValueError:
        return None


def _lines(path: Path) -> list[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
