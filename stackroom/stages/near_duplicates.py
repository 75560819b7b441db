"""Which documents of a corpus say mostly the same? Recorded per corpus, and looked for again when rows change."""

from dataclasses import asdict

from stackroom.artefacts import read_json, write_json
from stackroom.fingerprint import fingerprint
from stackroom.outcome import CheckResult, Produced, Unchanged
from stackroom.stages.bench import Bench
from stackroom.words import count

SCHEMA = "stackroom.near_duplicates/1"
VERSION = 1


def find_near_duplicates(bench: Bench) -> Produced | Unchanged:
    """Compare all documents of a corpus with one another by their stored vectors.

    Raises:
        StoreError: the vector store cannot be read.
    """
    # With the article memory come its services and their HTTP library; every process that runs a job would load them.
    from stackroom.articles.similar import DUPLICATE_SHARE, DUPLICATE_SIMILARITY, near_duplicates

    stored = bench.manifest.sources(bench.settings.store_uri, bench.collection.name)
    made_for = fingerprint(
        "near_duplicates", VERSION, rows=stored, similarity=DUPLICATE_SIMILARITY, share=DUPLICATE_SHARE
    )
    target = bench.artefacts.root / "near_duplicates.json"
    recorded = read_json(target, SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest:
        return Unchanged(made_for.digest, recorded.data, (_check(recorded.data["pairs"]),))
    pairs = [asdict(pair) for pair in near_duplicates(bench.store)] if stored else []
    data = {"sources": len(stored), "pairs": pairs}
    write_json(target, SCHEMA, made_for, data)
    return Produced(made_for.digest, data, (_check(pairs),))


def _check(pairs: list[dict[str, object]]) -> CheckResult:
    return CheckResult(
        "no_near_duplicates",
        passed=not pairs,
        message=f"{count(len(pairs), 'pair')} of documents say mostly the same"
        if pairs
        else "every document is its own",
        severity="warning",
        details={"pairs": pairs},
    )
