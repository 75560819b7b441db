"""Stage 2: which pages need OCR, and why."""

from dataclasses import replace
from typing import Any

from stackroom.artefacts import JsonArtefact, read_json, write_json
from stackroom.conversion import ConversionRequest
from stackroom.fingerprint import fingerprint
from stackroom.outcome import Failed, Outcome, Produced, ReasonCode, Unchanged
from stackroom.precheck import PRECHECK_VERSION, PdfClassification
from stackroom.stages import source_document
from stackroom.stages.bench import FileWork

STAGE = "ocr_classification"
SCHEMA = "stackroom.ocr_classification/1"
VERSION = 1


def run(work: FileWork) -> Outcome:
    """Classify the pages of a PDF in a worker process; other types need no worker."""
    upstream = source_document.read(work)
    if upstream is None:
        return source_document.missing(source_document.STAGE)
    made_for = fingerprint(
        STAGE,
        VERSION,
        content_hash=upstream.data["content_hash"],
        media=upstream.data["media"],
        precheck=PRECHECK_VERSION,
        ocr=work.bench.settings.corpus.ocr.model_dump(mode="json"),
        max_pages=work.bench.settings.limits.max_pages,
        password_given=work.bench.password(work.source_id) is not None,
    )
    target = work.artefact(STAGE, "json")
    recorded = read_json(target, SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, summary_of(recorded.data))
    classified = work.bench.converter.classify(request(work, upstream))
    if isinstance(classified, Failed):
        return _with_variable(work, classified)
    data = classified.to_json()
    write_json(target, SCHEMA, made_for, data)
    return Produced(made_for.digest, summary_of(data))


def _with_variable(work: FileWork, failed: Failed) -> Failed:
    """Name the variable for the password, where the settings name one."""
    variable = work.bench.password_variable(work.source_id)
    if failed.reason is not ReasonCode.ENCRYPTED or variable is None:
        return failed
    is_set = work.bench.password(work.source_id) is not None
    remedy = (
        f"the password in the environment variable {variable} does not open it"
        if is_set
        else (f"set the environment variable {variable}, which `passwords` names for it, to its password")
    )
    return replace(failed, own_remedy=remedy)


def request(
    work: FileWork, upstream: JsonArtefact, classification: PdfClassification | None = None
) -> ConversionRequest:
    """Return what a worker needs to know about the source."""
    return ConversionRequest(
        path=work.path,
        source_id=work.source_id,
        content_hash=upstream.data["content_hash"],
        password=work.bench.password(work.source_id),
        classification=classification,
        fresh=work.force,
        verified=True,
    )


def read(work: FileWork) -> JsonArtefact | None:
    """Return this stage's artefact for the source, if there is one."""
    return read_json(work.artefact(STAGE, "json"), SCHEMA)


def summary_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a person wants to see of a classification."""
    return {key: value for key, value in data.items() if key != "page_statistics"} | {
        "pages_by_decision": _count(page["decision"] for page in data["page_statistics"]),
        "page_table": [
            {
                "page": page["page"],
                "decision": page["decision"],
                "characters": page["characters"],
                "reason": page["reason"],
            }
            for page in data["page_statistics"]
            if page["decision"] != "text"
        ][:50],
    }


def _count(values: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts
