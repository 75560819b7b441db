"""The form a language model fills in to search: a query text and one typed, optional field per filter field.

The JSON schema of the form holds no open-ended objects, so that strict structured output does not close a mapping
nobody can then fill.
"""

import keyword
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field, create_model

from stackroom.config import FilterField
from stackroom.stores.filters import normalize_config_filters

_LOG = logging.getLogger(__name__)
QUERY_FIELD = "search_query"


class IntRange(BaseModel):
    """Bounds on a whole number."""

    eq: int | None = None
    gte: int | None = None
    lte: int | None = None


class FloatRange(BaseModel):
    """Bounds on a number."""

    eq: float | None = None
    gte: float | None = None
    lte: float | None = None


_OPERANDS: Mapping[str, Any] = {
    "string": str | list[str] | None,
    "int": int | list[int] | IntRange | None,
    "float": float | list[float] | FloatRange | None,
    "list": list[str] | None,
}
_schemas: dict[tuple[tuple[str, str, str], ...], type[BaseModel]] = {}
_lock = threading.Lock()


def build_retrieval_query_schema(fields: Sequence[FilterField]) -> type[BaseModel]:
    """Return the form for some filter fields; equal sets of fields give the same class.

    Args:
        fields: what may be filtered on. A field named ``search_query``, one whose name is not a usable identifier
            (or begins with an underscore), and a repeated name are left out with a warning.
    """
    usable: dict[str, FilterField] = {}
    for field in fields:
        if field.name in usable:
            _LOG.warning("the filter field %r is declared twice; the first declaration is used", field.name)
        elif field.name == QUERY_FIELD or not _usable(field.name):
            _LOG.warning("the filter field %r cannot be a field of a query and is left out", field.name)
        else:
            usable[field.name] = field
    key = tuple(sorted((field.name, field.value_type, field.description) for field in usable.values()))
    with _lock:
        if key not in _schemas:
            _schemas[key] = _build(list(usable.values()))
        return _schemas[key]


def _usable(name: str) -> bool:
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("_")
        and not hasattr(BaseModel, name)
    )


def _build(fields: Sequence[FilterField]) -> type[BaseModel]:
    members: dict[str, Any] = {
        field.name: (_OPERANDS[field.value_type], Field(default=None, description=field.description or None))
        for field in fields
    }
    query = (str, Field(default="", description="Words to search for."))
    return create_model("RetrievalQueryForm", **{QUERY_FIELD: query, **members})


@dataclass(frozen=True)
class RetrievalQuery:
    """What a filled-in form asks for."""

    search_query: str
    filters: Mapping[str, Any]
    """Operands as given, without the empty ones."""
    config_filters: Sequence[dict[str, Any]]
    """The same as clauses of the filter language."""

    def to_metadata_filter(self) -> dict[str, Any] | None:
        """Return one filter that holds all clauses; None without any."""
        if not self.config_filters:
            return None
        clauses = list(self.config_filters)
        return clauses[0] if len(clauses) == 1 else {"$and": clauses}


def query_of_form(form: BaseModel, fields: Sequence[FilterField]) -> RetrievalQuery:
    """Return what a filled-in form asks for.

    Args:
        form: an instance of what :func:`build_retrieval_query_schema` gave.
        fields: the filter fields it was built for.

    Raises:
        FilterError: an operand is not allowed in the filter language.
    """
    given = form.model_dump(exclude_none=True)
    query = str(given.pop(QUERY_FIELD, ""))
    filters: dict[str, Any] = {}
    for name, operand in given.items():
        if isinstance(operand, dict):
            bounds = {f"${bound}": value for bound, value in operand.items()}
            if bounds:
                filters[name] = bounds
        else:
            filters[name] = operand
    return RetrievalQuery(query, filters, normalize_config_filters(filters, list(fields)))
