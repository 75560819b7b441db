"""The ``stackroom`` command. Parses, calls the library, prints; decides nothing about documents.

Exit codes: 0 fine, 2 some files failed (they are listed with reason and remedy), 1 could not run (a message says why),
130 interrupted. With ``--json`` only JSON goes to standard output; everything else goes to standard error.

This module assembles the commands; each command is in a file of its own and imports what it needs when it runs, so that
``stackroom --help`` starts at once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from stackroom import __version__
from stackroom.cli import (
    bibliography,
    doctor,
    evaluate,
    forget,
    ingest,
    lint,
    move,
    organise,
    search,
    similar,
    status,
    tidy,
    ui,
)
from stackroom.cli.map import app as map_app
from stackroom.cli.output import EXIT_CANNOT_RUN, EXIT_INTERRUPTED, print_error
from stackroom.cli.project import Options
from stackroom.cli.records import app as records_app
from stackroom.errors import StackroomError

app = typer.Typer(
    name="stackroom",
    help="Folders of documents become searchable stores that stay in step with the files.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ingest")(ingest.ingest)
app.command("search")(search.search)
app.command("similar")(similar.similar)
app.command("status")(status.status)
app.command("lint")(lint.lint)
app.command("eval")(evaluate.evaluate)
app.command("doctor")(doctor.doctor)
app.command("move")(move.move)
app.command("forget")(forget.forget)
app.command("tidy")(tidy.tidy)
app.command("classify")(organise.classify)
app.command("organise")(organise.organise)
app.add_typer(map_app, name="map")
app.add_typer(bibliography.app, name="bibliography")
app.add_typer(records_app, name="records")
app.command("ui")(ui.ui)

# A wrong argument is one of typer's own exceptions, whose base class typer does not export under one name in all of
# its releases (some use click, some carry their own copy).
_UsageError: type[Exception] = typer.BadParameter.__mro__[2]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stackroom {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    project: Annotated[
        Path | None,
        typer.Option(
            envvar="STACKROOM_PROJECT",
            help="Folder that holds stackroom.yaml (default: the nearest one, from the current folder upwards).",
            show_envvar=True,
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version  # printed by its callback
    context.obj = Options(project)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: what follows the program's name (default: the process's own arguments).
    """
    command = typer.main.get_command(app)
    try:
        code = command.main(
            args=None if arguments is None else list(arguments), prog_name="stackroom", standalone_mode=False
        )
    except StackroomError as error:
        print_error(str(error))
        return EXIT_CANNOT_RUN
    except _UsageError as error:
        error.show()  # type: ignore[attr-defined]
        return EXIT_CANNOT_RUN
    if code == EXIT_INTERRUPTED:  # what typer makes of Ctrl-C
        print_error("interrupted; run the same command again to go on")
    return code if isinstance(code, int) else 0
