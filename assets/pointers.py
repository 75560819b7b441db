"""Pointers between events: what a partition was made from, and which materialization a check looked at.

Dagster adds them to the events it makes itself; ours are explicit (see `assets.events`). Without pointers the UI counts
every check of every file as missing and calls every file out of step with what it was made from.
"""

from collections.abc import Mapping, Sequence

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData

from assets.stage_asset import asset_key


class Pointers:
    """Latest materializations of the partitions of a corpus, read from Dagster's storage and remembered for a run."""

    def __init__(self, instance: dg.DagsterInstance, corpus: str) -> None:
        """Look into ``instance``."""
        self._instance = instance
        self._corpus = corpus
        self._latest: dict[str, dg.EventLogRecord | None] = {}
        self._partition: str | None = None

    def target(self, stage: str, partition: str | None) -> AssetCheckEvaluationTargetMaterializationData | None:
        """Return the materialization that a check evaluated now is about; None if there is none."""
        record = self._record(stage, partition)
        if record is None:
            return None
        return AssetCheckEvaluationTargetMaterializationData(
            storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp
        )

    def inputs(self, needs: Sequence[str], partition: str) -> Mapping[str, str]:
        """Return the tags of a materialization that say from which materializations it was made."""
        tags = {}
        for need in needs:
            record, name = self._record(need, partition), asset_key(self._corpus, need).to_user_string()
            made = record.asset_materialization if record else None
            if record is not None and made is not None:
                tags[f"dagster/input_event_pointer/{name}"] = str(record.storage_id)
                tags[f"dagster/input_data_version/{name}"] = (made.tags or {}).get("dagster/data_version", "")
        return tags

    def materialized(self, stage: str) -> None:
        """Note that a stage has been materialized again for the partition at hand."""
        self._latest.pop(stage, None)

    def _record(self, stage: str, partition: str | None) -> dg.EventLogRecord | None:
        if partition != self._partition:
            self._partition, self._latest = partition, {}
        if stage not in self._latest:
            only = None if partition is None else [partition]
            wanted = dg.AssetRecordsFilter(asset_key(self._corpus, stage), asset_partitions=only)
            self._latest[stage] = next(iter(self._instance.fetch_materializations(wanted, limit=1).records), None)
        return self._latest[stage]
