"""Forgetting a record set: its collections, indexes, artefacts and notes go, its JSONL files stay.

As with a corpus (:mod:`stackroom.stages.forgetting`), a crash in the middle is finished by forgetting again.
"""

from stackroom.config import Config
from stackroom.errors import ConfigError
from stackroom.records.bench import registry_path
from stackroom.records.naming import corpus_of
from stackroom.records.registry import Registry
from stackroom.stages import forgetting
from stackroom.stages.forgetting import Traces
from stackroom.state import StateFolder


def check_forgettable(config: Config, record_set: str) -> None:
    """Make sure that a record set may be forgotten.

    Raises:
        ConfigError: stackroom.yaml names it; the next ingestion would make everything again.
    """
    if record_set in config.records:
        raise ConfigError(
            f"{config.file_in_words} names the record set {record_set}; remove its entry under `records` first, then "
            "forget it. Its files are left alone in any case"
        )


def traces(config: Config, record_set: str) -> Traces:
    """Find what there is of a record set.

    Raises:
        StoreError: the registry or the manifest cannot be read.
    """
    return forgetting.traces(config, corpus_of(record_set), _collections(config, record_set))


def forget(config: Config, record_set: str, *, leave_unreachable: bool = False) -> Traces:
    """Delete what was made of a record set and return what there was.

    Args:
        config: the project's settings.
        record_set: name; see :func:`check_forgettable`.
        leave_unreachable: forget collections in stores that cannot be reached, and leave their rows there.

    Raises:
        StoreError: a store cannot be reached; nothing is deleted then.
    """
    found = forgetting.forget(
        config,
        corpus_of(record_set),
        collections=_collections(config, record_set),
        leave_unreachable=leave_unreachable,
    )
    path = registry_path(StateFolder(config.state_folder))
    if path.exists():
        registry = Registry(path)
        registry.forget_set(record_set)
        registry.close()
    return found


def _collections(config: Config, record_set: str) -> list[tuple[str, str]]:
    """Return store URI and name of the collections that only this record set has written to."""
    path = registry_path(StateFolder(config.state_folder))
    if not path.exists():
        return []
    registry = Registry(path)
    try:
        return [
            (known.store, known.collection)
            for known in registry.collections(record_set)
            if registry.sets_of(known.store, known.collection) == [record_set]
        ]
    finally:
        registry.close()
