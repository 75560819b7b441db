"""Reference material for an answering model: cut to a budget of characters, and written out as text."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from stackroom.retrieval.document import DocumentLike
from stackroom.retrieval.ranking import SOURCE_SCORES_KEY
from stackroom.stores.metadata import DOCUMENT_KEYS, display_metadata

REF_DOC_OVERHEAD = 200
"""Characters of markup counted for every document beside its text."""

_HIDDEN = frozenset(
    {
        "file_name",
        "file_hash",
        "headings",
        "source_id",
        "chunk_index",
        "readable_id",
        "kind",
        SOURCE_SCORES_KEY,
        "_metadata_complete",
        "_sources",
    }
)
_Doc = TypeVar("_Doc", bound=DocumentLike)


def truncate_reference_material(
    reference_material: Mapping[str, Sequence[tuple[_Doc, float]]], max_chars: int
) -> dict[str, list[tuple[_Doc, float]]]:
    """Take the best of every domain in turn until the budget is used up.

    A document counts its text and :data:`REF_DOC_OVERHEAD`. The first one that does not fit is still taken, so that one
    long document never leaves nothing; after it the budget is spent.

    Args:
        reference_material: domain to (document, score) pairs, best first.
        max_chars: budget over all domains.

    Returns:
        All domains in the given order, with what was taken.
    """
    taken: dict[str, list[tuple[_Doc, float]]] = {domain: [] for domain in reference_material}
    used = 0
    for place in range(max((len(found) for found in reference_material.values()), default=0)):
        for domain, found in reference_material.items():
            if place >= len(found):
                continue
            taken[domain].append(found[place])
            used += len(found[place][0].page_content) + REF_DOC_OVERHEAD
            if used > max_chars:
                return taken
    return taken


def serialize_reference_material(reference_material: Mapping[str, Sequence[tuple[DocumentLike, float]]]) -> str:
    """Write reference material as text: domains, their files by best chunk, and the chunks of each file.

    What all chunks of a file share stands once under the file; scores are not written.
    """
    parts = []
    for domain, found in reference_material.items():
        lines = [f"## {domain}"]
        files = _by_file(found)
        if files:
            lines.append("")
        for number, (name, documents) in enumerate(files, start=1):
            lines.extend(_file_lines(f"{number}/{len(files)}", name, documents))
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _by_file(found: Sequence[tuple[DocumentLike, float]]) -> list[tuple[str, list[DocumentLike]]]:
    """Group documents by file; files by their best score, chunks by score, equal ones in the given order.

    A file is known by its ``source_id`` where there is one: two files of one name in two folders stay two.
    """
    groups: dict[str, list[DocumentLike]] = {}
    for document, _ in sorted(found, key=lambda pair: -pair[1]):
        name = document.metadata.get("source_id") or document.metadata.get("file_name") or ""
        groups.setdefault(str(name), []).append(document)
    return list(groups.items())


def _file_lines(number: str, name: str, documents: Sequence[DocumentLike]) -> list[str]:
    shared = _file_metadata([document.metadata for document in documents])
    lines = [f"### Source document {number}: {f'[{name}]' if name else '(no file)'}"]
    if shared:
        lines.append(f"Metadata: {_pairs(shared)}")
    lines.append("")
    for place, document in enumerate(documents, start=1):
        own = {
            key: value
            for key, value in display_metadata(document.metadata).items()
            if key not in _HIDDEN and key not in DOCUMENT_KEYS and (key not in shared or shared[key] != value)
        }
        headings = document.metadata.get("headings")
        chain = " > ".join(headings) if isinstance(headings, list) and headings else "(no heading)"
        lines.append(f"  Chunk {place}: {chain}")
        if own:
            lines.append(f"  Chunk metadata: {_pairs(own)}")
        lines.append(document.page_content)
    return lines


def _file_metadata(metadata: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the bibliography of the best chunk, in its own order, and the url keys all chunks agree on."""
    best = display_metadata(metadata[0])
    shared = {key: value for key, value in best.items() if key in DOCUMENT_KEYS and value is not None}
    return shared | {
        key: value
        for key, value in best.items()
        if key.startswith("url") and value is not None and all(entry.get(key) == value for entry in metadata)
    }


def _pairs(metadata: Mapping[str, Any]) -> str:
    return " | ".join(f"{key}={value}" for key, value in metadata.items())
