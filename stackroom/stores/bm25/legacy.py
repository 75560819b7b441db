"""Keyword corpora written by Klea: consecutive pickles until the end of the file, each a list of LangChain Documents.

Exactly that one class is stood in for, by a class of ours that only keeps text and metadata; LangChain itself is never
imported, and any other class or any call in the file is refused.
"""

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from stackroom.artefacts import MetadataValue, StoredRow
from stackroom.config import Bm25Settings
from stackroom.errors import ArtefactError
from stackroom.fingerprint import fingerprint
from stackroom.identity import chunk_id
from stackroom.stores.bm25.analyser import open_analyser
from stackroom.stores.bm25.build import fill_index
from stackroom.stores.bm25.corpus import CorpusHeader, SourceCorpus, corpus_of_body, tokenise_rows
from stackroom.stores.bm25.index import KeywordIndex
from stackroom.stores.bm25.safe_pickle import read_pickles, refuse_calls
from stackroom.stores.bm25.versions import make_version


class _Document:
    """Stands in for ``langchain_core.documents.base.Document``."""

    page_content: str
    metadata: dict[str, Any]

    def __setstate__(self, state: Any) -> None:
        fields = state.get("__dict__") if isinstance(state, dict) else None
        if not isinstance(fields, dict):
            raise TypeError("a document without fields")
        content, metadata = fields.get("page_content"), fields.get("metadata")
        if not isinstance(content, str) or not isinstance(metadata, dict):
            raise TypeError("a document whose page_content is not text or whose metadata is not a mapping")
        self.page_content = content
        self.metadata = metadata


_ALLOWED = {("langchain_core.documents.base", "Document"): _Document}


def read_legacy_corpus(path: Path, corpus: str) -> dict[str, list[StoredRow]]:
    """Read a corpus of LangChain documents.

    Args:
        path: the file.
        corpus: name the chunk ids are derived from.

    Returns:
        File name (the documents' ``file_name``, else the empty text) to its rows in the order of the file. The text
        of a row already begins with its headings.

    Raises:
        UnsafePickleError: the file asks for anything but that one class; nothing was executed.
        ArtefactError: it is missing, damaged, or holds something else than lists of documents.
    """
    refuse_calls(path)
    rows: dict[str, list[StoredRow]] = {}
    for batch in read_pickles(path, allowed=_ALLOWED):
        if not isinstance(batch, list):
            raise ArtefactError(f"{path} holds a {type(batch).__name__} where a list of documents was expected")
        for document in batch:
            if not isinstance(document, _Document) or not hasattr(document, "page_content"):
                raise ArtefactError(f"{path} holds a {type(document).__name__} where a document was expected")
            name = document.metadata.get("file_name")
            source = name if isinstance(name, str) else ""
            mine = rows.setdefault(source, [])
            mine.append(
                StoredRow(
                    chunk_id=chunk_id(corpus, source, len(mine)),
                    source_id=source,
                    text=document.page_content,
                    metadata=_storable(document.metadata),
                )
            )
    return rows


def open_legacy_index(path: Path, corpus: str, settings: Bm25Settings) -> KeywordIndex:
    """Index a corpus of LangChain documents and open the index; its files vanish with the object.

    Tokenising takes about 0.3 ms a document. To have the corpus open at once, ingest its documents instead.

    Args:
        path: the file.
        corpus: name the chunk ids are derived from.
        settings: engine and parameters.

    Raises:
        UnsafePickleError: the file asks for anything but documents; nothing was executed.
        ArtefactError: it is missing, damaged, or holds something else than lists of documents.
    """
    analyser = open_analyser(settings)
    corpora = []
    for source, rows in read_legacy_corpus(path, corpus).items():
        header = CorpusHeader(source, "", {}, analyser.identity, len(rows))
        corpora.append(_corpus(path, header, tokenise_rows(rows, analyser, headings=False)))
    made_for = fingerprint("legacy_index", 1, content=hashlib.sha256(path.read_bytes()).hexdigest())
    # Mapped files stay readable after their folder is deleted (POSIX), and their space is given back at the end.
    with tempfile.TemporaryDirectory(prefix="stackroom-keywords-") as folder:
        version = make_version(
            Path(folder), made_for.digest, lambda into: fill_index(into, corpora, settings, made_for)
        )
        return KeywordIndex(version)


def _corpus(path: Path, header: CorpusHeader, body: dict[str, Any]) -> SourceCorpus:
    try:
        return corpus_of_body(header, body)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ArtefactError(f"{path} cannot be indexed: {error}") from error


def _storable(metadata: dict[Any, Any]) -> dict[str, MetadataValue]:
    """Keep what a store can keep; None and empty lists are dropped, anything else becomes its text."""
    kept: dict[str, MetadataValue] = {}
    for key, value in metadata.items():
        if value is None or value == []:
            continue
        if isinstance(value, (str, int, float)):
            kept[str(key)] = value
        elif isinstance(value, list):
            kept[str(key)] = [item if isinstance(item, str) else str(item) for item in value]
        else:
            kept[str(key)] = str(value)
    return kept
