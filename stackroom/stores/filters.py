"""Everything about metadata filters that other code uses: the language, its evaluator, and what is done to filters.

The language is defined in :mod:`stackroom.stores.filter_language`; translations for the backends are in
``filter_<backend>.py``, and this module brings them together under the names users of a retriever know.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from stackroom.config import FilterField
from stackroom.errors import FilterError
from stackroom.stores.filter_chroma import to_chroma_filter
from stackroom.stores.filter_language import (
    COMBINATORS,
    Canonical,
    fields_of,
    matches,
    validate_metadata_filter,
    value_matches,
)
from stackroom.stores.filter_pgvector import to_pgvector_filter
from stackroom.stores.filter_qdrant import to_qdrant_filter
from stackroom.stores.names import PERSON_FIELDS, filter_key, shadow_field

__all__ = [
    "filter_docs_by_metadata",
    "matches",
    "normalize_config_filters",
    "restrict_metadata_filter",
    "to_chroma_filter",
    "to_pgvector_filter",
    "to_qdrant_filter",
    "translate_metadata_filter",
    "validate_metadata_filter",
    "value_matches",
    "with_shadow_fields",
]

logger = logging.getLogger(__name__)


class HasMetadata(Protocol):
    """Anything that carries metadata: a stored row, a hit, a document."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata values by key."""
        ...


_Document = TypeVar("_Document", bound=HasMetadata)


def filter_docs_by_metadata(docs: Sequence[_Document], f: Mapping[str, Any]) -> list[_Document]:
    """Return the documents that match a filter, in their order.

    Raises:
        FilterError: ``f`` is not a filter; also raised when there are no documents.
    """
    canonical = validate_metadata_filter(f)
    kept = [document for document in docs if matches(document.metadata, canonical)]
    logger.debug("%d of %d documents match %s", len(kept), len(docs), canonical)
    return kept


def normalize_config_filters(filters: Mapping[str, Any], allowed_fields: Iterable[FilterField]) -> list[Canonical]:
    """Return the clauses for the filter values a model or a user gave, one per declared field, in their order.

    Undeclared fields and empty lists are skipped with a warning. A mapping is taken as ``{operator: operand}``. On a
    field of type ``list`` every given value is required; on other fields a list means any of its values.

    Args:
        filters: field name to a value, a list of values, or ``{operator: operand}``.
        allowed_fields: the fields of the domain; of two with the same name the later one counts.

    Raises:
        FilterError: an operator expression is malformed. Bare values are not checked here.
    """
    types = {field.name: field.value_type for field in allowed_fields}
    clauses: list[Canonical] = []
    for name, operand in filters.items():
        if name not in types:
            logger.warning("filter field %r is not declared and was left out", name)
        elif isinstance(operand, Mapping):
            clauses.append(validate_metadata_filter({name: operand}))
        elif isinstance(operand, (list, tuple)) and not operand:
            logger.warning("the list of values for filter field %r is empty; it was left out", name)
        else:
            clauses.append(_config_clause(name, types[name], operand))
    return clauses


def _config_clause(name: str, value_type: str, operand: Any) -> Canonical:
    if value_type != "list":
        return {name: {"$in": list(operand)} if isinstance(operand, (list, tuple)) else {"$eq": operand}}
    values = operand if isinstance(operand, (list, tuple)) else [operand]
    members: list[Canonical] = [{name: {"$contains": value}} for value in values]
    return members[0] if len(members) == 1 else {"$and": members}


def restrict_metadata_filter(
    metadata_filter: Mapping[str, Any] | None, allowed_field_names: Iterable[str]
) -> dict[str, Any] | None:
    """Return the part of a filter that speaks only of the given fields; None when nothing is left.

    A clause is a member of a top-level ``$and``, else a top-level key. It is kept whole or dropped whole.
    """
    if not metadata_filter:
        return None
    allowed = set(allowed_field_names)
    clauses: list[dict[str, Any]]
    if list(metadata_filter) == ["$and"]:
        clauses = list(metadata_filter["$and"])
    else:
        clauses = [{key: value} for key, value in metadata_filter.items()]
    kept = [clause for clause in clauses if fields_of(clause) <= allowed]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else {"$and": kept}


_TRANSLATORS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "chroma": to_chroma_filter,
    "qdrant": to_qdrant_filter,
    "pgvector": to_pgvector_filter,
    "sqlite": validate_metadata_filter,
    "memory": validate_metadata_filter,
}


def translate_metadata_filter(path: str, f: Mapping[str, Any]) -> Any:
    """Return a filter in the form of the backend of a store URI.

    Raises:
        FilterError: the URI has no scheme or an unknown one, or ``f`` is not a filter.
    """
    scheme, colon, _ = path.partition(":")
    if not colon or scheme.lower() not in _TRANSLATORS:
        raise FilterError(f"{path!r} is not a store URI; its scheme must be one of {', '.join(_TRANSLATORS)}")
    return _TRANSLATORS[scheme.lower()](f)


def with_shadow_fields(canonical: Mapping[str, Any]) -> Canonical:
    """Return a canonical filter in which names of people are also looked up in the shadow field of their field.

    ``{"authors": {"$contains": "Sinha, A."}}`` then finds "Ankur Sinha", however the name was spelt.
    """
    ((key, condition),) = canonical.items()
    if key in COMBINATORS:
        return {key: [with_shadow_fields(member) for member in condition]}
    if key in PERSON_FIELDS and isinstance(condition.get("$contains"), str):
        wanted = filter_key(condition["$contains"])
        if wanted:
            return {"$or": [{key: condition}, {shadow_field(key): {"$contains": wanted}}]}
    return {key: condition}
