"""One dynamic partitions definition per corpus; a partition is a file. No loop and no stage stands here."""

import dagster as dg

from stackroom.identity import partition_key, source_of_partition

CORPUS_TAG = "stackroom/corpus"
"""Tag of every run of a corpus; queued and running runs are found by it."""

BATCH = 500
"""Keys added or deleted in one statement; SQLite limits the variables of a statement."""


def partitions_name(corpus: str) -> str:
    """Return the name of a corpus's partitions definition."""
    return f"{corpus}__sources"


def sources_partitions(corpus: str) -> dg.DynamicPartitionsDefinition:
    """Return the partitions definition of a corpus."""
    return dg.DynamicPartitionsDefinition(name=partitions_name(corpus))


def add_sources(instance: dg.DagsterInstance, corpus: str, sources: list[str]) -> None:
    """Add partitions for sources that have none yet."""
    keys = [partition_key(source) for source in sources]
    for start in range(0, len(keys), BATCH):
        instance.add_dynamic_partitions(partitions_name(corpus), keys[start : start + BATCH])


def remove_sources(instance: dg.DagsterInstance, corpus: str, sources: list[str]) -> None:
    """Remove the partitions of sources that are gone."""
    existing = set(instance.get_dynamic_partitions(partitions_name(corpus)))
    for source in sources:
        key = partition_key(source)
        if key in existing:
            instance.delete_dynamic_partition(partitions_name(corpus), key)


def known_sources(instance: dg.DagsterInstance, corpus: str) -> list[str]:
    """Return the sources that have partitions, in the order in which ranged runs see them."""
    return [source_of_partition(key) for key in instance.get_dynamic_partitions(partitions_name(corpus))]
