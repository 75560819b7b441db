"""Stage 1: which file is this? Size, content hash and true type."""

from datetime import UTC, datetime

from stackroom.artefacts import JsonArtefact, read_json, write_json
from stackroom.errors import SourceError
from stackroom.fingerprint import fingerprint
from stackroom.media import MEDIA_VERSION, identify
from stackroom.outcome import CheckResult, Failed, Outcome, Produced, ReasonCode, Unchanged
from stackroom.sources import content_hash
from stackroom.stages.bench import FileWork

STAGE = "source_document"
SCHEMA = "stackroom.source_document/1"
VERSION = 1


def run(work: FileWork) -> Outcome:
    """Describe the source; Failed when it is gone, empty, too large or of a type that cannot be converted."""
    path, limits = work.path, work.bench.settings.limits
    try:
        stat = path.stat()
        if stat.st_size > limits.max_file_mb * 1024 * 1024:
            return Failed(
                ReasonCode.TOO_LARGE,
                f"the file has {stat.st_size / 1024**2:.0f} MB, the limit is {limits.max_file_mb} MB",
            )
        digest = content_hash(path)
    except (OSError, SourceError) as error:
        return Failed(ReasonCode.MISSING_INPUT, f"the file cannot be read: {error}", retryable=True)
    identified = identify(path, limits)
    if identified.problem is not None:
        return identified.problem
    made_for = fingerprint(STAGE, VERSION, content_hash=digest, source_id=work.source_id, media=MEDIA_VERSION)
    data = {
        "source_id": work.source_id,
        "size": stat.st_size,
        "modified": datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="seconds"),
        "content_hash": digest,
        "media": identified.media.value,
        "declared": identified.declared.value if identified.declared else None,
    }
    summary = {
        **data,
        "path": str(path),
        "duplicates": work.bench.ledger.duplicates(work.bench.name, work.source_id, digest),
    }
    checks = (CheckResult("readable", passed=True, message=f"a readable {identified.media.value} file"),)
    target = work.artefact(STAGE, "json")
    recorded = read_json(target, SCHEMA)
    if recorded and recorded.fingerprint == made_for.digest and not work.force:
        return Unchanged(made_for.digest, summary, checks)
    write_json(target, SCHEMA, made_for, data)
    return Produced(made_for.digest, summary, checks)


def read(work: FileWork) -> JsonArtefact | None:
    """Return this stage's artefact for the source, if there is one."""
    return read_json(work.artefact(STAGE, "json"), SCHEMA)


def missing(stage: str) -> Failed:
    """Return the failure of a stage whose input was never made."""
    return Failed(ReasonCode.MISSING_INPUT, f"`{stage}` of this file has not been materialized")
