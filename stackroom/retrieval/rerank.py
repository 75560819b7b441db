"""Scoring question and passage together with a cross-encoder. The model library is imported only when one is loaded."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from stackroom.errors import EmbeddingError
from stackroom.retrieval.document import DocumentLike

_Doc = TypeVar("_Doc", bound=DocumentLike)


class PairScorer(Protocol):
    """What a cross-encoder is used for."""

    def predict(self, sentences: list[tuple[str, str]], *, show_progress_bar: bool) -> Any:
        """Return one score per (question, passage) pair."""
        ...


def load_cross_encoder(model_name: str | None, *, allow_download: bool = False) -> PairScorer:
    """Load a sentence-transformers cross-encoder. Nothing is kept: load once and use it again.

    Args:
        model_name: a folder, or the name of a model.
        allow_download: permit fetching it from its hub; otherwise only what is on disk is used.

    Raises:
        ValueError: no name was given.
        ImportError: sentence-transformers is not installed.
        EmbeddingError: there is no such model on this machine, or it is not a cross-encoder.
    """
    if not model_name:
        raise ValueError("no cross-encoder was named; give a model folder or the name of a model")
    if not allow_download:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise ImportError("re-ranking needs sentence-transformers; install it with `make install`") from error
    try:
        model: PairScorer = CrossEncoder(str(model_name), local_files_only=not allow_download)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        where = "folder" if Path(model_name).is_dir() else "model"
        raise EmbeddingError(
            f"the cross-encoder {where} {model_name!r} cannot be loaded ({type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'no reason given'}); put the model on this machine and "
            "name its folder under `retrieval.cross_encoder`"
        ) from error
    return model


def pair_scores(query: str, texts: Sequence[str], model: PairScorer) -> list[float]:
    """Return the model's score of every text for a query.

    Raises:
        ValueError: the model gave another number of scores.
    """
    scores = [float(score) for score in model.predict([(query, text) for text in texts], show_progress_bar=False)]
    if len(scores) != len(texts):
        raise ValueError(f"the cross-encoder gave {len(scores)} scores for {len(texts)} texts")
    return scores


def cross_encoder_rerank(query: str, docs: Sequence[tuple[_Doc, float]], model: PairScorer) -> list[tuple[_Doc, float]]:
    """Return documents with the cross-encoder's scores, best first, equal ones in the given order.

    An empty list is returned without asking the model.

    Raises:
        ValueError: the model gave another number of scores than there are documents.
    """
    if not docs:
        return []
    scores = pair_scores(query, [document.page_content for document, _ in docs], model)
    ranked = [(document, score) for (document, _), score in zip(docs, scores, strict=True)]
    return sorted(ranked, key=lambda pair: -pair[1])
