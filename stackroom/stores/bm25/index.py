"""The keyword index of a corpus: built from the corpus files of its sources, opened memory-mapped, searched.

Building tokenises nothing and replaces the index as a whole; an unchanged set of corpus files is recognised by its
fingerprint and skipped. Filters are applied before ranking, never after cutting.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError, QueryError
from stackroom.fingerprint import Fingerprint, fingerprint
from stackroom.stores.base import StoreHit
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.columns import Columns, ColumnWriter
from stackroom.stores.bm25.corpus import CorpusHeader, SourceCorpus, read_corpus, read_header
from stackroom.stores.bm25.okapi import OkapiScores
from stackroom.stores.bm25.postings import Postings, PostingsWriter
from stackroom.stores.bm25.rows import Rows, RowWriter
from stackroom.stores.bm25.versions import current_version, make_version, read_meta
from stackroom.stores.filters import matches, validate_metadata_filter, with_shadow_fields

INDEX_SCHEMA = "stackroom.bm25_index/1"
INDEX_VERSION = 1
"""Raised whenever the same corpus files would give another index."""


@dataclass(frozen=True)
class IndexReport:
    """What building an index did."""

    rows: int
    sources: int
    terms: int
    occurrences: int
    fingerprint: str
    analyser: str
    built: bool
    """False when the index already was what was asked for."""
    seconds: float
    folder: Path
    """The version now in use."""


class _Scores(Protocol):
    def scores(self, terms: Mapping[str, float]) -> np.ndarray: ...


def index_fingerprint(headers: Sequence[CorpusHeader], settings: Bm25Settings) -> Fingerprint:
    """Return the fingerprint of the index over some corpus files, whatever their order."""
    lines = sorted(f"{header.source_id}\x00{header.fingerprint}\x00{header.chunks}" for header in headers)
    return fingerprint(
        "bm25_index",
        INDEX_VERSION,
        sources=len(lines),
        corpora=hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest(),
        analyser=open_analyser(settings).identity,
        engine=settings.engine,
        k1=settings.k1,
        b=settings.b,
        heading_weight=settings.heading_weight,
    )


def is_made_with(folder: Path, settings: Bm25Settings) -> bool:
    """Return whether there is an index made with these settings; a look at one small file."""
    try:
        version = current_version(folder)
        meta = {} if version is None else read_meta(version, INDEX_SCHEMA)
    except ArtefactError:
        return False
    return meta.get("analyser") == open_analyser(settings).identity and all(
        meta.get(key) == getattr(settings, key) for key in ("engine", "k1", "b", "heading_weight")
    )


def build_index(
    corpus_paths: Iterable[Path], folder: Path, settings: Bm25Settings, *, anew: bool = False
) -> IndexReport:
    """Make the index over all corpus files of a corpus, and put it in use once it is complete.

    Args:
        corpus_paths: the corpus files, in any order.
        folder: where the index lives; readers of the version in use are not disturbed.
        settings: engine and parameters.
        anew: make it even if there seems to be nothing to do, because what is there has been altered.

    Raises:
        ArtefactError: a corpus file is missing, damaged, refused, made with another analyser, or there twice for one
            source; the message names it, and the index in use stays as it is.
        StoreLockedError: another process is writing this index.
    """
    begin = time.perf_counter()
    found = sorted(((read_header(path), path) for path in corpus_paths), key=lambda pair: pair[0].source_id)
    headers = [header for header, _ in found]
    _check_headers(found, open_analyser(settings).identity)
    made_for = index_fingerprint(headers, settings)
    version = current_version(folder)
    built = anew or version is None or _digest_of(version) != made_for.digest
    if version is None or built:
        corpora = (read_corpus(path) for _, path in found)
        version = make_version(
            folder, made_for.digest, lambda into: fill_index(into, corpora, settings, made_for), anew=anew
        )
    meta = read_meta(version, INDEX_SCHEMA)
    return IndexReport(
        rows=meta["rows"],
        sources=meta["sources"],
        terms=meta["terms"],
        occurrences=meta["occurrences"],
        fingerprint=made_for.digest,
        analyser=meta["analyser"],
        built=built,
        seconds=time.perf_counter() - begin,
        folder=version,
    )


class KeywordIndex:
    """An opened index. Safe to share between threads; a version opened once stays readable when a newer one is made."""

    def __init__(self, version: Path) -> None:
        """Open a version of an index; use :func:`open_index`."""
        self.version = version
        self.meta = read_meta(version, INDEX_SCHEMA)
        self._analyser = open_analyser(Bm25Settings(language=self.meta["language"]))
        if self._analyser.identity != self.meta["analyser"]:
            raise ArtefactError(
                f"the keyword index {version} was made with the analyser {self.meta['analyser']!r}, and this is "
                f"{self._analyser.identity!r}; materialize `bm25_corpus` and `bm25_index` of the corpus again"
            )
        try:
            self._postings = Postings(version)
            self._rows = Rows(version)
            self._columns = Columns(version, len(self._rows), matches)
        except (OSError, EOFError, ValueError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise ArtefactError(
                f"the keyword index {version} is damaged ({error}); delete it and build it again"
            ) from error
        self._scores: _Scores = self._postings
        if self.meta["engine"] == "rank_bm25":
            self._scores = OkapiScores(self._postings, self.meta["k1"], self.meta["b"])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def fields(self) -> dict[str, str]:
        """Return the metadata fields of the rows with their kinds; see :meth:`Columns.kinds`."""
        return self._columns.kinds()

    def search(self, query: str, k: int, where: Mapping[str, Any] | None = None) -> list[StoreHit]:
        """Return the ``k`` best rows that hold a term of the query, best first; equal scores in the order of the rows.

        Args:
            query: words to look for.
            k: most hits wanted, at least 1.
            where: metadata filter; rows it does not match take no part in the ranking.

        Raises:
            QueryError: ``k`` is not a whole number above zero.
            FilterError: ``where`` is not a sentence of the filter language.
        """
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise QueryError(f"k is {k!r}; it must be a whole number of at least 1")
        scores = self._row_scores(query, where)
        return [self._rows.hit(row, float(scores[row])) for row in _best(scores, k)]

    def scores_of(self, query: str, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the scores of some chunks (0 without any term of the query); unknown chunks are left out."""
        scores = self._row_scores(query, None)
        found = ((chunk, self._rows.find(chunk)) for chunk in chunk_ids)
        return {chunk: float(scores[row]) for chunk, row in found if row is not None}

    def get(self, chunk_id: str) -> StoreHit | None:
        """Return a row by its chunk id, with score 0."""
        row = self._rows.find(chunk_id)
        return None if row is None else self._rows.hit(row, 0.0)

    def neighbours(self, chunk_id: str, each_side: int) -> list[StoreHit]:
        """Return the chunks just before and after a chunk in its source, in reading order, without the chunk itself."""
        row = self._rows.find(chunk_id)
        if row is None:
            return []
        source = self._rows.source_of(row)
        near = range(max(0, row - each_side), min(len(self._rows), row + each_side + 1))
        return [self._rows.hit(other, 0.0) for other in near if other != row and self._rows.source_of(other) == source]

    def close(self) -> None:
        """Nothing to do: the files are mapped, and unmapped with the object."""

    def _row_scores(self, query: str, where: Mapping[str, Any] | None) -> np.ndarray:
        mask = None if not where else self._columns.mask(with_shadow_fields(validate_metadata_filter(dict(where))))
        scores = self._scores.scores(Counter(self._analyser.query_tokens(query)))
        return scores if mask is None else np.where(mask, scores, 0)


