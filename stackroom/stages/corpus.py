"""What is made of all sources of a corpus together: the keyword index and the stores JSON."""

import json
from dataclasses import asdict
from typing import Any

from stackroom.atomic import write_text
from stackroom.config import Config
from stackroom.embedding import model_key
from stackroom.outcome import Produced, Unchanged
from stackroom.retrieval.store_config import stores_config
from stackroom.stages import bm25_corpus
from stackroom.stages.bench import Bench
from stackroom.stages.serving import Settled, settle_collections
from stackroom.state import StateFolder
from stackroom.stores.bm25.build import build_index, is_made_with


def index_is_behind(bench: Bench) -> bool:
    """Return whether the keyword index is not what files and settings ask for; always False before the first file."""
    if not bench.ledger.version(bench.name):
        return False
    return bench.ledger.needs_index(bench.name) or not is_made_with(
        bench.settings.state.bm25_index(bench.name), bench.settings.corpus.bm25
    )


def build_keyword_index(bench: Bench, *, anew: bool = False) -> Produced | Unchanged:
    """Build the keyword index from the token artefacts of all sources; nothing to do if none changed.

    Files that are absent from the folder count until they are removed: they are still in the vector store, and may be
    on a disk that is not mounted.

    Args:
        bench: bench of the corpus.
        anew: build it even if nothing changed, because what is there has been altered.
    """
    paths = [
        bench.artefacts.path_text(bm25_corpus.STAGE, source, "pkl") for source in bench.ledger.source_ids(bench.name)
    ]
    report = build_index(paths, bench.settings.state.bm25_index(bench.name), bench.settings.corpus.bm25, anew=anew)
    summary = {**asdict(report), "folder": str(report.folder)}
    return Produced(report.fingerprint, summary) if report.built else Unchanged(report.fingerprint, summary)


def refresh_stores(bench: Bench, *, accept_losses: bool = False) -> tuple[Produced | Unchanged, Settled]:
    """Build the keyword index, and put the vector collection that the settings ask for in use once it is complete.

    The ledger is told last that the index covers everything, so that a crash anywhere here is made good by the next
    refresh.

    Args:
        bench: bench of the corpus.
        accept_losses: see :func:`stackroom.stages.serving.settle_collections`.
    """
    version = bench.ledger.version(bench.name)
    index = build_keyword_index(bench)
    settled = settle_collections(bench, accept_losses=accept_losses)
    bench.ledger.mark_indexed(bench.name, version)
    return index, settled


def write_stores_config(config: Config) -> dict[str, Any]:
    """Write the JSON that retrievers load, and return it."""
    content = stores_config(config, {name: model_key(corpus.embedder) for name, corpus in config.corpora.items()})
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_text(StateFolder(config.state_folder).stores_config, text, private=True)  # addresses may hold passwords
    return content
