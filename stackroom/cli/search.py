"""``stackroom search``: ask all corpora, or some, and show where each answer comes from."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from stackroom.cli.output import (
    EXIT_FINE,
    console,
    only_json_on_stdout,
    print_json,
    print_warning,
    print_wrapped,
    program,
    safe,
)
from stackroom.cli.project import Options
from stackroom.config import Config
from stackroom.errors import ConfigError, FilterError
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.retrieval.hits import SearchHit

SNIPPET_CHARACTERS = 480
"""Characters of a hit's text that are shown; `--json` gives all of it."""

MOST_DUPLICATES = 5
"""Other files with the text of a hit that are named; `--json` names all."""


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    corpus: Annotated[
        list[str] | None, typer.Option("--corpus", "-c", help="Corpus to search; may be repeated (default: all).")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", min=1, help="Number of hits.")] = None,
    where: Annotated[
        str | None, typer.Option("--filter", help='Filter on metadata, as JSON: \'{"year": {"$gte": 2020}}\'.')
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Search by meaning and by words together, and show source, page, headings, score and ranks."""
    options: Options = context.obj
    config = options.load()
    for name in corpus or ():
        check_searchable(config, name)
    condition = parse_filter(where)
    with only_json_on_stdout():
        from stackroom.retrieval.search import Searcher

        with Searcher(config) as searcher:
            result = searcher.search(
                query,
                corpora=corpus or None,
                k=k if k is not None else default_k(config, corpus),
                where=condition,
                explain=explain,
            )
    for warning in result.warnings:
        print_warning(warning)
    if as_json:
        print_json(result.to_json())
    else:
        print_hits(result.hits, console(), explain=explain)
    return EXIT_FINE


def check_searchable(config: Config, name: str) -> None:
    """Make sure that there is a corpus of this name.

    Raises:
        ConfigError: there is none; for a record set the message names the command that searches it.
    """
    if name in config.records and name not in config.corpora:
        raise ConfigError(
            f"{name!r} is a record set, not a corpus; `{program()} records search QUERY --set {name}` searches it"
        )
    config.corpus(name)


def parse_filter(text: str | None) -> dict[str, Any] | None:
    """Return the filter given on the command line.

    Raises:
        FilterError: it is not a JSON object; whether it is a sentence of the filter language is checked by the search.
    """
    if text is None:
        return None
    try:
        condition = json.loads(text)
    except ValueError as error:
        raise FilterError(
            f"--filter is not JSON ({error}); quote it for the shell, for example "
            """--filter '{"year": {"$gte": 2020}}'"""
        ) from error
    if not isinstance(condition, dict):
        raise FilterError(f'--filter must be a JSON object such as {{"year": 2020}}, not {text}')
    return condition


def default_k(config: Config, corpora: Sequence[str] | None) -> int:
    """Return the number of hits that the settings of the searched corpora ask for (the largest, if they differ)."""
    searched = [config.corpus(name) for name in corpora] if corpora else list(config.corpora.values())
    return max((corpus.retrieval.default_k for corpus in searched), default=5)


def print_hits(hits: "Sequence[SearchHit]", screen: Console, *, explain: bool) -> None:
    """Print hits for a person."""
    if not hits:
        screen.print("Nothing found. Try other words, or `status` to see what has been ingested.")
        return
    for number, hit in enumerate(hits, start=1):
        title = hit.metadata.get("title")
        place = f" [dim]{pages_in_words(hit.pages)}[/]" if hit.pages else ""
        screen.print(f"[bold]{number}. {safe(hit.source_id)}[/]{place} [dim]({hit.corpus})[/]", soft_wrap=True)
        if title and not (hit.headings and _alike(str(title), hit.headings[0])):
            screen.print(f"   {safe(str(title))}", soft_wrap=True)
        if hit.headings:
            screen.print(f"   [cyan]{safe(' > '.join(hit.headings))}[/]", soft_wrap=True)
        screen.print(f"   [dim]score {hit.score:.3f} · {ranks_in_words(hit.ranks)}[/]", soft_wrap=True)
        print_wrapped(hit.text, screen, SNIPPET_CHARACTERS)
        if hit.duplicates:
            screen.print(f"   [dim]also in: {safe(duplicates_in_words(hit.duplicates))}[/]", soft_wrap=True)
        if explain:
            _print_explanation(hit.to_json(), screen)
        screen.print()


def pages_in_words(pages: Sequence[int]) -> str:
    """Return ``page 3``, or ``pages 3-4``."""
    first, last = min(pages), max(pages)
    return f"page {first}" if first == last else f"pages {first}-{last}"


def ranks_in_words(ranks: Mapping[str, int | None]) -> str:
    """Return, for instance, ``dense #1, bm25 not found``."""
    return ", ".join(f"{side} {f'#{rank}' if rank is not None else 'not found'}" for side, rank in ranks.items())


def duplicates_in_words(places: Sequence[str]) -> str:
    """Return the files of places like ``a.md#3`` that hold the same text."""
    files = list(dict.fromkeys(place.rpartition("#")[0] or place for place in places))
    more = len(files) - MOST_DUPLICATES
    return ", ".join([*files[:MOST_DUPLICATES], *([f"… and {count(more, 'more file')}"] if more > 0 else [])])


def _alike(title: str, heading: str) -> bool:
    return " ".join(title.split()).casefold() == " ".join(heading.split()).casefold()


def _print_explanation(hit: Mapping[str, Any], screen: Console) -> None:
    for key, value in (hit.get("explanation") or {}).items():
        screen.print(f"   [dim]{safe(str(key))}: {safe(json.dumps(value, ensure_ascii=False))}[/]", soft_wrap=True)
