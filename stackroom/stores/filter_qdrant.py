"""Filters as Qdrant filters, written as plain dictionaries so that nothing needs the client library.

Payload keys are the metadata keys. What Qdrant does otherwise than the language (local mode and server 1.16):

* every condition on a list tests its elements, so equality also lets lists through; the evaluator drops them;
* integers are matched as integers only; a range compares int and float as numbers, so equality of numbers is a range;
* order is defined between numbers only;
* an index serves ``except`` from the values it holds, and a keyword index holds no numbers and truth values.
"""

import re
from collections.abc import Collection, Mapping
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

Filter = dict[str, Any]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
"""Other keys would have to be quoted as JSON paths, which client and server do differently."""
TEXT_FIELDS = "_text_fields"
"""Payload key that lists the fields holding a text: Qdrant looks for words in texts, not for parts of them."""
_EVERY_NUMBER = {"gte": -1.7976931348623157e308}


def to_qdrant_filter(f: Mapping[str, Any]) -> Filter | None:
    """Return the Qdrant filter that lets through every row matching a filter; None when it cannot narrow at all.

    Raises:
        FilterError: ``f`` is not a filter.
    """
    return qdrant_translation(validate_metadata_filter(f)).condition


def qdrant_translation(canonical: Mapping[str, Any], keyword_indexes: Collection[str] = ()) -> Translation[Filter]:
    """Translate a canonical filter.

    Args:
        canonical: the filter.
        keyword_indexes: fields that have a keyword index.
    """

    def leaf(field: str, operator: str, operand: Any) -> Translation[Filter]:
        values = operand if operator in LIST_OPERATORS else [operand]
        if not _PLAIN_KEY.fullmatch(field) or not all(is_portable(value) for value in values):
            return Translation(None, exact=False)
        if operator in ORDER_OPERATORS:
            if kind_of(operand) != "number":
                return Translation(None, exact=False)
            return Translation(_must({"key": field, "range": {operator[1:]: float(operand)}}), exact=True)
        if operator == "$contains":
            return _containing(field, operand)
        if operator in ("$eq", "$in"):
            return _equal(field, values, single=operator == "$eq")
        return _unequal(field, values, field in keyword_indexes)

    return translate(canonical, leaf, lambda combinator, members: {_LISTS[combinator]: members})


_LISTS = {"$and": "must", "$or": "should"}


def _must(condition: Filter) -> Filter:
    return {"must": [condition]}


def _containing(field: str, operand: Scalar) -> Translation[Filter]:
    if not isinstance(operand, str):
        return Translation(None, exact=False)
    conditions = [{"key": field, "match": {"value": operand}}, {"key": TEXT_FIELDS, "match": {"value": field}}]
    return Translation({"should": conditions}, exact=False)


def _equal(field: str, values: list[Scalar], single: bool) -> Translation[Filter]:
    texts = [value for value in values if kind_of(value) == "text"]
    conditions: list[Filter] = []
    if texts:
        conditions.append({"key": field, "match": {"value": texts[0]} if single else {"any": texts}})
    for value in values:
        if kind_of(value) == "number":
            conditions.append({"key": field, "range": {"gte": float(value), "lte": float(value)}})
        elif kind_of(value) == "flag":
            conditions.append({"key": field, "match": {"value": value}})
    joined = _must(conditions[0]) if len(conditions) == 1 else {"should": conditions}
    return Translation(joined, exact=not texts)


def _unequal(field: str, values: list[Scalar], has_keyword_index: bool) -> Translation[Filter]:
    if any(kind_of(value) != "text" for value in values):
        return Translation(None, exact=False)
    other_text = {"key": field, "match": {"except": values}}
    if not has_keyword_index:
        return Translation(_must(other_text), exact=False)
    other_kinds = [
        {"key": field, "range": _EVERY_NUMBER},
        {"key": field, "match": {"value": True}},
        {"key": field, "match": {"value": False}},
    ]
    return Translation({"should": [other_text, *other_kinds]}, exact=False)
