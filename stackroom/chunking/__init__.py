"""From a converted document to token-bounded chunks that know where they come from.

:func:`chunk_document` is the whole of it; :func:`lost_text_ratio` says how much of a reference extraction no chunk
holds. :class:`PdfLines` makes the boxes of a PDF's chunks exact. Converting files, embedding chunks and storing them
happen elsewhere.
"""

from stackroom.chunking.chunker import CHUNKER_VERSION, ChunkingResult, chunk_document
from stackroom.chunking.coverage import document_text, lost_text_ratio
from stackroom.chunking.lines import Line, LineSource, PdfLines
from stackroom.chunking.model import TokenCounter

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
