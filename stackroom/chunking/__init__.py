"""From a converted document to token-bounded chunks that know where they come from.

:func:`chunk_document` is the whole of it; :func:`lost_text_ratio` says how much of a reference extraction no chunk
holds. :class:`PdfLines` makes the boxes of a PDF's chunks exact. Converting files, embedding chunks and storing them
happen elsewhere.

The functions are loaded when first asked for: fingerprints need :data:`CHUNKER_VERSION` in processes that never chunk
and should not wait for docling's document model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackroom.chunking.chunker import ChunkingResult, chunk_document
    from stackroom.chunking.coverage import document_text, lost_text_ratio
    from stackroom.chunking.lines import Line, LineSource, PdfLines
    from stackroom.chunking.model import TokenCounter

CHUNKER_VERSION = 2
"""Raised whenever :func:`chunk_document` gives other chunks for any document."""

_MODULES = {
    "ChunkingResult": "chunker",
    "Line": "lines",
    "LineSource": "lines",
    "PdfLines": "lines",
    "TokenCounter": "model",
    "chunk_document": "chunker",
    "document_text": "coverage",
    "lost_text_ratio": "coverage",
}

__all__ = [
    "CHUNKER_VERSION",
    "ChunkingResult",
    "Line",
    "LineSource",
    "PdfLines",
    "TokenCounter",
    "chunk_document",
    "document_text",
    "lost_text_ratio",
]


def __getattr__(name: str) -> Any:
    """Load what this package offers from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
