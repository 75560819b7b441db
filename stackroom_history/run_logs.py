"""Where Dagster keeps what runs print; named in ``dagster.yaml``."""

from collections.abc import Mapping
from typing import Any

from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._serdes import ConfigurableClassData

FOLDER = "runs"


class RunLogs(LocalComputeLogManager):
    """Dagster's own, with a folder per run inside one folder of their own instead of among everything else."""

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> "RunLogs":
        """Return the log manager that ``dagster.yaml`` describes; ``base_dir`` is the state folder."""
        return cls(inst_data=inst_data, **{**config_value, "base_dir": f"{config_value['base_dir']}/{FOLDER}"})
