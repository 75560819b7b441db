"""``stackroom ui``: Dagster's web interface and daemon, on this machine only, with the project's own instance."""

import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from stackroom.cli.output import console
from stackroom.cli.project import Options, check_code_location, process_environment
from stackroom.errors import ConfigError

NOT_SHOWN = "ignore:Function `dev_command` is superseded"
"""Dagster advises those who start it to use another program of its own; nobody who starts ours can do that."""


def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the web interface.")] = 3000,
    host: Annotated[
        str, typer.Option(help="Address to listen on. The interface has no login; other machines reach what you name.")
    ] = "127.0.0.1",
) -> int:
    """Start the web interface and the daemon that runs sensors and schedules; Ctrl-C ends both."""
    options: Options = context.obj
    config = options.load()
    check_code_location(config)
    config.state_folder.mkdir(parents=True, exist_ok=True)
    dagster = shutil.which("dagster", path=str(Path(sys.executable).parent))
    if dagster is None:
        raise ConfigError(f"there is no dagster beside {sys.executable}; run `make install`")
    _check_free(host, port)
    console().print(f"Dagster's web interface will be at http://{host}:{port} in some seconds; Ctrl-C ends it.")
    sys.stdout.flush()
    os.chdir(config.project_folder)
    environment = process_environment(config)
    environment["PYTHONWARNINGS"] = ",".join(filter(None, (environment.get("PYTHONWARNINGS"), NOT_SHOWN)))
    # This process becomes Dagster: signals reach it directly, and its exit code is the command's.
    os.execve(dagster, [dagster, "dev", "--host", host, "--port", str(port)], environment)  # noqa: S606 - no shell


def _check_free(host: str, port: int) -> None:
    """Raise ConfigError when another program has the port; Dagster would go on without a web interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ConfigError(
                f"port {port} on {host} cannot be used ({error.strerror}); name another with --port"
            ) from error
