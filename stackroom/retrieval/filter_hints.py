"""Why a filter matched nothing, as far as the fields it names can say: unknown ones, and values of another kind."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from stackroom.stores.filter_language import fields_of
from stackroom.stores.names import SHADOW_SUFFIX

_COMBINATORS = ("$and", "$or")
_NUMBERED = re.compile(r"(.*[a-z]_)(0|[1-9][0-9]{0,8})")
MOST_FIELDS = 12
"""Fields that are named to somebody who asked for one there is not."""
_NUMBERS = ("int", "float")
_INTERNAL = ("file_hash", "readable_id", "chunk_index", "source_id", "file_name", "page_first", "page_last", "kind")
"""Fields that the pipeline sets; named last, because people mean the others."""


def filter_hints(canonical: Mapping[str, Any], fields: Mapping[str, str], offered: Collection[str] = ()) -> list[str]:
    """Return what may be wrong with a filter that matched nothing.

    Args:
        canonical: the filter in canonical form.
        fields: the metadata fields that chunks have, with their kinds (``list``, ``string``, ``int``, …).
        offered: fields that the settings offer for filters, whether a chunk has them or not.
    """
    shown = {name: kind for name, kind in fields.items() if not name.endswith(SHADOW_SUFFIX)}
    hints: list[str | None] = [
        f"no chunk has a value of {name!r}" if name in offered else _unknown(name, shown)
        for name in sorted(fields_of(canonical) - shown.keys())
    ]
    for name, operator, operand in _clauses(canonical):
        hints += [_other_kind(name, operator, operand, shown[name])] if name in shown else []
    return list(dict.fromkeys(hint for hint in hints if hint))


def _unknown(name: str, fields: Mapping[str, str]) -> str:
    public = [field for field in fields if not field.startswith("_")]
    close = difflib.get_close_matches(name, public, n=1)
    meant = f", did you mean {close[0]!r}?" if close else ""
    ordered = sorted(_families(public), key=lambda field: (field in _INTERNAL, field))
    more = len(ordered) - MOST_FIELDS
    listed = [*ordered[:MOST_FIELDS], *([f"… and {more} more"] if more > 0 else [])]
    return f"no chunk has the field {name!r}{meant} (fields: {', '.join(listed) or 'none'})"


def _families(fields: Collection[str]) -> list[str]:
    """Return the fields, those that differ in a number at the end (``url_1``, ``url_2``) as one ``url_1…url_2``."""
    families: dict[str, list[int]] = {}
    for field in fields:
        numbered = _NUMBERED.fullmatch(field)
        if numbered:
            families.setdefault(numbered[1], []).append(int(numbered[2]))
    several = {stem: numbers for stem, numbers in families.items() if len(numbers) > 1}
    folded = {f"{stem}{number}" for stem, numbers in several.items() for number in numbers}
    spans = [f"{stem}{min(numbers)}…{stem}{max(numbers)}" for stem, numbers in several.items()]
    return [*(field for field in fields if field not in folded), *spans]


def _other_kind(name: str, operator: str, operand: Any, kind: str) -> str | None:
    """Return what is wrong with a clause; None if its operand suits the field."""
    values = operand if isinstance(operand, list) else [operand]
    if kind == "list" and operator != "$contains":
        return f'{name!r} is a list; ask for one of its members with {{"{name}": {{"$contains": "…"}}}}'
    if kind in _NUMBERS and any(isinstance(value, str) for value in values):
        return f"{name!r} holds numbers; write them without quotes"
    if kind == "string" and any(isinstance(value, (int, float)) for value in values):
        return f"{name!r} holds text; write values in quotes"
    return None


def _clauses(canonical: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield field, operator and operand of every clause."""
    for key, value in canonical.items():
        if key in _COMBINATORS:
            for member in value:
                yield from _clauses(member)
        else:
            yield from ((key, operator, operand) for operator, operand in value.items())
