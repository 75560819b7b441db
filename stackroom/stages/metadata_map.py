"""Stage 4: bibliographic metadata of the source: extracted with evidence, merged with what a person has corrected."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from stackroom.artefacts import JsonArtefact, read_json, write_json
from stackroom.atomic import write_text
from stackroom.biblio.extract import EXTRACTOR_VERSION, extract_entry
from stackroom.fingerprint import fingerprint
from stackroom.identity import artefact_name
from stackroom.map_lint import lint_file_metadata
from stackroom.metadata_map import generated_entry, merge
from stackroom.outcome import CheckResult, Outcome, Produced, Unchanged
from stackroom.stages import chunks as chunks_stage
from stackroom.stages import source_document
from stackroom.stages.bench import Bench, FileWork

STAGE = "metadata_map"
SCHEMA = "stackroom.metadata_map/1"
VERSION = 1

UNANSWERED = "unanswered"
"""Suffix of the mark beside the artefact of a source about which a DOI service owes an answer."""

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
    target, mark = work.artefact(STAGE, "json"), work.artefact(STAGE, UNANSWERED)
    recorded = read_json(target, SCHEMA)
    settled = recorded is not None and not work.force and not mark.exists()
    if recorded and settled and recorded.fingerprint == made_for.digest:
        return Unchanged(made_for.digest, _summary(recorded.data), _checks(work, recorded.data))
    if recorded and settled and _only_curated_differs(recorded.ingredients, made_for.ingredients):
        found = {key: recorded.data[key] for key in ("generated", "candidates")}
    else:
        extracted = extract_entry(report.data["signals"], work.source_id, settings, work.bench.doi_resolver)
        chains = list(dict.fromkeys(chunk.body.headings for chunk in chunks if chunk.body.headings))
        found = {
            "generated": generated_entry(extracted, chains),
            "candidates": extracted.to_json()["candidates"],
        }
        _note_unanswered(mark, extracted.unanswered)
    merged = merge(found["generated"], curated, recorded.data.get("base") if recorded else None)
    data = {
        **found,
        "curated": curated,
        "merged": merged.entry,
        "base": merged.base,
        "conflicts": [conflict.to_json() for conflict in merged.conflicts],
    }
    write_json(target, SCHEMA, made_for, data)
    return Produced(made_for.digest, _summary(data), _checks(work, data))


def _only_curated_differs(recorded: Mapping[str, Any], required: Mapping[str, Any]) -> bool:
    """Return whether what was found in the document still holds, so that neither it nor a service is asked again."""
    return {**recorded, "curated": None} == {**required, "curated": None}


def _note_unanswered(mark: Path, unanswered: bool) -> None:
    """Leave a mark beside the artefact while a service owes an answer; before the artefact, in case the run breaks."""
    if unanswered:
        write_text(mark, "a DOI could not be looked up; the next ingestion tries again\n")
    else:
        mark.unlink(missing_ok=True)


def unanswered(bench: Bench, sources: Collection[str]) -> frozenset[str]:
    """Return those sources for which a DOI service did not answer, so that it is to be asked again."""
    if bench.settings.corpus.metadata.lookup != "on":
        return frozenset()
    marks = {path.stem for path in (bench.artefacts.root / STAGE).glob(f"*.{UNANSWERED}")}
    return frozenset(source for source in sources if artefact_name(source) in marks) if marks else frozenset()


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
