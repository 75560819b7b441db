"""What makes a stage an asset: description, kinds, checks, and how its summary is shown. No stage logic here."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import dagster as dg

from stackroom.config import Config
from stackroom.stages.order import Stage

Summary = Mapping[str, Any]


@dataclass(frozen=True)
class StageAsset:
    """A stage as Dagster shows it."""

    stage: Stage
    description: str
    kinds: frozenset[str]
    show: Callable[[Summary], dict[str, dg.MetadataValue]]
    """Turns the stage's summary into what the UI shows."""
    checks: Mapping[str, str] = field(default_factory=dict)
    """Check name to description."""
    failure_check: tuple[str, str] = ("", "")
    """(stage, check) that fails when this stage fails."""

    @property
    def name(self) -> str:
        """Stage name."""
        return self.stage.name


def asset_key(corpus: str, name: str) -> dg.AssetKey:
    """Return the key of a corpus's asset."""
    return dg.AssetKey([corpus, name])


def pool_name(config: Config, corpus: str) -> str:
    """Return the concurrency pool of runs that write to a corpus's store.

    An embedded store takes one writer at a time, so all corpora in one folder share a pool.
    """
    return pool_of_store(config.vector_store_uri(corpus))


def pool_of_store(uri: str) -> str:
    """Return the concurrency pool of runs that write to a store."""
    return f"store_{hashlib.sha256(uri.encode()).hexdigest()[:12]}"


def freshness(config: Config) -> dg.FreshnessPolicy | None:
    """Return when what is made of all files of a corpus together counts as stale in the UI."""
    hours = config.schedules.stale_after_hours
    if hours is None:
        return None
    return dg.FreshnessPolicy.time_window(timedelta(hours=hours), warn_window=timedelta(hours=0.75 * hours))


def asset_specs(corpus: str, stages: Sequence[StageAsset]) -> list[dg.AssetSpec]:
    """Return the specs of a corpus's per-file assets."""
    return [
        dg.AssetSpec(
            asset_key(corpus, stage.name),
            deps=[asset_key(corpus, need) for need in stage.stage.needs],
            description=stage.description,
            group_name=corpus,
            kinds=set(stage.kinds),
            owners=["team:library"],
            tags={"stackroom/corpus": corpus, "stackroom/stage": stage.name},
            code_version=str(stage.stage.version),
            skippable=True,
        )
        for stage in stages
    ]


def check_specs(
    corpus: str, stages: Sequence[StageAsset], partitions: dg.PartitionsDefinition
) -> list[dg.AssetCheckSpec]:
    """Return the partitioned checks of a corpus's per-file assets."""
    return [
        dg.AssetCheckSpec(
            check, asset=asset_key(corpus, stage.name), description=description, partitions_def=partitions
        )
        for stage in stages
        for check, description in stage.checks.items()
    ]
