"""From a converted document to token-bounded chunks that know where they come from.

:func:`chunk_document` is the whole of it; :func:`lost_text_ratio` says how much of a reference extraction no chunk
holds. Converting files, embedding chunks and storing them happen elsewhere.
"""

from stackroom.chunking.chunker import CHUNKER_VERSION, ChunkingResult, chunk_document
from stackroom.chunking.coverage import lost_text_ratio
from stackroom.chunking.model import TokenCounter

__all__ = ["CHUNKER_VERSION", "ChunkingResult", "TokenCounter", "chunk_document", "lost_text_ratio"]
