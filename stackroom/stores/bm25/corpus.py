"""One file per source: its chunks and their terms, as a pickle of plain types.

The file holds two pickles: a header (schema, fingerprint, analyser, source), which can be read alone, and a body. Both
consist of built-in containers, strings and numbers, and are read by a loader that refuses everything else. An index is
built from these files without tokenising anything again.
"""

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackroom.artefacts import MetadataValue, StoredRow
from stackroom.atomic import atomic_write
from stackroom.errors import ArtefactError
from stackroom.fingerprint import Fingerprint
from stackroom.stores.bm25.analyser import STOP_MARK, Analyser
from stackroom.stores.bm25.safe_pickle import read_pickles

CORPUS_SCHEMA = "stackroom.bm25_corpus/1"
_REMEDY = "materialize `bm25_corpus` for this file again"


@dataclass(frozen=True)
class CorpusReport:
    """What was written for a source."""

    chunks: int
    tokens: int
    """Terms counted with repeats, without stop words."""
    terms: int
    """Distinct terms, without stop words."""
    analyser: str


@dataclass(frozen=True)
class CorpusHeader:
    """What a corpus file says about itself."""

    source_id: str
    fingerprint: str
    ingredients: Mapping[str, Any]
    analyser: str
    chunks: int


@dataclass(frozen=True)
class SourceCorpus:
    """The chunks of a source and their terms.

    Term occurrences are three parallel arrays, ordered by chunk: ``term_ids`` (index into ``vocabulary``), ``counts``
    (in the body) and ``heading_counts``; those of chunk ``i`` end at ``row_ends[i]``.
    """

    header: CorpusHeader
    chunk_ids: list[str]
    texts: list[str]
    metadata: list[dict[str, MetadataValue]]
    vocabulary: list[str]
    term_ids: np.ndarray
    """(occurrences,) int32."""
    counts: np.ndarray
    """(occurrences,) int32."""
    heading_counts: np.ndarray
    """(occurrences,) int32."""
    row_ends: np.ndarray
    """(chunks,) int64."""


def write_corpus(
    path: Path,
    source_id: str,
    rows: Sequence[StoredRow],
    analyser: Analyser,
    made_for: Fingerprint,
    *,
    reuse: bool = False,
) -> CorpusReport:
    """Tokenise the chunks of a source and write them, atomically.

    Args:
        path: target file.
        source_id: the source the rows belong to.
        rows: its chunks in order; the headings that are indexed with a chunk are its ``headings`` metadata.
        analyser: makes the terms; its identity is stored.
        made_for: fingerprint the content was computed for.
        reuse: take the terms from the file that is there, if only other metadata changed than are tokenised.

    Raises:
        ArtefactError: a metadata value is not text, a number, a truth value or a list of texts.
    """
    body = (_with_known_terms(path, rows, analyser) if reuse else None) or tokenise_rows(rows, analyser)
    header = {
        "schema": CORPUS_SCHEMA,
        "fingerprint": made_for.digest,
        "ingredients": dict(made_for.ingredients),
        "source_id": source_id,
        "analyser": analyser.identity,
        "chunks": len(rows),
    }
    with atomic_write(path) as handle:
        pickle.dump(header, handle, protocol=4)
        pickle.dump(body, handle, protocol=4)
    stop = {number for number, term in enumerate(body["vocabulary"]) if term.startswith(STOP_MARK)}
    occurrences = zip(body["term_ids"], body["counts"], body["heading_counts"], strict=True)
    tokens = sum(count + heading for term, count, heading in occurrences if term not in stop)
    return CorpusReport(len(rows), tokens, len(body["vocabulary"]) - len(stop), analyser.identity)


def _with_known_terms(path: Path, rows: Sequence[StoredRow], analyser: Analyser) -> dict[str, Any] | None:
    """Return a body with the terms of an earlier file; None where texts, headings or analyser are not the same."""
    try:
        known = read_corpus(path)
    except ArtefactError:
        return None
    if known.header.analyser != analyser.identity or known.chunk_ids != [row.chunk_id for row in rows]:
        return None
    headings = [metadata.get("headings") for metadata in known.metadata]
    if known.texts != [row.text for row in rows] or headings != [row.metadata.get("headings") for row in rows]:
        return None
    return {
        **_untokenised(rows),
        "vocabulary": known.vocabulary,
        "term_ids": known.term_ids.tolist(),
        "counts": known.counts.tolist(),
        "heading_counts": known.heading_counts.tolist(),
        "row_ends": known.row_ends.tolist(),
    }


