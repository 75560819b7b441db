"""Hybrid search over record collections; all that it needs is on disk, so a process that only asks is hybrid as well.

Dense and keyword rankings are fused by reciprocal rank under weights. Filters hold inside both sides, before anything
is cut. Equal scores are ordered by record id. Over several types the rankings of a side are merged by their scores
first (cosines of one model; BM25 scores of one analyser), so that the best record of a type that has nothing to say
does not stand beside the best record of all.
"""

import logging
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import numpy as np

from stackroom.config import Config
from stackroom.embedding import model_key
from stackroom.errors import RecordError
from stackroom.identity import text_hash
from stackroom.records.bench import RecordBenchSettings, index_folder, registry_path
from stackroom.records.naming import collection_name_for_doc_type, type_label
from stackroom.records.prepare import read_whole_records
from stackroom.records.query_filter import record_filter
from stackroom.records.record_file import STAGE as FILE_STAGE
from stackroom.records.registry import KnownCollection, Registry
from stackroom.retrieval.fusion import Fused, RankedList, Side, fuse
from stackroom.retrieval.search import checked_query
from stackroom.retrieval.sides import Embedders, Places, SideAnswer, StoreSides
from stackroom.stores.base import StoreHit
from stackroom.stores.bm25.versions import current_version

logger = logging.getLogger(__name__)

CANDIDATES = 100
"""Least number of records taken from each side before fusion."""
_REMEMBERED_QUERIES = 256


