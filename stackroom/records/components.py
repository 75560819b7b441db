"""Which components a record is about; lists are kept whole, so that a filter sees the last one as well as the first."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stackroom.errors import RecordError

Register = Mapping[str, tuple[str, ...]]
"""Equipment id (upper case) to component ids."""


def record_component_ids(metadata: Mapping[str, Any]) -> list[str]:
    """Return the component ids of a record: ``component_id`` first, then ``component_ids``, without repetition.

    ``component_ids`` may be a list, or a string that holds a JSON list. Nulls and blanks are dropped.
    """
    found: list[str] = []
    single = metadata.get("component_id")
    if isinstance(single, str):
        found.append(single)
    found.extend(_items(metadata.get("component_ids")))
    return list(dict.fromkeys(item.strip() for item in found if item.strip()))


def with_registered(metadata: Mapping[str, Any], register: Register) -> list[str]:
    """Return the component ids of a record, looked up by its equipment ids where it names no component itself."""
    own = record_component_ids(metadata)
    if own or not register:
        return own
    equipment = _items(metadata.get("equipment_ids"))
    found = (component for name in equipment for component in register.get(name.strip().upper(), ()))
    return list(dict.fromkeys(found))


def load_register(path: Path) -> Register:
    """Read a register file: a JSON object from equipment id to a component id or a list of them.

    Raises:
        RecordError: the file cannot be read or has another form.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"component register {path} cannot be read: {error}") from error
    if not isinstance(raw, dict):
        raise RecordError(f"component register {path} must be a JSON object from equipment id to component ids")
    register: dict[str, tuple[str, ...]] = {}
    for equipment, components in raw.items():
        listed = [components] if isinstance(components, str) else components
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise RecordError(f"component register {path}: {equipment!r} must be a component id or a list of them")
        register[equipment.strip().upper()] = tuple(listed)
    return register


def _items(value: Any) -> list[str]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return [str(item) for item in value if item is not None]
    return []
