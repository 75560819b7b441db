"""Making the keyword index of a corpus from the corpus files of its sources.

Nothing is tokenised. An unchanged set of corpus files is recognised by its fingerprint and skipped; of a changed one
only those are read that changed, and the rest is taken over from the version before. The index is replaced as a whole.
"""

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError
from stackroom.fingerprint import Fingerprint, fingerprint
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.carry import Carried, FormerVersion, SourceWriter, carried_or_read
from stackroom.stores.bm25.columns import ColumnWriter
from stackroom.stores.bm25.corpus import CorpusHeader, SourceCorpus, read_header
from stackroom.stores.bm25.postings import PostingsWriter
from stackroom.stores.bm25.rows import RowWriter
from stackroom.stores.bm25.versions import INDEX_SCHEMA, current_version, is_intact, make_version, read_meta
from stackroom.stores.file_memo import FileMemo

INDEX_VERSION = 2
"""Raised whenever the same corpus files would give another index."""

HEADERS_FILE = "headers.sqlite"
"""Beside the versions: what the headers of the corpus files say."""
_HEADER_KIND = "bm25_header/1"


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
        meta = {} if version is None else read_meta(version)
    except ArtefactError:
        return False
    return meta.get("analyser") == open_analyser(settings).identity and all(
        meta.get(key) == getattr(settings, key) for key in ("engine", "k1", "b", "heading_weight")
    )


def build_index(
    corpus_paths: Iterable[Path | str], folder: Path, settings: Bm25Settings, *, anew: bool = False
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
    headers = FileMemo(folder / HEADERS_FILE).values(_HEADER_KIND, map(str, corpus_paths), _header_values, anew=anew)
    found = sorted(
        ((CorpusHeader(ingredients={}, **header), path) for path, header in headers.items()),
        key=lambda pair: pair[0].source_id,
    )
    _check_headers(found, open_analyser(settings).identity)
    made_for = index_fingerprint([header for header, _ in found], settings)
    version = current_version(folder)
    built = anew or version is None or _digest_of(version) != made_for.digest
    if version is None or built:
        former = None if anew or version is None else _former(version, settings)
        corpora = carried_or_read(found, former)
        version = make_version(
            folder, made_for.digest, lambda into: fill_index(into, corpora, settings, made_for), anew=anew
        )
    meta = read_meta(version)
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


def _check_headers(found: Sequence[tuple[CorpusHeader, str]], analyser: str) -> None:
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
        digest: str = read_meta(version)["fingerprint"]
    except (ArtefactError, KeyError):
        return None
    return digest


def _header_values(path: Path) -> dict[str, Any]:
    """Return what an index needs of a header."""
    header = read_header(path)
    return {name: getattr(header, name) for name in ("source_id", "fingerprint", "analyser", "chunks")}


def _former(version: Path, settings: Bm25Settings) -> FormerVersion | None:
    """Return the version in use if its rows can be taken over."""
    try:
        meta = read_meta(version)
        if meta["analyser"] != open_analyser(settings).identity or meta["heading_weight"] != settings.heading_weight:
            return None
        # Mapped files are read later, and damage in them may even end the process; so all of them are checked first.
        former = FormerVersion(version) if is_intact(version) else None
        return former if former is not None and former.is_usable() else None
    except (ArtefactError, KeyError, OSError, EOFError, ValueError):  # of another release, or damaged
        return None


def fill_index(
    folder: Path, corpora: Iterable[SourceCorpus | Carried], settings: Bm25Settings, made_for: Fingerprint
) -> dict[str, Any]:
    """Write the files of an index version into an empty folder and return what it says about itself.

    Args:
        folder: empty folder.
        corpora: the sources in the order their rows shall have, each held in memory only while it is written; or rows
            of a former version.
        settings: engine and parameters.
        made_for: fingerprint of the whole.
    """
    rows, columns = RowWriter(folder), ColumnWriter(folder)
    postings, sources = PostingsWriter(folder, settings.heading_weight), SourceWriter(folder)
    for corpus in corpora:
        if isinstance(corpus, Carried):
            rows.carry(corpus.former.rows, corpus.first, corpus.last)
            columns.carry(corpus.former.columns, corpus.first, corpus.last)
            postings.carry(corpus.former.terms, corpus.first, corpus.last)
            sources.add(corpus.headers)
        else:
            for writer in (rows, columns, postings):
                writer.add(corpus)
            sources.add([corpus.header])
    rows.close()
    columns.close()
    terms, occurrences = postings.close(settings.k1, settings.b)
    count_of_sources, count = sources.close()
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
        "sources": count_of_sources,
        "terms": terms,
        "occurrences": occurrences,
    }
