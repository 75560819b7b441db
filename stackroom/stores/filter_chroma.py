"""Filters as Chroma's ``where``.

Measured with chromadb 1.5.9; what Chroma does otherwise than the language:

* ``$ne`` and ``$nin`` also match rows without the field, and lists;
* order is defined between numbers only; a text operand is an error;
* a fractional operand is cut to an integer before it is compared with integers (2 is not below 2.5);
* ``$contains`` looks into lists, never into texts;
* ``$in`` takes values of one type only, and tells int from float there (elsewhere they compare as numbers).
"""

from collections.abc import Callable, Mapping
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

Where = dict[str, Any]


def to_chroma_filter(f: Mapping[str, Any]) -> Where | None:
    """Return the ``where`` that lets through every row matching a filter; None when Chroma cannot narrow it at all.

    Raises:
        FilterError: ``f`` is not a filter.
    """
    return chroma_translation(validate_metadata_filter(f)).condition


def chroma_translation(
    canonical: Mapping[str, Any], may_be_text: Callable[[str], bool] = lambda _: False
) -> Translation[Where]:
    """Translate a canonical filter.

    Args:
        canonical: the filter.
        may_be_text: says of a field whether rows may hold a text in it; ``$contains`` on such a field cannot be left
            to Chroma.
    """

    def leaf(field: str, operator: str, operand: Any) -> Translation[Where]:
        values = operand if operator in LIST_OPERATORS else [operand]
        if not all(is_portable(value) for value in [field, *values]):
            return Translation(None, exact=False)
        if any(isinstance(value, float) and value != int(value) for value in values):
            return _with_fraction(field, operator, values)
        if operator in LIST_OPERATORS:
            return _membership(field, operator, values)
        if operator in ORDER_OPERATORS and kind_of(operand) != "number":
            return Translation(None, exact=False)
        if operator == "$contains" and may_be_text(field):
            return Translation(None, exact=False)
        return Translation({field: {operator: operand}}, exact=operator != "$ne")

    return translate(canonical, leaf, lambda combinator, members: {combinator: members})


_INCLUSIVE = {"$gt": "$gte", "$gte": "$gte", "$lt": "$lte", "$lte": "$lte"}


def _with_fraction(field: str, operator: str, values: list[Scalar]) -> Translation[Where]:
    """Translate a clause with a fractional operand so that integers on either side of it are let through."""
    if operator in ("$ne", "$nin"):
        return Translation(None, exact=False)
    if operator in ORDER_OPERATORS:
        return Translation({field: {_INCLUSIVE[operator]: values[0]}}, exact=False)
    return Translation(_membership(field, "$in", values).condition, exact=False)


def _membership(field: str, operator: str, values: list[Scalar]) -> Translation[Where]:
    """Translate ``$in`` or ``$nin``, one clause per kind of value."""
    clauses: list[Where] = []
    for kind in ("text", "number", "flag"):
        members = [value for value in values if kind_of(value) == kind]
        if members and len({type(value) for value in members}) > 1:
            members = [float(value) for value in members]
        if members:
            clauses.append({field: {operator: members}})
    combinator = "$or" if operator == "$in" else "$and"
    return Translation(clauses[0] if len(clauses) == 1 else {combinator: clauses}, exact=operator == "$in")
