"""Measuring a corpus by files of questions and judgements: those of its settings, or others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.config import Config
from stackroom.errors import ConfigError
from stackroom.retrieval.evaluation import Evaluation, evaluate_corpus, read_judgements, read_questions
from stackroom.retrieval.search import Searcher


@dataclass(frozen=True)
class QualityReport:
    """How well a corpus is searched, and whether that is enough."""

    corpus: str
    evaluation: Evaluation
    min_ndcg: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the fused ranking reaches what is asked of it; true where nothing is asked."""
        return self.min_ndcg is None or self.evaluation.side("hybrid").ndcg_at_10 >= self.min_ndcg

    @property
    def in_words(self) -> str:
        """One sentence with the verdict."""
        reached = self.evaluation.side("hybrid").ndcg_at_10
        if self.min_ndcg is None:
            return f"nDCG@10 is {reached:.3f}"
        return f"nDCG@10 is {reached:.3f}, asked for is {self.min_ndcg:.3f}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"corpus": self.corpus, **self.evaluation.to_json(), "min_ndcg": self.min_ndcg, "passed": self.passed}


def measure(
    config: Config,
    corpus: str,
    queries: Path | None = None,
    qrels: Path | None = None,
    searcher: Searcher | None = None,
) -> QualityReport:
    """Ask a corpus the questions of two files and compare what it finds with the judgements.

    Args:
        config: the project's settings.
        corpus: the corpus.
        queries: questions (default: those of the corpus's settings).
        qrels: judgements (default: those of the corpus's settings).
        searcher: an open searcher to use (default: one of its own).

    Raises:
        ConfigError: there is no such corpus, no files are given or set, or they cannot be used.
    """
    settings = config.corpus(corpus).evaluation
    if (queries is None or qrels is None) and settings is None:
        raise ConfigError(
            f"there are no questions for {corpus}: give --queries and --qrels, or set corpora.{corpus}.evaluation"
        )
    if settings is not None:
        queries = queries or config.project_folder / settings.queries
        qrels = qrels or config.project_folder / settings.qrels
    assert queries is not None  # noqa: S101 - given, or taken from the settings
    assert qrels is not None  # noqa: S101
    questions, judgements = read_questions(queries), read_judgements(qrels)
    least = settings.min_ndcg if settings is not None else None
    if searcher is not None:
        return QualityReport(corpus, evaluate_corpus(searcher, corpus, questions, judgements), least)
    with Searcher(config) as own:
        return QualityReport(corpus, evaluate_corpus(own, corpus, questions, judgements), least)
