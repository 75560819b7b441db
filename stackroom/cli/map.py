"""``stackroom map edit|diff|lint|accept|rename|schema``: a person's corrections to what is found in documents.

Nothing else writes a curated map. What is written reaches the stores with the next ingestion.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stackroom.cli.map_edit import open_editor, read_values
from stackroom.cli.map_show import (
    lint_json,
    print_conflicts,
    print_differences,
    print_lint,
    problem_json,
    warn_of_problems,
)
from stackroom.cli.output import EXIT_FILES_FAILED, EXIT_FINE, console, print_json, program, safe
from stackroom.cli.source_argument import Source, find_source
from stackroom.config import Config
from stackroom.errors import ConfigError, MetadataMapError
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.metadata_map import Conflict, MapProblem
    from stackroom.metadata_map.differences import Difference
    from stackroom.stages.bench import Bench
    from stackroom.stages.map_view import SourceMap

app = typer.Typer(
    help="Correct bibliographic metadata in the curated map, and see what the corrections do.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

FILE_HELP = "File: its path, its path inside the corpus, or its name."
CorpusOption = Annotated[str | None, typer.Option("--corpus", "-c", help="Corpus (default: every corpus).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("edit")
def edit(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help=FILE_HELP)],
    corpus: CorpusOption = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", help="Write FIELD=VALUE without an editor; authors as a JSON list, or parted by ';'."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", help="Leave out a field even if one is found (null in the map).")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", help="Take a field out of the map: what is found holds again.")
    ] = None,
    heading: Annotated[
        str, typer.Option("--heading", help="Heading chain such as 'Methods > Data', instead of the whole document.")
    ] = "DEFAULT",
    as_json: JsonOption = False,
) -> int:
    """Open the curated map at a file's entry in $EDITOR (filled with what was found), or set fields directly."""
    config: Config = context.obj.load()
    meant = find_source(config, source, corpus)
    values = read_values(
        assignments or (), unset or (), [one.name for one in config.corpus(meant.corpus).filter_fields]
    )
    with _bench(config, meant.corpus) as bench:
        file, line = _write(bench, meant.source_id, values, forget or (), heading)
    if not values and not forget and not as_json and sys.stdin.isatty():
        open_editor(file, line)
    with _bench(config, meant.corpus) as bench:  # reads the map as it is now
        problems = bench.curated.problems
    if as_json:
        found_wrong = [problem_json(problem) for problem in problems]
        print_json({**vars(meant), "file": str(file), "line": line, "problems": found_wrong})
    else:
        screen = console()
        screen.print(safe(f"{file}:{line}"), soft_wrap=True)
        screen.print(f"`{program()} ingest {meant.corpus}` brings changes into the stores.", soft_wrap=True)
        warn_of_problems(problems)
    return EXIT_FILES_FAILED if problems else EXIT_FINE


def _write(
    bench: "Bench", source_id: str, values: Mapping[str, Any], forget: Sequence[str], heading: str
) -> tuple[Path, int]:
    """Write what was asked for, or an entry to start from, into the curated map; return its file and line."""
    from stackroom.metadata_map import load_curated
    from stackroom.metadata_map.editing import entry_place, forget_fields, prepare_edit, set_fields
    from stackroom.stages.map_view import source_map

    folder, found = bench.settings.corpus.folder, source_map(bench, source_id)
    if forget:
        forget_fields(folder, bench.curated, source_id, forget, heading)
    if values:
        set_fields(folder, load_curated(folder), source_id, values, heading)
    if forget or values:
        return entry_place(folder, load_curated(folder), source_id)
    if found is None and bench.curated.entry(source_id) is None:
        raise MetadataMapError(
            f"{source_id} has not been ingested, so there is nothing to start from; ingest it first, or give values "
            "with --set"
        )
    return prepare_edit(folder, bench.curated, source_id, found.generated if found else {})


