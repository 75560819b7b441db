"""The filter language: what a filter may say, its canonical form, and the evaluator that defines what it means.

A filter is a mapping. Keys are metadata fields or ``$and`` / ``$or``; a field's value is a bare scalar (equality) or
``{operator: operand}``. What it means is defined by :func:`matches` and by nothing else; backends translate a filter
only to answer it faster.

* A document without the field never matches, under any operator; a stored None counts as absent.
* Types are strict: ``2020`` is not ``"2020"`` and ``True`` is not ``1``; int and float compare as numbers.
* Order is defined between numbers, and between texts (by code point). Nothing else is greater or less.
* Lists match only through ``$contains``: the list has this element. On a text, ``$contains`` looks for a part of it.
"""

import math
from collections.abc import Mapping
from typing import Any

from stackroom.errors import FilterError

Scalar = str | int | float | bool
Canonical = dict[str, Any]
"""A validated filter: exactly one key at every level, and exactly one operator in every field clause."""

COMBINATORS = ("$and", "$or")
LIST_OPERATORS = ("$in", "$nin")
ORDER_OPERATORS = ("$gt", "$gte", "$lt", "$lte")
OPERATORS = ("$eq", "$ne", *ORDER_OPERATORS, *LIST_OPERATORS, "$contains")

_MAX_DEPTH = 40
"""Levels of nesting. A person writes two or three; without a bound a hostile filter exhausts the stack."""

EXACT_INTEGERS = 2**53
"""Integers up to here are exact as 64-bit floating point numbers, which is how some backends compare numbers."""


def validate_metadata_filter(f: Any) -> Canonical:
    """Return the canonical form of a filter.

    Several keys, and several operators on one field, become members of an ``$and`` in their order; a combinator with
    one member becomes that member. Operands are not changed.

    Raises:
        FilterError: it is not a sentence of the language; the message names the clause and what is allowed.
    """
    if not isinstance(f, Mapping) or not f:
        raise FilterError(f"a filter is a non-empty mapping of fields to conditions, not {f!r}")
    return _normalise(f, 0)


def _normalise(f: Mapping[Any, Any], depth: int) -> Canonical:
    if depth > _MAX_DEPTH:
        raise FilterError(f"the filter is nested more than {_MAX_DEPTH} levels deep")
    return _joined("$and", [_clause(key, value, depth) for key, value in f.items()])


def _joined(combinator: str, members: list[Canonical]) -> Canonical:
    return members[0] if len(members) == 1 else {combinator: members}


def _clause(key: Any, value: Any, depth: int) -> Canonical:
    if not isinstance(key, str) or not key:
        raise FilterError(f"{key!r} is not the name of a metadata field")
    if key in COMBINATORS:
        return _joined(key, [_member(key, member, depth) for member in _members(key, value)])
    if key.startswith("$"):
        raise FilterError(f"{key!r} is not a combinator; allowed are $and and $or")
    if not isinstance(value, Mapping):
        return {key: {"$eq": _operand(key, "$eq", value)}}
    if not value:
        raise FilterError(f"the condition on {key!r} is empty; give a value or {{operator: value}}")
    return _joined("$and", [{key: {op: _operand(key, op, operand)}} for op, operand in value.items()])


def _members(combinator: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise FilterError(f"{combinator} takes a non-empty list of conditions, not {value!r}")
    return value


def _member(combinator: str, member: Any, depth: int) -> Canonical:
    if not isinstance(member, Mapping) or len(member) != 1:
        raise FilterError(f"every member of {combinator} is a mapping with one key, not {member!r}")
    return _normalise(member, depth + 1)


def _operand(key: str, operator: Any, operand: Any) -> Any:
    if operator not in OPERATORS:
        raise FilterError(f"{operator!r} on {key!r} is not an operator; allowed are {' '.join(OPERATORS)}")
    if operator not in LIST_OPERATORS:
        return _scalar(key, operator, operand)
    if not isinstance(operand, list) or not operand:
        raise FilterError(f"{operator} on {key!r} takes a non-empty list of values, not {operand!r}")
    return [_scalar(key, operator, member) for member in operand]


def _scalar(key: str, operator: str, operand: Any) -> Scalar:
    if not isinstance(operand, (str, int, float)):
        raise FilterError(f"{operator} on {key!r} takes text, a number or a truth value, not {operand!r}")
    if isinstance(operand, float) and not math.isfinite(operand):
        raise FilterError(f"{operator} on {key!r} takes a finite number, not {operand!r}")
    return operand


def kind_of(value: Any) -> str:
    """Return the kind of a value, in the sense in which types are strict: text, number, flag, list, or none."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, (int, float)):
        return "number"
    return "list" if isinstance(value, (list, tuple)) else "none"


def matches(metadata: Mapping[str, Any], canonical: Mapping[str, Any]) -> bool:
    """Say whether a document's metadata satisfies a filter. This is the definition of the language.

    Args:
        metadata: the stored values of a document.
        canonical: a filter as :func:`validate_metadata_filter` returns it.
    """
    ((key, condition),) = canonical.items()
    if key == "$and":
        return all(matches(metadata, member) for member in condition)
    if key == "$or":
        return any(matches(metadata, member) for member in condition)
    ((operator, operand),) = condition.items()
    return value_matches(metadata.get(key), operator, operand)


def value_matches(value: Any, operator: str, operand: Any) -> bool:
    """Say whether one stored value (None: absent) satisfies one condition."""
    kind = kind_of(value)
    if kind == "none":
        return False
    if operator == "$contains":
        return _contains(value, kind, operand)
    if kind == "list":
        return False
    if operator in ORDER_OPERATORS:
        return kind == kind_of(operand) and kind != "flag" and _ordered(value, operator, operand)
    members = operand if operator in LIST_OPERATORS else [operand]
    found = any(kind == kind_of(member) and value == member for member in members)
    return found == (operator in ("$eq", "$in"))


def _contains(value: Any, kind: str, operand: Scalar) -> bool:
    if kind == "list":
        return any(kind_of(element) == kind_of(operand) and element == operand for element in value)
    return kind == "text" and isinstance(operand, str) and operand in value


def _ordered(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$gt":
        return bool(value > operand)
    if operator == "$gte":
        return bool(value >= operand)
    return bool(value < operand if operator == "$lt" else value <= operand)


def fields_of(f: Mapping[str, Any]) -> set[str]:
    """Return the names of all fields a filter mentions, at any depth; the filter need not be canonical."""
    names: set[str] = set()
    for key, value in f.items():
        if key in COMBINATORS:
            for member in value:
                names |= fields_of(member)
        else:
            names.add(key)
    return names


def is_portable(value: Scalar) -> bool:
    """Say whether every backend can be given this value and compares it exactly.

    Not portable are numbers that lose digits as 64-bit floating point, and texts with NUL or unpaired surrogates.
    Clauses with such operands are left to the evaluator.
    """
    if isinstance(value, str):
        return "\x00" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    return -EXACT_INTEGERS < value < EXACT_INTEGERS
