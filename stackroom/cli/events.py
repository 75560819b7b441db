"""The messages of an ingesting process: one JSON object per line on its standard output.

``docs/cli.md`` describes them; :func:`parse_event` turns a line into a value.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PlanEvent:
    """What there is to do."""

    files: int
    """Files to process."""
    unchanged: int
    """Files that need nothing."""
    pages: int | None = None
    """Pages of the files to process, if known before they are opened."""
    delete: int = 0
    """Files that have gone and will be removed from the stores."""
    found: int | None = None
    """Files in the folder that can be ingested; None from a process that does not say."""
    held_back: int = 0
    """Quarantined files that are not tried again because nothing about them changed."""
    refused: str | None = None
    """Why files that have gone are not removed."""


@dataclass(frozen=True)
class FileEvent:
    """A file has gone through all stages, or failed in one."""

    source_id: str
    state: str
    """searchable, partial, quarantined, or pending if it could not be finished."""
    reason: str | None = None
    message: str | None = None
    remedy: str | None = None
    pages: int | None = None
    chunks: int | None = None
    seconds: float | None = None

    @property
    def failed(self) -> bool:
        """True if nothing of the file can be found by a search."""
        return self.state == "quarantined"


@dataclass(frozen=True)
class NoteEvent:
    """Something to tell the user."""

    message: str


@dataclass(frozen=True)
class DoneEvent:
    """All is done; what has become of the corpus."""

    ok: bool
    searchable: int
    partial: int
    quarantined: int
    failed: tuple[FileEvent, ...]
    """Files that cannot be searched, whether they were tried now or before."""
    seconds: float
    converted: int
    embedded: int
    chunks: int | None = None
    """Chunks of the whole corpus."""
    pending: int = 0
    """Files that are not done; another run may be working on them."""
    kept: int = 0
    """Files among the searchable and partial ones that are gone from the folder and were not removed."""
    refused_lines: int | None = None
    """Lines of all files of a record set that are no records; None for a corpus."""


@dataclass(frozen=True)
class ErrorEvent:
    """The process could not do its work."""

    message: str


Event = PlanEvent | FileEvent | NoteEvent | DoneEvent | ErrorEvent


def parse_event(line: str) -> Event | None:
    """Return the event a line stands for; None for a line that is none (a library printed something)."""
    try:
        body = json.loads(line)
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    try:
        return _event(body)
    except (KeyError, TypeError):
        return None


def _event(body: Mapping[str, Any]) -> Event | None:
    match body.get("event"):
        case "plan":
            return PlanEvent(
                int(body["files"]),
                int(body["unchanged"]),
                body.get("pages"),
                int(body.get("delete") or 0),
                found=body.get("found"),
                held_back=int(body.get("held_back") or 0),
                refused=body.get("refused"),
            )
        case "file":
            return _file(body)
        case "note":
            return NoteEvent(str(body["message"]))
        case "error":
            return ErrorEvent(str(body["message"]))
        case "done":
            return DoneEvent(
                ok=bool(body["ok"]),
                searchable=int(body["searchable"]),
                partial=int(body["partial"]),
                quarantined=int(body["quarantined"]),
                failed=tuple(_file({"state": "quarantined", **entry}) for entry in body["failed"]),
                seconds=float(body["seconds"]),
                converted=int(body["converted"]),
                embedded=int(body["embedded"]),
                chunks=body.get("chunks"),
                pending=int(body.get("pending", 0)),
                kept=int(body.get("kept", 0)),
                refused_lines=body.get("refused_lines"),
            )
    return None


def _file(body: Mapping[str, Any]) -> FileEvent:
    return FileEvent(
        source_id=str(body["source_id"]),
        state=str(body["state"]),
        reason=body.get("reason"),
        message=body.get("message"),
        remedy=body.get("remedy"),
        pages=body.get("pages"),
        chunks=body.get("chunks"),
        seconds=body.get("seconds"),
    )
