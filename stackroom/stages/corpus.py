"""What is made of all sources of a corpus together: the keyword index, the corpus lint report, the stores JSON."""

import hashlib
import json
from dataclasses import asdict
from typing import Any

from stackroom.artefacts import read_json, write_json
from stackroom.atomic import write_text
from stackroom.config import Config
from stackroom.embedding import model_key
from stackroom.fingerprint import fingerprint
from stackroom.outcome import CheckResult, Produced, Unchanged
from stackroom.postcheck import LINT_VERSION, lint_corpus, lint_curated
from stackroom.retrieval.store_config import stores_config
from stackroom.stages import bm25_corpus, lint_report
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.serving import Settled, settle_collections
from stackroom.state import StateFolder
from stackroom.stores.bm25.index import build_index, is_made_with

CORPUS_LINT_SCHEMA = "stackroom.corpus_lint_report/1"


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
        path
        for state in bench.ledger.sources(bench.name)
        if (path := bench.artefacts.path(bm25_corpus.STAGE, state.source_id, "pkl")).exists()
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


def lint_whole_corpus(bench: Bench) -> Produced | Unchanged:
    """Gather the findings of all sources, and look for what only shows across sources (duplicates, missing rows)."""
    states = bench.ledger.sources(bench.name)
    reports = {
        state.source_id: artefact
        for state in states
        if (artefact := lint_report.read(FileWork(bench, state.source_id))) is not None
    }
    made_for = fingerprint(
        "corpus_lint_report",
        1,
        reports=_digest({source: artefact.fingerprint for source, artefact in reports.items()}),
        states=_digest([[state.source_id, state.state, state.reason, state.content_hash] for state in states]),
        linter=LINT_VERSION,
        curated=[str(problem) for problem in bench.curated.problems],
    )
    target = bench.artefacts.root / "corpus_lint_report.json"
    recorded = read_json(target, CORPUS_LINT_SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest:
        return Unchanged(made_for.digest, recorded.data, _quarantine_check(recorded.data))
    data = _gather(bench, reports) | {
        "states": _count(state.state for state in states),
        "failed": [
            {
                "source_id": state.source_id,
                "state": state.state,
                "reason": state.reason,
                "message": state.message,
                "remedy": state.remedy,
            }
            for state in states
            if state.state == "quarantined" or (state.state == "pending" and state.reason)
        ],
    }
    write_json(target, CORPUS_LINT_SCHEMA, made_for, data)
    return Produced(made_for.digest, data, _quarantine_check(data))


def write_stores_config(config: Config) -> dict[str, Any]:
    """Write the JSON that retrievers load, and return it."""
    content = stores_config(config, {name: model_key(corpus.embedder) for name, corpus in config.corpora.items()})
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_text(StateFolder(config.state_folder).stores_config, text, private=True)  # addresses may hold passwords
    return content


def _gather(bench: Bench, reports: dict[str, Any]) -> dict[str, Any]:
    per_source = [
        {
            "source_id": source,
            "errors": artefact.data["errors"],
            "warnings": artefact.data["warnings"],
            "chunks": artefact.data["chunks"],
            "findings": artefact.data["findings"][:5],
        }
        for source, artefact in reports.items()
    ]
    per_source.sort(key=lambda row: (-row["errors"], -row["warnings"], row["source_id"]))
    entries = {}
    for source in reports:
        mapped = read_json(bench.artefacts.path("metadata_map", source, "json"), "stackroom.metadata_map/1")
        if mapped is not None:
            entries[source] = mapped.data["merged"]
    return {
        "sources": len(reports),
        "chunks": sum(row["chunks"] for row in per_source),
        "errors": sum(row["errors"] for row in per_source),
        "warnings": sum(row["warnings"] for row in per_source),
        "worst": per_source[:50],
        "across": [asdict(finding) for finding in [*lint_curated(bench.curated.problems), *lint_corpus(entries)]],
    }


def _quarantine_check(data: dict[str, Any]) -> tuple[CheckResult, ...]:
    failed = data["failed"]
    return (
        CheckResult(
            "nothing_quarantined",
            passed=not failed,
            message=not_searchable(len(failed)),
            details={
                "files": failed[:20],
                "retry": "replace the files, or run `stackroom ingest --retry` to try the same files again",
            },
        ),
    )


def _digest(value: Any) -> str:
    """Return a hash in place of a list of every file, which would be most of the artefact and of the time it takes."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def not_searchable(files: int) -> str:
    """Return how many files are not searchable, in words."""
    if not files:
        return "every file is searchable"
    return "1 file is not searchable" if files == 1 else f"{files} files are not searchable"


def _count(values: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts
