"""What is shown of a record, and which id a hit goes by."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

Preference = Literal["raw_text", "summary", "stage5"]


def select_processed_snippet(record: Mapping[str, Any] | None, prefer: Preference = "raw_text") -> str:
    """Return the passage of a record to show; empty where there is no record.

    Args:
        record: the whole record.
        prefer: ``raw_text``, ``summary`` (scope of the retrieval summary), or ``stage5`` (first causal statement).
    """
    if record is None:
        return ""
    return next((text for candidate in _candidates(record, prefer) if (text := _text(candidate))), "")


def _candidates(record: Mapping[str, Any], prefer: Preference) -> Iterator[Any]:
    enrichment = _mapping(record.get("enrichment"))
    scope = _mapping(enrichment.get("retrieval_summary_json")).get("scope")
    if prefer == "summary":
        yield scope
    if prefer == "raw_text":
        yield enrichment.get("raw_text")
    if prefer != "summary":
        stage = _mapping(enrichment.get("stage5_causal_condition"))
        yield from _statement(stage.get("extracted_causal_statements"))
        condition = _mapping(stage.get("condition_state"))
        yield condition.get("as_found")
        yield condition.get("as_left")
    yield scope
    yield record.get("embedding_text")


def _statement(statements: Any) -> Iterator[Any]:
    """Yield the sentence of the first causal statement, else its parts joined."""
    first = statements[0] if isinstance(statements, list) and statements else None
    if isinstance(first, Mapping):
        yield first.get("sentence_text")
        yield first.get("sentence")
        yield " ".join(filter(None, (_text(first.get(key)) for key in ("cause_text", "connector", "effect_text"))))


def stable_record_id(metadata: Mapping[str, Any], document_id: str | None = None) -> str | None:
    """Return the id of a hit: the first non-blank text of ``record_id``, ``id``, ``_id`` and the document's own id."""
    candidates = (metadata.get("record_id"), metadata.get("id"), metadata.get("_id"), document_id)
    return next((text for candidate in candidates if (text := _text(candidate))), None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
