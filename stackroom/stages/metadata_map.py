"""Stage 4: bibliographic metadata of the source: extracted with evidence, merged with what a person has corrected."""

from typing import Any

from stackroom.artefacts import JsonArtefact, read_json, write_json
from stackroom.biblio.extract import EXTRACTOR_VERSION, extract_entry
from stackroom.fingerprint import fingerprint
from stackroom.map_lint import lint_file_metadata
from stackroom.metadata_map import generated_entry, merge
from stackroom.outcome import CheckResult, Outcome, Produced, Unchanged
from stackroom.stages import chunks as chunks_stage
from stackroom.stages import source_document
from stackroom.stages.bench import FileWork

STAGE = "metadata_map"
SCHEMA = "stackroom.metadata_map/1"
VERSION = 1

SHOWN = ("title", "authors", "year", "journal", "doi", "keywords")


def run(work: FileWork) -> Outcome:
    """Extract metadata from the signals that conversion collected, and lay the curated values over them."""
    report, chunks = chunks_stage.read_report(work), chunks_stage.read(work)
    if report is None or chunks is None:
        return source_document.missing(chunks_stage.STAGE)
    settings = work.bench.settings.corpus.metadata
    curated = work.bench.curated.entry(work.source_id)
    made_for = fingerprint(
        STAGE,
        VERSION,
        chunks=report.fingerprint,
        extractor=EXTRACTOR_VERSION,
        metadata=settings.model_dump(mode="json"),
        curated=curated,
    )
    target = work.artefact(STAGE, "json")
    recorded = read_json(target, SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, _summary(recorded.data), _checks(work, recorded.data))
    extracted = extract_entry(report.data["signals"], work.source_id, settings, work.bench.doi_resolver)
    chains = list(dict.fromkeys(chunk.body.headings for chunk in chunks if chunk.body.headings))
    generated = generated_entry(extracted, chains)
    merged = merge(generated, curated, recorded.data.get("base") if recorded else None)
    data = {
        "generated": generated,
        "curated": curated,
        "merged": merged.entry,
        "base": merged.base,
        "conflicts": [conflict.to_json() for conflict in merged.conflicts],
        "candidates": extracted.to_json()["candidates"],
    }
    write_json(target, SCHEMA, made_for, data)
    return Produced(made_for.digest, _summary(data), _checks(work, data))


def read(work: FileWork) -> JsonArtefact | None:
    """Return this stage's artefact for the source, if there is one."""
    return read_json(work.artefact(STAGE, "json"), SCHEMA)


def _summary(data: dict[str, Any]) -> dict[str, Any]:
    default = data["merged"].get("DEFAULT", {})
    return {
        **{key: default.get(key) for key in SHOWN},
        "complete": bool(default.get("_metadata_complete")),
        "sources": default.get("_sources", []),
        "curated": data["curated"] is not None,
        "conflicts": data["conflicts"],
        "evidence": [
            {"field": field, **candidate} for field, found in data["candidates"].items() for candidate in found
        ],
    }


def _checks(work: FileWork, data: dict[str, Any]) -> tuple[CheckResult, ...]:
    issues = lint_file_metadata(work.source_id, data["merged"])
    return (
        CheckResult(
            "map_lint",
            passed=not issues,
            message="; ".join(issues) or "no findings",
            severity="warning",
            details={"issues": issues},
        ),
    )