def tokenise_rows(rows: Sequence[StoredRow], analyser: Analyser, headings: bool = True) -> dict[str, Any]:
    """Return the body of a corpus file for some rows.

    Args:
        rows: chunks in order.
        analyser: makes the terms.
        headings: index the ``headings`` metadata; False where the text already begins with them.

    Raises:
        ArtefactError: a metadata value is of a type that cannot be stored.
    """
    numbers: dict[str, int] = {}
    term_ids: list[int] = []
    counts: list[int] = []
    heading_counts: list[int] = []
    row_ends: list[int] = []
    for row in rows:
        chain = row.metadata.get("headings") if headings else None
        above = Counter(analyser.all_tokens("\n".join(chain)) if isinstance(chain, list) else ())
        inside = Counter(analyser.all_tokens(row.text))
        for term in inside | above:
            term_ids.append(numbers.setdefault(term, len(numbers)))
            counts.append(inside[term])
            heading_counts.append(above[term])
        row_ends.append(len(term_ids))
    return {
        **_untokenised(rows),
        "vocabulary": list(numbers),
        "term_ids": term_ids,
        "counts": counts,
        "heading_counts": heading_counts,
        "row_ends": row_ends,
    }


def _untokenised(rows: Sequence[StoredRow]) -> dict[str, Any]:
    return {
        "chunk_ids": [str(row.chunk_id) for row in rows],
        "texts": [str(row.text) for row in rows],
        "metadata": [{str(key): _plain(key, value) for key, value in row.metadata.items()} for row in rows],
    }


def read_header(path: Path) -> CorpusHeader:
    """Read the header of a corpus file.

    Raises:
        UnsafePickleError: the file asks for a class or function; nothing was executed.
        ArtefactError: it is missing, damaged, or not a corpus file of this version.
    """
    return _header(path, next(read_pickles(path, most=1), None))


def corpus_fingerprint(path: Path) -> str | None:
    """Return the fingerprint a corpus file was made for; None when it has to be made (again)."""
    try:
        return read_header(path).fingerprint
    except ArtefactError:
        return None


def read_corpus(path: Path) -> SourceCorpus:
    """Read a corpus file; nothing in it is ever executed.

    Raises:
        UnsafePickleError: the file asks for a class or function; nothing was executed.
        ArtefactError: it is missing, damaged, or not a corpus file of this version.
    """
    objects = list(read_pickles(path, most=2))
    header = _header(path, objects[0] if objects else None)
    try:
        return corpus_of_body(header, objects[1])
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise ArtefactError(f"{path} is damaged ({error}); {_REMEDY}") from error


def corpus_of_body(header: CorpusHeader, body: dict[str, Any]) -> SourceCorpus:
    """Return a body as :func:`tokenise_rows` makes it, checked, with arrays.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: the body is not one.
    """
    corpus = SourceCorpus(
        header=header,
        chunk_ids=_texts(body["chunk_ids"]),
        texts=_texts(body["texts"]),
        metadata=[{str(key): _plain(key, value) for key, value in entry.items()} for entry in body["metadata"]],
        vocabulary=_texts(body["vocabulary"]),
        term_ids=np.array(body["term_ids"], dtype=np.int32),
        counts=np.array(body["counts"], dtype=np.int32),
        heading_counts=np.array(body["heading_counts"], dtype=np.int32),
        row_ends=np.array(body["row_ends"], dtype=np.int64),
    )
    sizes = {len(corpus.chunk_ids), len(corpus.texts), len(corpus.metadata), len(corpus.row_ends), header.chunks}
    occurrences = {corpus.term_ids.shape, corpus.counts.shape, corpus.heading_counts.shape}
    if len(sizes) != 1 or len(occurrences) != 1:
        raise ValueError("its lists are of different lengths")
    starts = np.concatenate(([0], corpus.row_ends))
    if np.any(np.diff(starts) < 0) or starts[-1] != corpus.term_ids.size:
        raise ValueError("its chunk boundaries are out of order")
    if corpus.term_ids.size and not 0 <= corpus.term_ids.min() <= corpus.term_ids.max() < len(corpus.vocabulary):
        raise ValueError("it refers to terms it does not list")
    return corpus


def _header(path: Path, value: Any) -> CorpusHeader:
    if not isinstance(value, dict) or value.get("schema") != CORPUS_SCHEMA:
        raise ArtefactError(f"{path} is not a keyword corpus of this version; {_REMEDY}")
    try:
        return CorpusHeader(
            source_id=str(value["source_id"]),
            fingerprint=str(value["fingerprint"]),
            ingredients=dict(value["ingredients"]),
            analyser=str(value["analyser"]),
            chunks=int(value["chunks"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArtefactError(f"{path} is damaged ({error}); {_REMEDY}") from error


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a list of texts was expected")
    return values


def _plain(key: str, value: Any) -> MetadataValue:
    """Return a metadata value as an exact built-in type (an enumeration member would pickle as a class)."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return [str.__str__(item) for item in value]
    raise ArtefactError(
        f"metadata key {key!r} holds a {type(value).__name__}; a store keeps text, numbers, truth values and lists of "
        "texts"
    )
