"""Filters of record queries: the one filter language, and the names that record queries have for common wishes.

``filter_meta`` maps fields to values. A bare value means equality, a list means any of its values, a mapping is a
condition of the filter language, and ``$and``/``$or`` are its combinators. ``doc_ids`` and ``doc_types`` stand for
``doc_id`` and ``doc_type``; ``component_ids`` finds every record that names one of the components, wherever it stands
in the record's list. Nulls and empty lists mean "no condition".
"""

from collections.abc import Iterable, Mapping
from typing import Any

from stackroom.errors import FilterError
from stackroom.records.flatten import LIST_FIELDS
from stackroom.stores.filter_language import COMBINATORS, Canonical
from stackroom.stores.filters import validate_metadata_filter

ALIASES = {"doc_ids": "doc_id", "doc_types": "doc_type"}
COMPONENTS = "component_ids"
EVIDENCE_TYPES = ("CR", "WO", "SOP", "RCA", "ECA", "FMEA", "MANUAL")
"""Types that evidence is looked for in unless a query names others."""
_EVIDENCE_FILTERS = ("asset_id", "doc_ids", "doc_types", "component_ids")


def normalize_filter_meta(filter_meta: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the conditions on stored fields: aliases resolved (a later key wins), nulls and empty lists left out."""
    kept: dict[str, Any] = {}
    for key, value in (filter_meta or {}).items():
        if key == COMPONENTS or value is None or (_is_listed(value) and not list(value)):
            continue
        kept[ALIASES.get(key, key)] = value
    return kept


def wanted_components(filter_meta: Mapping[str, Any] | None) -> list[str]:
    """Return the components asked for, sorted; a bare text is one component.

    Raises:
        FilterError: one of them is not text.
    """
    value = (filter_meta or {}).get(COMPONENTS)
    if value is None:
        return []
    items = [item for item in value if item is not None] if _is_listed(value) else [value]
    if not all(isinstance(item, str) for item in items):
        raise FilterError(f"`{COMPONENTS}` takes component ids, not {value!r}")
    return sorted(set(items))


def record_filter(filter_meta: Mapping[str, Any] | None) -> Canonical | None:
    """Return ``filter_meta`` in the filter language, in canonical form; None where it sets no condition.

    Raises:
        FilterError: it cannot be said in the filter language; the message names the clause.
    """
    clauses = [
        clause for key, value in normalize_filter_meta(filter_meta).items() for clause in _clauses(key, value) if clause
    ]
    wanted = wanted_components(filter_meta)
    if wanted:
        members: list[dict[str, Any]] = [{COMPONENTS: {"$contains": component}} for component in wanted]
        clauses.append({"$or": [*members, {"primary_component_id": {"$in": wanted}}]})
    if not clauses:
        return None
    return validate_metadata_filter(clauses[0] if len(clauses) == 1 else {"$and": clauses})


def evidence_query(
    filters: Mapping[str, Any] | None, top_k: int, most: int = 10, default_types: Iterable[str] = EVIDENCE_TYPES
) -> tuple[list[str], dict[str, Any], int]:
    """Return the document types, the ``filter_meta`` and the number of hits for a query of an evidence store.

    Args:
        filters: ``asset_id``, ``doc_ids``, ``doc_type`` and ``component_ids`` count, others are ignored.
        top_k: hits wanted.
        most: most hits ever given.
        default_types: types asked when the filters name none.
    """
    given = dict(filters or {})
    types = given.get("doc_type")
    named = [types] if isinstance(types, str) else list(types or ())
    if named:
        given["doc_types"] = named
    passed = {key: given[key] for key in _EVIDENCE_FILTERS if given.get(key)}
    return named or list(default_types), passed, min(top_k, most)


def _clauses(key: str, value: Any) -> list[dict[str, Any]]:
    if key in COMBINATORS or isinstance(value, Mapping):
        return [{key: value}]
    values = [item for item in value if item is not None] if _is_listed(value) else [value]
    if not values:
        return []
    if key in LIST_FIELDS:  # kept as lists, which match by what they contain
        members = [{key: {"$contains": item}} for item in values]
        return [members[0] if len(members) == 1 else {"$or": members}]
    return [{key: {"$in": values}} if _is_listed(value) else {key: {"$eq": value}}]


def _is_listed(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))
