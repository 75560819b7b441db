"""``stackroom classify`` and ``stackroom organise``: which PDFs of a folder need OCR, and copies sorted accordingly.

Both look at any folder, inside a corpus or not; nothing is ingested and the folder's own files stay as they are. The
settings of the project are used where there is one.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackroom.cli.output import (
    EXIT_FILES_FAILED,
    EXIT_FINE,
    console,
    only_json_on_stdout,
    print_json,
    safe,
)
from stackroom.cli.project import Options, find_project
from stackroom.config import Config, Tuning, load_config
from stackroom.errors import ConfigError

if TYPE_CHECKING:
    from stackroom.outcome import Failed
    from stackroom.precheck import PdfClassification


def classify(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder to look through.")],
    pages: Annotated[bool, typer.Option("--pages", help="Show the decision for every page, with its reason.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Say which PDFs of a folder need OCR, and why."""
    from stackroom.outcome import Failed
    from stackroom.precheck import format_precheck_report

    verdicts = _verdicts(context.obj, folder)
    if as_json:
        print_json({"files": [_to_json(path.relative_to(folder), verdict) for path, verdict in verdicts.items()]})
    else:
        screen = console()
        for line in format_precheck_report(verdicts).splitlines():
            screen.print(safe(line), soft_wrap=True)
        if pages:
            _print_pages(folder, verdicts)
    return EXIT_FILES_FAILED if any(isinstance(verdict, Failed) for verdict in verdicts.values()) else EXIT_FINE


def organise(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder to sort; copies go to its sub-folders ocr and no-ocr.")],
) -> int:
    """Copy the files of a folder into its sub-folders ocr/ and no-ocr/; nothing is moved or changed."""
    from stackroom.outcome import Failed
    from stackroom.precheck import format_precheck_report, organise_directory

    verdicts = _verdicts(context.obj, folder)
    scanned, readable = organise_directory(folder, verdicts)
    screen = console()
    screen.print(safe(format_precheck_report(verdicts).splitlines()[0]), soft_wrap=True)
    screen.print(f"  to read by OCR: {safe(str(scanned))}", soft_wrap=True)
    screen.print(f"  as they are:    {safe(str(readable))}", soft_wrap=True)
    return EXIT_FILES_FAILED if any(isinstance(verdict, Failed) for verdict in verdicts.values()) else EXIT_FINE


def _verdicts(options: Options, folder: Path) -> "dict[Path, PdfClassification | Failed]":
    from stackroom.precheck import classify_directory

    config = _project_if_any(options)
    with only_json_on_stdout(), _classifier(config) as classify_one:
        return classify_directory(folder, classify_one)


def _project_if_any(options: Options) -> Config | None:
    """Return the project's settings; None where there is no project and none was named."""
    try:
        project = find_project(options.project)
    except ConfigError:
        if options.project is not None:
            raise
        return None
    return load_config(project)


@contextlib.contextmanager
def _classifier(config: Config | None) -> "Iterator[Callable[[Path], PdfClassification | Failed]]":
    """Give a function that classifies a file in a worker process: a hostile PDF can bring a process down."""
    from stackroom.config import LimitSettings
    from stackroom.conversion import ConversionOptions, ConversionRequest, open_converter
    from stackroom.embedding.tokenizer import open_tokenizer
    from stackroom.sources import content_hash

    tuning = Tuning()
    tokenizer = open_tokenizer(tuning.embedder)
    options = ConversionOptions(
        conversion=tuning.conversion,
        ocr=tuning.ocr,
        limits=config.limits if config is not None else LimitSettings(),
        tokenizer_file=tokenizer.file,
        max_tokens=tokenizer.max_tokens,
        merge_peers=True,
    )
    with tempfile.TemporaryDirectory() as cache, open_converter(options, Path(cache)) as converter:
        yield lambda path: converter.classify(ConversionRequest(path, path.name, content_hash(path)))


def _to_json(relative: Path, verdict: "PdfClassification | Failed") -> dict[str, Any]:
    from stackroom.outcome import Failed

    if isinstance(verdict, Failed):
        return {
            "path": relative.as_posix(),
            "needs_ocr": None,
            "error": {"reason": str(verdict.reason), "message": verdict.message, "remedy": verdict.remedy},
        }
    return {"path": relative.as_posix(), "error": None, **verdict.to_json()}


def _print_pages(folder: Path, verdicts: "dict[Path, PdfClassification | Failed]") -> None:
    from stackroom.outcome import Failed

    screen = console()
    for path, verdict in verdicts.items():
        screen.print(f"\n[bold]{safe(str(path.relative_to(folder)))}[/]", soft_wrap=True)
        if isinstance(verdict, Failed):
            screen.print(f"  [red]{verdict.reason}[/] {safe(verdict.message)}", soft_wrap=True)
            continue
        for page in verdict.page_statistics:
            screen.print(f"  {page.page:>4}  {page.decision:<5}  {safe(page.reason)}", soft_wrap=True)
