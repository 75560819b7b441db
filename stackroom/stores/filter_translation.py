"""What a translation of a filter is, and the walk over a filter that all translations share.

A backend need not be able to say exactly what a filter says. Its translation must let through *every* row that
matches; the evaluator then drops the rest. So a clause a backend cannot express widens the condition: out of an
``$and`` it is left out, and an ``$or`` that has one says nothing at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Condition = TypeVar("Condition")


@dataclass(frozen=True)
class Translation(Generic[Condition]):
    """A backend's condition for a filter."""

    condition: Condition | None
    """None: the backend can say nothing, every row is let through."""
    exact: bool
    """The condition lets through the matching rows and no others."""


def translate(
    canonical: Mapping[str, Any],
    leaf: Callable[[str, str, Any], Translation[Condition]],
    join: Callable[[str, list[Condition]], Condition],
) -> Translation[Condition]:
    """Translate a canonical filter.

    Args:
        canonical: the filter.
        leaf: translates one clause, given field, operator and operand.
        join: joins two or more conditions, given ``"$and"`` or ``"$or"``.
    """
    ((key, condition),) = canonical.items()
    if key not in ("$and", "$or"):
        ((operator, operand),) = condition.items()
        return leaf(key, operator, operand)
    members = [translate(member, leaf, join) for member in condition]
    conditions = [member.condition for member in members if member.condition is not None]
    exact = all(member.exact for member in members)
    if not conditions or (key == "$or" and len(conditions) < len(members)):
        return Translation(None, exact=False)
    return Translation(conditions[0] if len(conditions) == 1 else join(key, conditions), exact)