@app.command("diff")
def diff(
    context: typer.Context,
    source: Annotated[str | None, typer.Argument(help=f"{FILE_HELP} Default: all files.")] = None,
    corpus: CorpusOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show where the curated map departs from what is found in the documents."""
    from stackroom.metadata_map.differences import diff as differences_of

    config: Config = context.obj.load()
    meant = find_source(config, source, corpus) if source is not None else None
    rows: list[tuple[str, Difference]] = []
    problems: list[MapProblem] = []
    for name in _corpora(config, meant.corpus if meant else corpus):
        with _bench(config, name) as bench:
            for one in _maps(bench, meant):
                found = differences_of(one.source_id, one.generated, one.curated, one.conflicts)
                rows += [(name, row) for row in found]
            problems += bench.curated.problems
    if as_json:
        differences = [{"corpus": name, **vars(row)} for name, row in rows]
        print_json({"differences": differences, "problems": [problem_json(problem) for problem in problems]})
    else:
        print_differences([row for _, row in rows], console())
        warn_of_problems(problems)
    return EXIT_FILES_FAILED if problems else EXIT_FINE


@app.command("lint")
def lint(context: typer.Context, corpus: CorpusOption = None, as_json: JsonOption = False) -> int:
    """Check the curated map files, and all metadata as the next ingestion will have it."""
    from stackroom.stages.map_view import lint_map

    config: Config = context.obj.load()
    results = []
    for name in _corpora(config, corpus):
        with _bench(config, name) as bench:
            results.append((name, lint_map(bench)))
    if as_json:
        print_json({"corpora": [lint_json(name, found) for name, found in results]})
    else:
        screen = console()
        for name, found in results:
            print_lint(name, found, screen)
    return EXIT_FILES_FAILED if any(found.problems for _, found in results) else EXIT_FINE


@app.command("accept")
def accept(
    context: typer.Context,
    sources: Annotated[list[str] | None, typer.Argument(help=FILE_HELP)] = None,
    corpus: CorpusOption = None,
    take: Annotated[
        str, typer.Option(help="curated: keep the map's values; generated: take what is found in the document.")
    ] = "curated",
    field: Annotated[list[str] | None, typer.Option("--field", help="Settle only this field; may be repeated.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Settle the conflicts of all files.")] = False,
) -> int:
    """Settle conflicts: fields that both the curated map and the document have changed."""
    from stackroom.metadata_map import load_curated
    from stackroom.metadata_map.editing import accept as settle

    side = _side(take)
    config: Config = context.obj.load()
    if bool(sources) == every:
        raise ConfigError("name the files whose conflicts are settled, or give --all")
    meant = [find_source(config, text, corpus) for text in sources or ()]
    settled: list[tuple[str, Conflict]] = []
    for name in _corpora(config, corpus) if every else sorted({one.corpus for one in meant}):
        with _bench(config, name) as bench:
            for one in _maps(bench, *(source for source in meant if source.corpus == name)):
                chosen = [conflict for conflict in one.conflicts if not field or conflict.key in field]
                if chosen:
                    folder = bench.settings.corpus.folder
                    settle(folder, load_curated(folder), one.source_id, chosen, side)
                    settled += [(one.source_id, conflict) for conflict in chosen]
    screen = console()
    print_conflicts(settled, screen)
    screen.print(f"{count(len(settled), 'conflict')} settled; {take} values are used from the next ingestion on.")
    return EXIT_FINE


@app.command("rename")
def rename(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="The entry as the curated map calls it: path inside the corpus, or name.")],
    new: Annotated[str, typer.Argument(help=FILE_HELP)],
    corpus: CorpusOption = None,
) -> int:
    """Carry the entry of a file that was renamed or moved over to where it is now."""
    from stackroom.metadata_map.editing import entry_place, rename_entry

    config: Config = context.obj.load()
    meant = find_source(config, new, corpus)
    with _bench(config, meant.corpus) as bench:
        folder = bench.settings.corpus.folder
        rename_entry(folder, bench.curated, old, meant.source_id)
    with _bench(config, meant.corpus) as bench:
        file, line = entry_place(folder, bench.curated, meant.source_id)
        problems = bench.curated.problems
    screen = console()
    screen.print(safe(f"{file}:{line}"), soft_wrap=True)
    screen.print(f"`{program()} ingest {meant.corpus}` brings the entry into the stores.", soft_wrap=True)
    warn_of_problems(problems)
    return EXIT_FILES_FAILED if problems else EXIT_FINE


@app.command("schema")
def schema() -> int:
    """Print the JSON Schema of curated maps, for editors that complete and check."""
    from stackroom.metadata_map.schema import json_schema

    print_json(json_schema())
    return EXIT_FINE


def _side(take: str) -> Literal["curated", "generated"]:
    if take == "curated":
        return "curated"
    if take == "generated":
        return "generated"
    raise ConfigError(f"--take {take!r}: give curated or generated")


def _corpora(config: Config, corpus: str | None) -> list[str]:
    if corpus is None:
        return sorted(config.corpora)
    config.corpus(corpus)
    return [corpus]


def _bench(config: Config, corpus: str) -> "Bench":
    from stackroom.stages.bench import Bench, BenchSettings

    return Bench(BenchSettings.of(config, corpus))


def _maps(bench: "Bench", *meant: Source | None) -> "list[SourceMap]":
    """Return the maps of some sources; of all when none is named."""
    from stackroom.stages.map_view import corpus_maps, source_map

    named = [source for source in meant if source is not None]
    if not named:
        return list(corpus_maps(bench))
    return [found for source in named if (found := source_map(bench, source.source_id)) is not None]