@dataclass(frozen=True)
class RecordHit:
    """A record found by a query."""

    record_id: str
    doc_type: str
    file: str
    text: str
    metadata: Mapping[str, Any]
    """Flat metadata, and ``_score``, ``_vector_score``, ``_bm25_available`` and ``_dense_available``."""
    score: float
    """Fused score; comparable within one result only."""
    similarity: float | None
    """Cosine, 1 = same; None where the dense side did not find the record."""
    ranks: Mapping[str, int | None]
    """Place in each side's ranking, from 1 (``dense``, ``bm25``)."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**vars(self), "metadata": dict(self.metadata), "ranks": dict(self.ranks)}


@dataclass(frozen=True)
class RecordResult:
    """Hits, best first, and what could not be searched."""

    hits: tuple[RecordHit, ...]
    warnings: tuple[str, ...] = field(default=())


class RecordSearcher:
    """Queries the collections of a record set. Stores and model are opened when first needed. Safe between threads."""

    def __init__(self, config: Config, record_set: str, embedders: Embedders | None = None) -> None:
        """Prepare to search.

        Args:
            config: the project's settings.
            record_set: name under ``records:``.
            embedders: models to share with others, who close them; by default models of its own.

        Raises:
            ConfigError: there is no such record set.
        """
        self._settings = RecordBenchSettings.of(config, record_set)
        self._embedders = embedders or Embedders()
        self._own_embedders = embedders is None
        self._registry = Registry(registry_path(self._settings.state))
        self._model = model_key(self._settings.records.embedder)
        self._sides: dict[str, StoreSides] = {}
        self._vectors: OrderedDict[str, dict[str, np.ndarray]] = OrderedDict()

    def doc_types(self) -> dict[str, int]:
        """Return the document types that were ingested, with the number of records now stored of each."""
        known = self._known()
        counts = self._registry.counts(self._settings.store_uri, [one.collection for one in known])
        return {one.doc_type: counts[one.collection] for one in known}

    def query_doc_type(
        self,
        doc_type: str,
        query_text: str,
        top_k: int = 8,
        filter_meta: Mapping[str, Any] | None = None,
        collection_name: str | None = None,
        hybrid_weight: float = 0.5,
    ) -> list[RecordHit]:
        """Return the best records of a document type.

        Args:
            doc_type: the type; trimmed and in capitals.
            query_text: what is looked for.
            top_k: most hits, at least 1.
            filter_meta: see :mod:`stackroom.records.query_filter`.
            collection_name: ask this collection instead of the one of the type; one that this record set has written.
            hybrid_weight: weight of the dense side, 0 to 1; the keyword side has the rest. A side of weight 0 is not
                asked.

        Raises:
            RecordError: the type (or collection) was never ingested, a number is out of bounds, or no side can answer.
            FilterError: the filter cannot be said in the filter language.
            QueryError: the query is empty.
        """
        known = self._collection(doc_type, collection_name)
        result = self._query([known], query_text, top_k, filter_meta, hybrid_weight, {})
        for warning in result.warnings:
            logger.warning("%s", warning)
        return list(result.hits)

    def query_doc_types(
        self,
        doc_types: Sequence[str] | None,
        query_text: str,
        top_k: int = 10,
        filter_meta: Mapping[str, Any] | None = None,
        hybrid_weight: float = 0.5,
        type_weights: Mapping[str, float] | None = None,
    ) -> RecordResult:
        """Return the best records of several document types in one ranking.

        Args:
            doc_types: the types; None for all that were ingested.
            query_text: what is looked for.
            top_k: most hits over all types.
            filter_meta: as for :meth:`query_doc_type`.
            hybrid_weight: as for :meth:`query_doc_type`.
            type_weights: factors for the fused scores by type; 1 where it is not given.

        Raises:
            RecordError: as for :meth:`query_doc_type`; also when nothing was ingested.
        """
        wanted = self._known() if doc_types is None else [self._collection(one, None) for one in doc_types]
        if not wanted:
            raise RecordError(f"record set {self._settings.name!r} holds nothing; run `stackroom records ingest` first")
        weights = {
            type_label(name): _weight(value, f"the weight of {name}") for name, value in (type_weights or {}).items()
        }
        return self._query(list(dict.fromkeys(wanted)), query_text, top_k, filter_meta, hybrid_weight, weights)

    def whole_records(self, hits: Sequence[RecordHit]) -> dict[str, dict[str, Any]]:
        """Return the whole records of some hits by record id, as they stand in their files."""
        artefacts = self._settings.state.artefacts(f"records__{self._settings.name}")
        found: dict[str, dict[str, Any]] = {}
        for file in {hit.file for hit in hits}:
            ids = [hit.record_id for hit in hits if hit.file == file]
            found.update(read_whole_records(artefacts.path(FILE_STAGE, file, "parquet"), ids))
        return found

    def close(self) -> None:
        """Close stores and models."""
        for sides in self._sides.values():
            sides.close()
        self._sides.clear()
        self._registry.close()
        if self._own_embedders:
            self._embedders.close()

    def __enter__(self) -> Self:
        """Return the searcher itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything."""
        self.close()

    def _known(self) -> list[KnownCollection]:
        found = self._registry.collections(self._settings.name, self._settings.store_uri)
        return [one for one in found if one.model == self._model]

    def _collection(self, doc_type: str, collection: str | None) -> KnownCollection:
        known = self._known()
        if collection is not None:
            named = self._registry.collections(self._settings.name, self._settings.store_uri)
            match = next((one for one in named if one.collection == collection), None)
            what = f"collection {collection!r}"
        else:
            match = next((one for one in known if one.label == type_label(doc_type)), None)
            what = f"document type {doc_type!r}"
        if match is None:
            there = ", ".join(one.doc_type for one in known) or "nothing yet"
            raise RecordError(f"{what} was never ingested into record set {self._settings.name!r}; there is: {there}")
        return match

    def _query(
        self,
        wanted: Sequence[KnownCollection],
        query_text: str,
        top_k: int,
        filter_meta: Mapping[str, Any] | None,
        hybrid_weight: float,
        type_weights: Mapping[str, float],
    ) -> RecordResult:
        weights: dict[Side, float] = {"dense": _weight(hybrid_weight, "hybrid_weight", most=1.0)}
        weights["bm25"] = 1.0 - weights["dense"]
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise RecordError(f"top_k is {top_k!r}; it must be a whole number of at least 1")
        query, where = checked_query(query_text), record_filter(filter_meta)
        depth = max(CANDIDATES, 4 * top_k)
        answers = {known.label: self._ask(known, query, depth, where, weights) for known in wanted}
        if not any(answer.problem is None for sides in answers.values() for answer in sides.values()):
            if not any(self._registry.counts(self._settings.store_uri, [one.collection for one in wanted]).values()):
                return RecordResult(())  # everything of these types was deleted again: not a fault
            problems = "; ".join(answer.problem or "" for sides in answers.values() for answer in sides.values())
            raise RecordError(f"nothing could be searched: {problems}")
        lists = [_merged(side, [sides[side] for sides in answers.values() if side in sides]) for side in weights]
        ranked = _ordered(fuse(lists, "rrf", hybrid_weight, weights), type_weights)
        available = {known.label: self._availability(known, answers[known.label]) for known in wanted}
        hits = tuple(_hit(entry, score, available[_label(entry.hit)]) for entry, score in ranked[:top_k])
        warnings = (answer.problem for sides in answers.values() for answer in sides.values())
        return RecordResult(hits, tuple(warning for warning in warnings if warning))

    def _ask(
        self,
        known: KnownCollection,
        query: str,
        depth: int,
        where: Mapping[str, Any] | None,
        weights: Mapping[Side, float],
    ) -> dict[Side, SideAnswer]:
        sides, answers = self._opened(known), dict[Side, SideAnswer]()
        if weights["dense"] > 0:
            answers["dense"] = sides.dense(query, depth, where, self._remembered(query))
        if weights["bm25"] > 0:
            answers["bm25"] = sides.keywords(query, depth, where)
        return answers

    def _opened(self, known: KnownCollection) -> StoreSides:
        if known.collection not in self._sides:
            folder = index_folder(self._settings.state, self._settings.name, known.label)
            places = Places(known.store, folder, known.collection)
            name = collection_name_for_doc_type(known.doc_type, self._settings.records.collection_prefix)
            embedder = self._settings.records.embedder
            self._sides[known.collection] = StoreSides(name, places, embedder, self._embedders)
        return self._sides[known.collection]

    def _remembered(self, query: str) -> dict[str, np.ndarray]:
        """Return the vectors of a query that are known already, by model; the sides add to it."""
        vectors = self._vectors.setdefault(text_hash(query), {})
        self._vectors.move_to_end(text_hash(query))
        while len(self._vectors) > _REMEMBERED_QUERIES:
            self._vectors.popitem(last=False)
        return vectors

    def _availability(self, known: KnownCollection, answers: Mapping[Side, SideAnswer]) -> dict[str, bool]:
        """Return whether each side can answer; one that was not asked counts as available if it was built."""
        folder = index_folder(self._settings.state, self._settings.name, known.label)
        bm25 = answers["bm25"].problem is None if "bm25" in answers else current_version(folder) is not None
        return {"_bm25_available": bm25, "_dense_available": "dense" not in answers or answers["dense"].problem is None}


def _merged(side: Side, answers: Sequence[SideAnswer]) -> RankedList:
    """Return the rankings of one side over several types as one, by score."""
    hits = [hit for answer in answers for hit in answer.ranked.hits]
    scale = answers[0].ranked.scale if answers else side
    return RankedList("", side, scale, sorted(hits, key=lambda hit: (-hit.score, str(hit.metadata["record_id"]))))


def _ordered(fused: Sequence[Fused], type_weights: Mapping[str, float]) -> list[tuple[Fused, float]]:
    scored = [(entry, entry.score * type_weights.get(_label(entry.hit), 1.0)) for entry in fused]
    return sorted(scored, key=lambda pair: (-pair[1], str(pair[0].hit.metadata["record_id"])))


def _hit(entry: Fused, score: float, available: Mapping[str, bool]) -> RecordHit:
    dense = entry.parts.get("dense")
    similarity = None if dense is None else dense.score
    metadata = {**entry.hit.metadata, "_score": score, "_vector_score": similarity, **available}
    return RecordHit(
        record_id=str(entry.hit.metadata["record_id"]),
        doc_type=str(entry.hit.metadata["doc_type"]),
        file=entry.hit.source_id,
        text=entry.hit.text,
        metadata=metadata,
        score=score,
        similarity=similarity,
        ranks={side: entry.parts[side].rank if side in entry.parts else None for side in ("dense", "bm25")},
    )


def _label(hit: StoreHit) -> str:
    return type_label(hit.metadata["doc_type"])


def _weight(value: Any, what: str, most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        bound = "a number from 0 to 1" if most == 1 else "a number of at least 0"
        raise RecordError(f"{what} is {value!r}; it must be {bound}")
    return float(value)
