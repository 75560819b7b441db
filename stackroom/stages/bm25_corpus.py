"""Stage 7: the tokens of the source for the keyword index, as a pickle of plain values."""

from stackroom.fingerprint import fingerprint
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, Unchanged
from stackroom.stages.bench import FileWork
from stackroom.stages.rows import plain_rows
from stackroom.stores.bm25.corpus import corpus_fingerprint, read_corpus, write_corpus
from stackroom.words import count

STAGE = "bm25_corpus"
VERSION = 1


def run(work: FileWork) -> Outcome:
    """Tokenise the source's chunks unless that was done for exactly these rows and this analyser."""
    gathered = plain_rows(work)
    if isinstance(gathered, Failed):
        return gathered
    rows, rows_fingerprint = gathered
    analyser = work.bench.analyser
    made_for = fingerprint(STAGE, VERSION, rows=rows_fingerprint.digest, analyser=analyser.identity)
    target = work.artefact(STAGE, "pkl")
    if corpus_fingerprint(target) == made_for.digest and not work.force:
        return Unchanged(made_for.digest, {"rows": len(rows), "analyser": analyser.identity}, (_loads(len(rows)),))
    report = write_corpus(target, work.source_id, rows, analyser, made_for, reuse=not work.force)
    loaded = len(read_corpus(target).chunk_ids)
    return Produced(
        made_for.digest,
        {"rows": report.chunks, "tokens": report.tokens, "analyser": analyser.identity},
        (_loads(loaded, expected=len(rows)),),
    )


def _loads(loaded: int, expected: int | None = None) -> CheckResult:
    return CheckResult(
        "loads",
        passed=expected is None or loaded == expected,
        message=f"{count(loaded, 'row')} through the loader that refuses every class and function",
    )
