"""From a processed text record to flat metadata that every store can hold and filter on.

Keys of the record's own ``metadata`` always win over derived ones, even with a null value (which then drops the key);
the ``*_text`` companions of list fields are the one exception. Texts of several items are joined with `` | ``.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackroom.artefacts import MetadataValue
from stackroom.records.components import Register, with_registered
from stackroom.records.jsonl import Record

LIST_FIELDS = (
    "equipment_ids", "system_names", "component_names", "mechanisms", "failure_outcomes", "maintenance_actions",
    "surveillance_actions", "tools_methods", "properties_or_limits", "doc_refs", "alarm_ids",
)  # fmt: skip
"""List fields that get a ``*_text`` companion."""

FINDING_STATUS = {"ECA": "confirmed", "CR": "preliminary", "OE": "fleet_experience"}
OTHER_STATUS = "observational"

SEPARATOR = " | "
MAX_STATEMENTS = 8
"""Causal statements that are looked at, from the first."""
RATIONALE_CHARACTERS = 300

FLATTENER_VERSION = 1
"""Raised whenever the same record would give other metadata."""


def collapse_whitespace(text: str | None) -> str:
    """Return text with every run of white space turned into one blank and the ends trimmed."""
    return " ".join((text or "").split())


def normalize_doc_type(doc_type: Any) -> str:
    """Return a document type trimmed and in capitals; ``OTHER`` where there is none."""
    text = str(doc_type).strip().upper() if doc_type is not None else ""
    return text or "OTHER"


def flatten_metadata(record: Record, register: Register | None = None) -> dict[str, MetadataValue]:
    """Return the flat metadata of a record: its own keys and every derived one.

    Args:
        record: a record that passed the gate; never changed.
        register: equipment ids to component ids, for records that name no component.
    """
    flat: dict[str, Any] = dict(record["metadata"])
    provenance: Mapping[str, Any] = record["provenance"]

    def derive(values: Iterable[tuple[str, Any]]) -> None:
        for key, value in values:
            flat.setdefault(key, value)

    derive((key, record.get(key)) for key in ("record_id", "doc_id", "doc_type", "chunk_index"))
    derive([("chunk_id", provenance.get("chunk_id"))])
    derive((key, provenance.get(key)) for key in ("page_start", "page_end", "authority_level", "section_role"))
    components = with_registered(record["metadata"], register or {})
    if components:
        derive([("primary_component_id", components[0])])
        flat["component_ids"] = components  # the whole list as a list, whichever way the record spelled it
    derive(_condition(record.get("condition_assessment") or record["metadata"].get("condition_assessment")))
    status_type = normalize_doc_type(record["metadata"].get("doc_type") or record.get("doc_type"))
    derive([("finding_status", FINDING_STATUS.get(status_type, OTHER_STATUS))])
    derive(_cause_analysis(record.get("eca")))
    derive(_operating_experience(record.get("oe_metadata")))
    enrichment = record.get("enrichment")
    if isinstance(enrichment, Mapping):
        derive(_entities(enrichment.get("extracted_entities")))
        stage = enrichment.get("stage5_causal_condition")
        derive(_statements(stage.get("extracted_causal_statements") if isinstance(stage, Mapping) else None))
    for name in LIST_FIELDS:
        if isinstance(flat.get(name), list):
            flat[f"{name}_text"] = SEPARATOR.join(str(item) for item in flat[name] if item is not None)
    return {key: kept for key, value in flat.items() if (kept := sanitize_value(value)) is not None}


def sanitize_value(value: Any) -> MetadataValue | None:
    """Return a value as stores keep it, or None to drop it.

    Lists of text stay lists; other lists and objects become JSON text. Non-finite numbers are dropped: no two stores
    agree on them.
    """
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else list(value)
        if all(isinstance(item, str) for item in items):
            return items or None
        return json.dumps(items, ensure_ascii=False, default=str)
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value)


def _condition(block: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(block, Mapping):
        return
    for name in ("as_found_condition", "as_left_condition", "as_found_text", "as_left_text"):
        if block.get(name) is not None:
            yield f"ca_{name}", block[name]
    summary = _measurement(block.get("measurements"))
    if summary:
        yield "ca_measurement_summary", summary


def _measurement(measurements: Any) -> str | None:
    """Return the first measurement out of specification, else the first of all, in words."""
    if not isinstance(measurements, list) or not measurements:
        return None
    out = [item for item in measurements if isinstance(item, Mapping) and item.get("in_spec") is False]
    chosen = out[0] if out else measurements[0]
    if not isinstance(chosen, Mapping):
        return None
    within = "(OOS)" if "in_spec" in chosen and not chosen["in_spec"] else "(in-spec)"
    return f"{chosen.get('parameter', '?')}={chosen.get('value', '?')}{chosen.get('unit', '')} {within}"


def _cause_analysis(block: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(block, Mapping):
        return
    if isinstance(block.get("confidence"), (int, float)):
        yield "eca_confidence", float(block["confidence"])
    factors = block.get("causal_factors")
    if isinstance(factors, list) and factors:
        yield "eca_causal_factors_text", SEPARATOR.join(str(factor) for factor in factors if factor)
    if block.get("rationale"):
        yield "eca_rationale_excerpt", str(block["rationale"])[:RATIONALE_CHARACTERS]


def _operating_experience(block: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(block, Mapping):
        return
    for name in ("issuing_body", "oe_number", "plant_scope", "similarity_basis"):
        if block.get(name) is not None:
            yield f"oe_{name}", str(block[name])
    for name in ("applicable_system_types", "applicable_component_types"):
        values = block.get(name)
        if isinstance(values, list) and values:
            yield f"oe_{name}", values
            yield f"oe_{name}_text", SEPARATOR.join(str(value) for value in values)


def _entities(block: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(block, Mapping):
        return
    for name in ("doc_refs", "alarm_ids"):
        if isinstance(block.get(name), list) and block[name]:
            yield name, block[name]
    texts = {
        "temporal_refs_text": _listed(block.get("temporal_refs"), _as_text),
        "ner_measurements_text": _listed(block.get("measurements"), _entity_measurement),
        "conjectures_text": _listed(block.get("conjectures"), _as_text),
        "locations_text": _listed(block.get("locations"), _location),
    }
    yield from ((name, SEPARATOR.join(items)) for name, items in texts.items() if items)
    relations = block.get("temporal_relations")
    if isinstance(relations, list):
        labels = [str(item["sub_label"]) for item in relations if isinstance(item, Mapping) and item.get("sub_label")]
        if labels:
            yield "dominant_temporal_relation", Counter(labels).most_common(1)[0][0]


def _listed(values: Any, text_of: Any) -> list[str]:
    return [text for value in values if (text := text_of(value))] if isinstance(values, list) else []


def _as_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("text") or "")
    return "" if value is None else str(value)


def _location(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("text") or value.get("sub_label") or "")
    return value if isinstance(value, str) else ""


def _entity_measurement(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ""
    amount = value.get("value", value.get("parameter"))
    unit = value.get("unit") or ""
    return f"{'' if amount is None else amount}{unit}".strip()


def _statements(values: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        return
    lines, best = [], 0.0
    for statement in list(values)[:MAX_STATEMENTS]:
        if not isinstance(statement, Mapping):
            continue
        parts = [str(statement.get(name) or "").strip() for name in ("cause_text", "connector", "effect_text")]
        lines.append(" ".join(part for part in parts if part))
        confidence = statement.get("confidence")
        if isinstance(confidence, (int, float)) and math.isfinite(confidence):
            best = max(best, float(confidence))
    lines = [line for line in lines if line]
    if lines:
        yield "causal_statements_text", SEPARATOR.join(lines)
    if best > 0:
        yield "causal_confidence_max", round(best, 3)
