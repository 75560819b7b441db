"""Where the project is, and the environment its processes need."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackroom.config import CONFIG_FILE, STATE_VARIABLE, Config, load_config
from stackroom.errors import ConfigError, StoreError
from stackroom.space import why_not_writable

DEFAULTS = {
    # No library may fetch anything by itself; a model is used only if it is on disk.
    "HF_HUB_OFFLINE": "1",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",
    # Tokenizers warn about, and disable, their threads after a fork; chunks are tokenized one by one anyway.
    "TOKENIZERS_PARALLELISM": "false",
}
"""Environment variables set where the user has not set them."""


@dataclass(frozen=True)
class Options:
    """Options that stand before the name of the command."""

    project: Path | None

    def load(self) -> Config:
        """Find the project and read its settings.

        Raises:
            ConfigError: there is no project, or its settings are wrong.
        """
        for name, value in DEFAULTS.items():
            os.environ.setdefault(name, value)
        return load_config(find_project(self.project))


def find_project(named: Path | None, start: Path | None = None) -> Path:
    """Return the project folder, the one that holds ``stackroom.yaml``.

    Args:
        named: folder given by the user; taken as it is.
        start: where to look from, upwards, if none was given (default: the current folder).

    Raises:
        ConfigError: the named folder is none, or no folder from ``start`` upwards holds ``stackroom.yaml``.
    """
    if named is not None:
        if not named.is_dir():
            raise ConfigError(f"--project: {named} is not a folder")
        return named.resolve()
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG_FILE).is_file():
            return folder
    raise ConfigError(
        f"neither {start} nor a folder above it holds {CONFIG_FILE}; go to Stackroom's folder, or name it with "
        "--project or STACKROOM_PROJECT"
    )


def process_environment(config: Config, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a process that works with the project's Dagster instance.

    Args:
        config: the project's settings.
        environment: what to start from (default: this process's environment).
    """
    return {
        **DEFAULTS,
        **(os.environ if environment is None else environment),
        "DAGSTER_HOME": str(config.project_folder),
        STATE_VARIABLE: str(config.state_folder),
    }


def check_writable(config: Config) -> None:
    """Make sure that the state folder can be written.

    Raises:
        StoreError: it cannot; the message says why, and what to do.
    """
    unwritable = why_not_writable(config.state_folder)
    if unwritable is not None:
        raise StoreError(unwritable)


def check_code_location(config: Config) -> None:
    """Make sure that the project folder holds the Dagster definitions that ingest documents.

    Raises:
        ConfigError: it does not; only searching and looking are possible from there.
    """
    if not (config.project_folder / "assets" / "launch.py").is_file():
        raise ConfigError(
            f"{config.project_folder} holds no assets/ folder; ingestion and the UI run in Stackroom's own folder "
            f"(edit its {CONFIG_FILE}, or name another one with STACKROOM_CONFIG)"
        )
