"""Filters as SQL conditions on a JSONB column ``metadata``; exact for all operands that can be bound.

Equality and ``$contains`` are JSON containment (``metadata @> {"tags": ["a"]}``), which a GIN index answers and which
never confuses a text with a list or a number with a text. Comparisons are written as the expressions that
:func:`number_expression` and :func:`text_expression` give, so that indexes on them are used.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackroom.stores.filter_language import (
    LIST_OPERATORS,
    ORDER_OPERATORS,
    Scalar,
    is_portable,
    kind_of,
    validate_metadata_filter,
)
from stackroom.stores.filter_translation import Translation, translate

_SYMBOLS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_CONTAINMENTS = 50
"""Values up to which ``$in`` is written as one containment each, which the GIN index can answer."""


@dataclass(frozen=True)
class SqlCondition:
    """A condition with ``%s`` placeholders, and the values for them."""

    sql: str
    values: tuple[Any, ...] = ()


def to_pgvector_filter(f: Mapping[str, Any]) -> SqlCondition | None:
    """Return the condition that holds for every row matching a filter; None when SQL cannot be given its operands.

    Raises:
        FilterError: ``f`` is not a filter.
    """
    return pgvector_translation(validate_metadata_filter(f)).condition


def pgvector_translation(canonical: Mapping[str, Any]) -> Translation[SqlCondition]:
    """Translate a canonical filter."""
    return translate(canonical, _leaf, _join)


def _join(combinator: str, members: list[SqlCondition]) -> SqlCondition:
    word = " AND " if combinator == "$and" else " OR "
    return SqlCondition(
        "(" + word.join(member.sql for member in members) + ")",
        tuple(value for member in members for value in member.values),
    )


def _leaf(field: str, operator: str, operand: Any) -> Translation[SqlCondition]:
    values = operand if operator in LIST_OPERATORS else [operand]
    if not all(is_portable(value) for value in [field, *values]):
        return Translation(None, exact=False)
    if operator == "$contains":
        return Translation(_containing(field, operand), exact=True)
    if operator in ORDER_OPERATORS:
        return Translation(_compared(field, operator, operand), exact=True)
    if operator in ("$eq", "$in"):
        return Translation(_equal(field, values), exact=True)
    path = _path(field)
    condition = f"(jsonb_typeof({path}) IN ('string', 'number', 'boolean') AND {path} <> ALL(%s::jsonb[]))"
    return Translation(SqlCondition(condition, ([json.dumps(value) for value in values],)), exact=True)


def _equal(field: str, values: list[Scalar]) -> SqlCondition:
    if len(values) > _CONTAINMENTS:
        return SqlCondition(f"{_path(field)} = ANY(%s::jsonb[])", ([json.dumps(value) for value in values],))
    containments = " OR ".join(["metadata @> %s::jsonb"] * len(values))
    return SqlCondition(f"({containments})", tuple(json.dumps({field: value}) for value in values))


def _containing(field: str, operand: Scalar) -> SqlCondition:
    if not isinstance(operand, str):
        return SqlCondition("false")
    # "Is a text" stands by itself so that an index on the kind is used, and in a CASE because PostgreSQL may evaluate
    # position() first, which would look into the JSON text of a list.
    is_text = f"{kind_expression(field)} = 'string'"
    within = f"CASE WHEN {is_text} THEN position(%s::text IN metadata ->> {_literal(field)}) > 0 END"
    return SqlCondition(
        f"(metadata @> %s::jsonb OR ({is_text} AND {within}))", (json.dumps({field: [operand]}), operand)
    )


def _compared(field: str, operator: str, operand: Scalar) -> SqlCondition:
    symbol = _SYMBOLS[operator]
    if kind_of(operand) == "number":
        return SqlCondition(f"{number_expression(field)} {symbol} %s::numeric", (json.dumps(operand),))
    if kind_of(operand) == "text":
        return SqlCondition(f'{text_expression(field)} {symbol} %s::text COLLATE "C"', (operand,))
    return SqlCondition("false")


def kind_expression(field: str) -> str:
    """Return the SQL expression for the JSON type of a field."""
    return f"jsonb_typeof({_path(field)})"


def number_expression(field: str) -> str:
    """Return the SQL expression for a field as a number; NULL where it is none."""
    return f"(CASE WHEN {kind_expression(field)} = 'number' THEN (metadata ->> {_literal(field)})::numeric END)"


def text_expression(field: str) -> str:
    """Return the SQL expression for a field as a text, compared by code point; NULL where it is none."""
    return f"(CASE WHEN {kind_expression(field)} = 'string' THEN metadata ->> {_literal(field)} END)"


def _path(field: str) -> str:
    return f"(metadata -> {_literal(field)})"


def _literal(text: str) -> str:
    """Quote a text for SQL with standard strings, and for psycopg's placeholders.

    Field names stand in the statement itself, for only then can PostgreSQL see that an index is on that field.
    """
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"
