"""Article memory: texts embedded passage by passage, and found again by meaning.

This file gathers the public names; each stands in the module that says how it works.
"""

from stackroom.articles.chunker import SlidingWindowChunker, TextChunker, merge_passages
from stackroom.articles.corpus_store import AsyncCorpusStore
from stackroom.articles.finder import AsyncSimilarArticleFinder
from stackroom.articles.ingest import AsyncChunkIngestor
from stackroom.articles.local import AsyncLocalEmbedder, AsyncSentenceTransformerEmbedder
from stackroom.articles.memory_store import InMemoryEmbeddingStore
from stackroom.articles.sqlite_store import AsyncSqliteEmbeddingStore
from stackroom.articles.store_base import AsyncEmbeddingStore
from stackroom.articles.types import EmbeddingChunk, RawRecord, SearchHit, StoredRecord
from stackroom.embedding.async_base import AsyncEmbedder, TokenUsage
from stackroom.embedding.openai_api import AsyncOpenAIEmbedder
from stackroom.embedding.rate_limit import (
    AsyncRateLimiter,
    HostRateLimiter,
    NullRateLimiter,
    SemaphoreRateLimiter,
    WindowRateLimiter,
    build_rate_limiter,
)

__all__ = [
    "AsyncChunkIngestor",
    "AsyncCorpusStore",
    "AsyncEmbedder",
    "AsyncEmbeddingStore",
    "AsyncLocalEmbedder",
    "AsyncOpenAIEmbedder",
    "AsyncRateLimiter",
    "AsyncSentenceTransformerEmbedder",
    "AsyncSimilarArticleFinder",
    "AsyncSqliteEmbeddingStore",
    "EmbeddingChunk",
    "HostRateLimiter",
    "InMemoryEmbeddingStore",
    "NullRateLimiter",
    "RawRecord",
    "SearchHit",
    "SemaphoreRateLimiter",
    "SlidingWindowChunker",
    "StoredRecord",
    "TextChunker",
    "TokenUsage",
    "WindowRateLimiter",
    "build_rate_limiter",
    "merge_passages",
]
