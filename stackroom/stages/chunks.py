"""Stage 3: convert the source and cut it into token-bounded chunks.

Two files: the Parquet file of chunks, and a JSON file with the conversion report and the signals that the metadata
stage reads. The Parquet file is written last; it alone says that the stage is done.
"""

from typing import Any

from stackroom.artefacts import (
    CHUNKS_SCHEMA_NAME,
    Chunk,
    ChunkBody,
    JsonArtefact,
    chunks_table,
    embedded_text,
    read_chunks,
    read_footer,
    read_json,
    write_json,
    write_parquet,
)
from stackroom.conversion import Conversion
from stackroom.fingerprint import Fingerprint, fingerprint
from stackroom.identity import chunk_id, text_hash
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, Unchanged
from stackroom.precheck import PdfClassification
from stackroom.stages import ocr_classification, source_document
from stackroom.stages.bench import FileWork

STAGE = "chunks"
REPORT_SCHEMA = "stackroom.conversion_report/1"
VERSION = 1

LOST_TEXT_WARNING = 0.05
"""Share of a source's words missing from its chunks above which the check `no_text_lost` fails."""

HISTOGRAM_STEP = 32
"""Width of the bins of the token histogram, in tokens."""


def run(work: FileWork) -> Outcome:
    """Convert and chunk the source in a worker process."""
    document, classification = source_document.read(work), ocr_classification.read(work)
    if document is None:
        return source_document.missing(source_document.STAGE)
    if classification is None:
        return source_document.missing(ocr_classification.STAGE)
    made_for = _made_for(work, document, classification)
    target, report_path = work.artefact(STAGE, "parquet"), work.artefact(STAGE, "json")
    footer, report = read_footer(target, CHUNKS_SCHEMA_NAME), read_report(work)
    if footer and report and footer.fingerprint == report.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, report.data["summary"], _checks(report.data["summary"]))
    request = ocr_classification.request(work, document, PdfClassification.from_json(classification.data))
    conversion = work.bench.converter.convert(request)
    if isinstance(conversion, Failed):
        return conversion
    chunks = [_chunk(work, index, body) for index, body in enumerate(conversion.chunks)]
    summary = _summary(conversion, work.bench.conversion_options.max_tokens)
    data = {"summary": summary, "report": conversion.report.to_json(), "signals": conversion.signals}
    write_json(report_path, REPORT_SCHEMA, made_for, data)
    write_parquet(target, chunks_table(chunks), CHUNKS_SCHEMA_NAME, made_for)
    return Produced(made_for.digest, summary, _checks(summary))


def is_made(work: FileWork, content_hash: str | None) -> bool:
    """Say whether the chunks of a source with some content are there already, so that nothing needs a worker."""
    document, classification = source_document.read(work), ocr_classification.read(work)
    if document is None or classification is None or document.data["content_hash"] != content_hash:
        return False
    footer, report = read_footer(work.artefact(STAGE, "parquet"), CHUNKS_SCHEMA_NAME), read_report(work)
    digest = _made_for(work, document, classification).digest
    return footer is not None and report is not None and footer.fingerprint == report.fingerprint == digest


def _made_for(work: FileWork, document: JsonArtefact, classification: JsonArtefact) -> Fingerprint:
    options = work.bench.conversion_options
    return fingerprint(
        STAGE,
        VERSION,
        source_id=work.source_id,
        content_hash=document.data["content_hash"],
        classification=classification.fingerprint,
        conversion=options.conversion_identity(),
        chunking=options.chunking_identity(),
    )


def read(work: FileWork) -> list[Chunk] | None:
    """Return the chunks of the source, if they were made."""
    path = work.artefact(STAGE, "parquet")
    return read_chunks(path) if read_footer(path, CHUNKS_SCHEMA_NAME) else None


def read_report(work: FileWork) -> JsonArtefact | None:
    """Return the conversion report and signals of the source, if they were made."""
    return read_json(work.artefact(STAGE, "json"), REPORT_SCHEMA)


def _chunk(work: FileWork, index: int, body: ChunkBody) -> Chunk:
    return Chunk(
        chunk_id=chunk_id(work.bench.name, work.source_id, index),
        source_id=work.source_id,
        index=index,
        body=body,
        text_hash=text_hash(embedded_text(body.headings, body.text)),
    )


def _summary(conversion: Conversion, max_tokens: int) -> dict[str, Any]:
    counts = [body.token_count for body in conversion.chunks]
    kinds: dict[str, int] = {}
    for body in conversion.chunks:
        kinds[body.kind] = kinds.get(body.kind, 0) + 1
    histogram: dict[int, int] = {}
    for count in counts:
        low = count // HISTOGRAM_STEP * HISTOGRAM_STEP
        histogram[low] = histogram.get(low, 0) + 1
    return {
        **conversion.report.to_json(),
        "chunks": len(counts),
        "kinds": kinds,
        "tokens": sum(counts),
        "longest_chunk_tokens": max(counts, default=0),
        "max_tokens": max_tokens,
        "token_histogram": [
            {"tokens": f"{low}-{low + HISTOGRAM_STEP - 1}", "chunks": histogram[low]} for low in sorted(histogram)
        ],
        "first_chunks": [{"headings": list(body.headings), "text": body.text[:600]} for body in conversion.chunks[:3]],
    }


def _checks(summary: dict[str, Any]) -> tuple[CheckResult, ...]:
    over = summary["longest_chunk_tokens"] > summary["max_tokens"]
    lost = summary["lost_text_ratio"] or 0.0
    missing = summary["missing_pages"]
    return (
        CheckResult(
            "parses",
            passed=not missing,
            message=f"pages that could not be read: {', '.join(map(str, missing))}"
            if missing
            else "all pages were read",
            severity="warning",
        ),
        CheckResult(
            "within_token_limit",
            passed=not over,
            message=f"longest chunk {summary['longest_chunk_tokens']} tokens, limit {summary['max_tokens']}",
        ),
        CheckResult(
            "no_text_lost",
            passed=lost <= LOST_TEXT_WARNING,
            message=f"{lost:.2%} of the words are in no chunk",
            severity="warning",
        ),
    )
