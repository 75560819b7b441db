"""``stackroom bibliography export|import``: out as BibTeX or CSL JSON, and in as curated values."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackroom.atomic import write_text
from stackroom.cli.output import (
    EXIT_FILES_FAILED,
    EXIT_FINE,
    console,
    print_json,
    print_warning,
    program,
    safe,
)
from stackroom.cli.source_argument import only_corpus
from stackroom.config import Config
from stackroom.errors import ConfigError
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.metadata_map import CuratedMap

app = typer.Typer(
    help="Exchange bibliographies with reference managers.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

FORMATS = ("bibtex", "csl")


@dataclass(frozen=True)
class Kept:
    """A curated value that an import leaves alone, although the file says something else."""

    source_id: str
    field: str
    curated: Any
    imported: Any


@app.command("export")
def export(
    context: typer.Context,
    corpus: Annotated[
        list[str] | None, typer.Option("--corpus", "-c", help="Corpus; may be repeated (default: every corpus).")
    ] = None,
    form: Annotated[str, typer.Option("--format", "-f", help="bibtex or csl (CSL JSON).")] = "bibtex",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File (default: standard output).")] = None,
) -> int:
    """Write the bibliography of corpora, corrections of the curated map included."""
    from stackroom.biblio.exports import to_bibtex, to_csl

    if form not in FORMATS:
        raise ConfigError(f"--format {form!r}: give {' or '.join(FORMATS)}")
    config: Config = context.obj.load()
    names = list(dict.fromkeys(corpus)) if corpus else sorted(config.corpora)
    entries: dict[str, dict[str, Any]] = {}
    for name in names:
        found = merged_fields(config, name)
        # One corpus alone keeps its source ids; of several, each is told apart by its corpus.
        entries |= found if len(names) == 1 else {f"{name}/{source}": fields for source, fields in found.items()}
    text = to_bibtex(entries) if form == "bibtex" else json.dumps(to_csl(entries), ensure_ascii=False, indent=2) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
        console(stderr=True).print(f"{safe(str(output))}: {count(len(entries), 'document')}", soft_wrap=True)
    return EXIT_FINE


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A .bib file.")],
    corpus: Annotated[str | None, typer.Option("--corpus", "-c", help="Corpus (default: the only one).")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also replace values that the curated map already holds.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be written.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Write the values of a .bib file into the curated map; entries are matched by file, DOI or title."""
    from stackroom.biblio.bib_import import import_bibtex
    from stackroom.metadata_map.editing import set_many
    from stackroom.stages.bench import Bench, BenchSettings

    config: Config = context.obj.load()
    name = only_corpus(config, corpus)
    text = _read(file)
    holding = merged_fields(config, name)
    imported = import_bibtex(text, holding)
    with Bench(BenchSettings.of(config, name)) as bench:
        values, kept = select_values(imported.values, bench.curated, holding, overwrite=overwrite)
        written = [] if dry_run or not values else set_many(bench.settings.corpus.folder, bench.curated, values)
    answer = {
        "corpus": name,
        "values": values,
        "kept": [vars(one) for one in kept],
        "unmatched": list(imported.unmatched),
        "problems": list(imported.problems),
        "written": [str(path) for path in written],
    }
    if as_json:
        print_json(answer)
    else:
        _print_import(answer, dry_run=dry_run)
    for problem in imported.problems:
        print_warning(f"{file}, {problem}")
    return EXIT_FILES_FAILED if imported.problems else EXIT_FINE


def merged_fields(config: Config, corpus: str) -> dict[str, dict[str, Any]]:
    """Return, for every source in the stores, what holds for the whole document.

    Raises:
        ConfigError: there is no such corpus.
    """
    from stackroom.stages.bench import Bench, BenchSettings
    from stackroom.stages.map_view import corpus_maps

    with Bench(BenchSettings.of(config, corpus)) as bench:
        return {found.source_id: found.fields for found in corpus_maps(bench)}


def select_values(
    imported: Mapping[str, Mapping[str, Any]],
    curated: "CuratedMap",
    holding: Mapping[str, Mapping[str, Any]],
    *,
    overwrite: bool,
) -> tuple[dict[str, dict[str, Any]], list[Kept]]:
    """Return what is to be written, and which curated values are left as they are.

    Args:
        imported: source id to fields.
        curated: the curated map.
        holding: source id to the fields that hold already, found or curated; what is the same is not written.
        overwrite: replace curated values, too.
    """
    values: dict[str, dict[str, Any]] = {}
    kept: list[Kept] = []
    for source, fields in imported.items():
        own = dict((curated.entry(source) or {}).get("DEFAULT") or {})
        held = holding.get(source, {})
        addresses = [held[key] for key in held if key.startswith("url")]
        for field, value in fields.items():
            if value == held.get(field) or (field == "url" and value in addresses):
                continue
            if field in own and own[field] != value and not overwrite:
                kept.append(Kept(source, field, own[field], value))
            elif field not in own or own[field] != value:
                values.setdefault(source, {})[field] = value
    return values, kept


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error


def _print_import(answer: Mapping[str, Any], *, dry_run: bool) -> None:
    screen = console()
    verb = "would get" if dry_run else "got"
    for source, fields in answer["values"].items():
        screen.print(f"{safe(source)} {verb} {safe(', '.join(fields))}", soft_wrap=True)
    for one in answer["kept"]:
        screen.print(
            f"[yellow]kept[/] {safe(one['source_id'])}: {safe(one['field'])} {safe(repr(one['curated']))} "
            f"(the file says {safe(repr(one['imported']))}; --overwrite takes it)",
            soft_wrap=True,
        )
    if answer["unmatched"]:
        listed = safe(", ".join(answer["unmatched"]))
        screen.print(f"[dim]no document, or more than one, for: {listed}[/]", soft_wrap=True)
    if not answer["values"]:
        screen.print("Nothing to write.")
    elif not dry_run:
        screen.print(f"`{program()} ingest {answer['corpus']}` brings the values into the stores.", soft_wrap=True)
