"""Which files ``stackroom status`` says are to be processed again although they are searchable."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stackroom.cli.output import program
from stackroom.config import Config
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.sources import Scan

MOST_NAMED = 3
"""Outdated files that are named; of more, the number is given."""


def outdated_sources(config: Config, corpus: str, scan: "Scan") -> frozenset[str]:
    """Return the files that settings, curated metadata or a newer Stackroom ask to be processed again.

    Raises:
        ConfigError: the settings cannot be used together.
        EmbeddingError: the embedding model cannot be opened.
    """
    from stackroom.embedding import open_embedder
    from stackroom.stages.bench import Bench, BenchSettings
    from stackroom.stages.verdict import outdated

    settings = BenchSettings.of(config, corpus)
    cache = settings.state.embedding_cache
    if not settings.state.ledger.exists():
        return frozenset()
    embedder = settings.corpus.embedder
    kept = cache if cache.exists() else None
    with Bench(settings, open_embedder=lambda _: open_embedder(embedder, kept), look_only=True) as bench:
        bench.scan = scan  # looking once is enough
        return outdated(bench)


def outdated_in_words(corpus: str, files: Sequence[str]) -> str:
    """Say which files the next ingestion takes again, and why."""
    one = len(files) == 1
    which = ", ".join(files) if len(files) <= MOST_NAMED else count(len(files), "file")
    return (
        f"settings, curated metadata or contents have changed since {which} {'was' if one else 'were'} processed; "
        f"`{program()} ingest {corpus}` processes {'it' if one else 'them'} again"
    )
