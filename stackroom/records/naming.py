"""Names around record collections: document types, collections, chunk ids, and the corpus that stands for a record set.

A *record set* is an entry under ``records:`` in ``stackroom.yaml``. In the ledger, the partitions and the state folder
it goes by :func:`corpus_of`, which no corpus of documents can have.
"""

import hashlib
import re

from stackroom.identity import chunk_id
from stackroom.records.flatten import normalize_doc_type
from stackroom.stores.naming import collection_name

CORPUS_PREFIX = "records__"
_LONGEST_LABEL = 40
_LABEL = re.compile(r"[A-Z0-9]([A-Z0-9_-]*[A-Z0-9])?")


def corpus_of(record_set: str) -> str:
    """Return the name under which a record set stands in ledger, partitions and state folder."""
    return f"{CORPUS_PREFIX}{record_set}"


def type_label(doc_type: object) -> str:
    """Return a document type as it stands in names: capitals, ``/`` and blanks as ``_``.

    Types that hold anything else, or are too long, are told apart by a hash.
    """
    plain = re.sub(r"[/\s]", "_", normalize_doc_type(doc_type))
    if _LABEL.fullmatch(plain) and len(plain) <= _LONGEST_LABEL:
        return plain
    slug = re.sub(r"[^A-Z0-9_-]+", "-", plain)[: _LONGEST_LABEL - 9].strip("-_") or "TYPE"
    return f"{slug}-{hashlib.sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def collection_name_for_doc_type(doc_type: object, prefix: str = "processed") -> str:
    """Return ``<prefix>_<TYPE>``: the name of a type's collection without the model."""
    return f"{prefix}_{type_label(doc_type)}"


def record_collection_name(doc_type: object, prefix: str, model_key: str) -> str:
    """Return the name of the collection that holds the records of a type under an embedding model."""
    return collection_name(collection_name_for_doc_type(doc_type, prefix), model_key)


def record_chunk_id(record_set: str, file: str, record_id: str) -> str:
    """Return the id of a record's row; two files that hold the same record have two ids."""
    return chunk_id(corpus_of(record_set), f"{file}\x00{record_id}", 0)