def open_index(folder: Path) -> KeywordIndex:
    """Open the version of an index that is in use.

    Raises:
        ArtefactError: there is no index, it is damaged, or it was made with another analyser.
    """
    for _ in range(3):  # a version may be replaced twice between reading the pointer and opening its files
        version = current_version(folder)
        if version is None:
            raise ArtefactError(f"there is no keyword index in {folder}; materialize `bm25_index` of the corpus")
        try:
            return KeywordIndex(version)
        except FileNotFoundError as error:
            missing = error
    raise ArtefactError(f"the keyword index {version} is incomplete ({missing.filename}); delete it and build it again")


def _check_headers(found: Sequence[tuple[CorpusHeader, Path]], analyser: str) -> None:
    previous: str | None = None
    for header, path in found:
        if header.analyser != analyser:
            raise ArtefactError(
                f"{path} was made with the analyser {header.analyser!r}, and the index needs {analyser!r}; "
                "materialize `bm25_corpus` for this file again"
            )
        if header.source_id == previous:
            raise ArtefactError(f"{path} is a second corpus file of {header.source_id!r}; delete one of the two")
        previous = header.source_id


def _digest_of(version: Path) -> str | None:
    try:
        digest: str = read_meta(version, INDEX_SCHEMA)["fingerprint"]
    except (ArtefactError, KeyError):
        return None
    return digest


def fill_index(
    folder: Path, corpora: Iterable[SourceCorpus], settings: Bm25Settings, made_for: Fingerprint
) -> dict[str, Any]:
    """Write the files of an index version into an empty folder and return what it says about itself.

    Args:
        folder: empty folder.
        corpora: the sources in the order their rows shall have; each is held in memory only while it is written.
        settings: engine and parameters.
        made_for: fingerprint of the whole.
    """
    rows, columns = RowWriter(folder), ColumnWriter(folder)
    postings = PostingsWriter(folder, settings.heading_weight)
    sources = count = 0
    for corpus in corpora:
        for writer in (rows, columns, postings):
            writer.add(corpus)
        sources += 1
        count += len(corpus.chunk_ids)
    rows.close()
    columns.close()
    terms, occurrences = postings.close(settings.k1, settings.b)
    return {
        "schema": INDEX_SCHEMA,
        "fingerprint": made_for.digest,
        "ingredients": dict(made_for.ingredients),
        "engine": settings.engine,
        "language": settings.language,
        "k1": settings.k1,
        "b": settings.b,
        "heading_weight": settings.heading_weight,
        "analyser": open_analyser(settings).identity,
        "rows": count,
        "sources": sources,
        "terms": terms,
        "occurrences": occurrences,
    }


def _best(scores: np.ndarray, k: int) -> list[int]:
    """Return the places of the ``k`` highest scores above zero, highest first, equal ones in ascending place."""
    found = np.flatnonzero(scores > 0)
    if found.size > k:
        bar = np.partition(scores[found], found.size - k)[found.size - k]
        above, at = found[scores[found] > bar], found[scores[found] == bar]
        found = np.concatenate((above, at[: k - above.size]))
    order = np.lexsort((found, -scores[found]))
    return [int(row) for row in found[order]]
