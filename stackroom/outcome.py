"""What became of one stage for one file: a closed union of values, never an exception.

Callers ``match`` on the three cases and end with ``typing.assert_never``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal


class ReasonCode(StrEnum):
    """Why a file is quarantined (or only partly converted). Decided by content, never by suffix or error text."""

    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    NO_PAGES = "no_pages"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    WRONG_TYPE = "wrong_type"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    PARTIAL = "partial"
    NO_TEXT = "no_text"
    MISSING_INPUT = "missing_input"
    STORE_UNAVAILABLE = "store_unavailable"
    CANNOT_WRITE = "cannot_write"
    INTERNAL_ERROR = "internal_error"


REMEDIES: Mapping[ReasonCode, str] = {
    ReasonCode.ENCRYPTED: "name an environment variable with the password under `passwords` of the corpus in "
    "stackroom.yaml, or replace the file by an open copy",
    ReasonCode.CORRUPT: "replace the file by an intact copy",
    ReasonCode.NO_PAGES: "replace the file; it holds no pages",
    ReasonCode.EMPTY: "replace the file; it holds nothing",
    ReasonCode.UNSUPPORTED: "convert the file to a supported format (PDF, DOCX, HTML, Markdown, …) or exclude it",
    ReasonCode.WRONG_TYPE: "rename the file to the suffix of its true type",
    ReasonCode.TOO_LARGE: "raise the limit under `limits` in stackroom.yaml, or split the file",
    ReasonCode.TIMEOUT: "raise `limits.deadline_seconds` in stackroom.yaml, or split the file",
    ReasonCode.OUT_OF_MEMORY: "raise `limits.worker_memory_mb` in stackroom.yaml, or split the file",
    ReasonCode.CRASHED: "the converter died on this file twice; replace the file by a re-saved copy",
    ReasonCode.PARTIAL: "some pages could not be read; replace the file by an intact copy",
    ReasonCode.NO_TEXT: "the file holds no text that could be read, not even by OCR; exclude it or replace it",
    ReasonCode.MISSING_INPUT: "materialize the upstream assets of this file first",
    ReasonCode.STORE_UNAVAILABLE: "check that the store is running and reachable, then retry",
    ReasonCode.CANNOT_WRITE: "free disk space or make the folder writable, then ingest again; nothing is lost",
    ReasonCode.INTERNAL_ERROR: "this is a defect of Stackroom; the evidence holds the traceback",
}


@dataclass(frozen=True)
class CheckResult:
    """The verdict of one quality check on an artefact; a failed check does not stop later stages."""

    name: str
    passed: bool
    message: str = ""
    severity: Literal["error", "warning"] = "error"
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Produced:
    """The stage wrote its artefact."""

    fingerprint: str
    summary: Mapping[str, Any] = field(default_factory=dict)
    """Plain values (numbers, text, lists of rows) that a person wants to see; JSON-serialisable."""
    checks: tuple[CheckResult, ...] = ()


@dataclass(frozen=True)
class Unchanged:
    """The artefact on disk already has the required fingerprint; nothing was done."""

    fingerprint: str
    summary: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[CheckResult, ...] = ()


@dataclass(frozen=True)
class Failed:
    """The stage could not produce its artefact for this file; later stages are not run."""

    reason: ReasonCode
    message: str
    """One sentence naming what is wrong with the file."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    retryable: bool = False
    """True when trying again without changing anything may help (a store was down)."""
    own_remedy: str | None = None
    """What helps here, where more can be said than for the reason in general."""

    @property
    def remedy(self) -> str:
        """What a person can do about it."""
        return self.own_remedy or REMEDIES[self.reason]


Outcome = Produced | Unchanged | Failed
