"""Fingerprints: what an artefact depends on, as a hash that can be explained.

Equal fingerprint means there is nothing to do. The ingredients are stored beside the hash, so that a person can be
told *why* something ran again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fingerprint:
    """A stage's fingerprint together with the ingredients it was computed from."""

    digest: str
    """32 hexadecimal characters."""
    ingredients: Mapping[str, Any]


def fingerprint(stage: str, version: int, **ingredients: Any) -> Fingerprint:
    """Compute the fingerprint of a stage's artefact.

    Args:
        stage: stage name.
        version: version of the stage's code; raised whenever its output for the same input changes.
        ingredients: everything else the output depends on: content hash, settings, model identity, upstream digests.
            JSON-serialisable.
    """
    everything = {"stage": stage, "version": version, **ingredients}
    canonical = json.dumps(everything, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return Fingerprint(hashlib.sha256(canonical.encode("utf-8")).hexdigest()[:32], everything)


def explain(recorded: Mapping[str, Any] | None, required: Mapping[str, Any]) -> str:
    """Say in words why an artefact with the recorded ingredients does not serve the required ones.

    Returns:
        ``"first time"``, ``"nothing changed"``, or a list such as ``"max_tokens 256 → 200; content_hash changed"``.
    """
    if recorded is None:
        return "first time"
    changes = []
    for key in sorted(recorded.keys() | required.keys()):
        old, new = recorded.get(key), required.get(key)
        if old == new:
            continue
        brief = all(isinstance(value, (int, float, bool, type(None))) or len(str(value)) <= 24 for value in (old, new))
        changes.append(f"{key} {old} → {new}" if brief else f"{key} changed")
    return "; ".join(changes) or "nothing changed"
