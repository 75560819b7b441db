"""``stackroom similar``: which documents resemble this one, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
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
    safe,
)
from stackroom.cli.source_argument import Source, find_source, matching_sources
from stackroom.config import Config
from stackroom.errors import ConfigError, SourceError, StoreNotFoundError

if TYPE_CHECKING:
    from stackroom.articles.similar import SimilarSource
    from stackroom.stages.bench import Bench
    from stackroom.stages.passages import Passages

PASSAGE_CHARACTERS = 240
"""Characters of a passage that are shown; `--json` gives all of it."""

AGAIN_CHARACTERS = 60
"""Characters of the given document's passage where it stood above already."""


@dataclass(frozen=True)
class Resembling:
    """A document that resembles the one that was asked about."""

    corpus: str
    found: "SimilarSource"
    own: "Passages"
    """Passages of the document that was asked about."""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""
        plain = self.found.to_json()
        passages = [{**passage, "own_text": self.own.texts[passage["own_index"]]} for passage in plain["passages"]]
        return {"corpus": self.corpus, **plain, "passages": passages}


def similar(
    context: typer.Context,
    document: Annotated[
        str, typer.Argument(metavar="PATH_OR_SOURCE", help="Any file, or a file of a corpus by its path or name.")
    ],
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", "-c", help="Corpus to look in (default: the document's own, else every corpus)."),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Number of documents.")] = 5,
    passages: Annotated[int, typer.Option("--passages", min=1, help="Most passages shown of each document.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Rank documents by their passage most like one of this document's, never the document itself."""
    config: Config = context.obj.load()
    source, path = resolve(config, document, corpus)
    names = [corpus] if corpus is not None else [source.corpus] if source else sorted(config.corpora)
    found: list[Resembling] = []
    warnings: list[str] = []
    with only_json_on_stdout():
        for name in names:
            try:
                found += resembling(config, name, source, path, k, passages)
            except StoreNotFoundError as error:
                warnings.append(f"{name} was left out: {error}")
    found = sorted(found, key=lambda one: (-one.found.score, one.corpus, one.found.source_id))[:k]
    if as_json:
        asked = {"source_id": source.source_id, "corpus": source.corpus} if source else {"path": str(path)}
        print_json({"document": asked, "similar": [one.to_json() for one in found], "warnings": warnings})
    else:
        print_similar(found, console())
    for warning in warnings:
        print_warning(warning)
    return EXIT_FINE


def resolve(config: Config, document: str, corpus: str | None) -> tuple[Source | None, Path | None]:
    """Return the source that is meant, if it is one, and the path of the file.

    Raises:
        ConfigError: neither a source nor a file is meant, or several sources may be.
    """
    if corpus is not None:
        config.corpus(corpus)
    # The corpus that is searched is asked first, so that a name that two corpora know is no question then.
    own = matching_sources(config, document, [corpus]) if corpus is not None else []
    if own or matching_sources(config, document, sorted(config.corpora)):
        source = find_source(config, document, corpus if own else None)
        return source, None
    path = Path(document).expanduser()
    if not path.is_file():
        raise ConfigError(f"{document!r} is neither a file nor the path or name of a file of a corpus")
    return None, path.resolve()


def resembling(
    config: Config, corpus: str, source: Source | None, path: Path | None, k: int, passages: int
) -> list[Resembling]:
    """Return the documents of a corpus that resemble a document, best first.

    Args:
        config: the project's settings.
        corpus: corpus to look in.
        source: the document, if it is a source of any corpus.
        path: the document, if it is not.
        k: most documents.
        passages: most passages of each.

    Raises:
        StoreError: the vector store of the corpus cannot be read.
        SourceError: the document cannot be converted.
    """
    from stackroom.articles.similar import similar_sources
    from stackroom.stages.bench import Bench, BenchSettings
    from stackroom.stages.serving import building
    from stackroom.stores.base import open_store

    settings = BenchSettings.of(config, corpus)
    with Bench(settings, open_store=lambda uri, spec: open_store(uri, spec, create=False)) as bench:
        store = bench.store  # a corpus without a store is left out before anything is converted
        state = building(bench)
        if state is not None:
            print_warning(f"{corpus}: {state.in_words()}; only those are compared")
        own = _passages(config, bench, source, path)
        itself = source.source_id if source is not None and source.corpus == corpus else None
        similar = similar_sources(store, own.vectors, itself, k, passages)
    return [Resembling(corpus, one, own) for one in similar]


def _passages(config: Config, bench: "Bench", source: Source | None, path: Path | None) -> "Passages":
    from stackroom.outcome import Failed
    from stackroom.stages.passages import passages_of_file, stored_passages

    if source is not None and source.corpus == bench.name:
        stored = stored_passages(bench, source.source_id)
        if stored is not None:
            return stored
        path = bench.locate(source.source_id)
    elif source is not None:
        path = config.corpus(source.corpus).folder / source.source_id
    assert path is not None  # noqa: S101 - one of the two is given
    made = passages_of_file(bench, path)
    if isinstance(made, Failed):
        raise SourceError(f"{path}: {made.message}; {made.remedy}")
    return made


def print_similar(found: Sequence[Resembling], screen: Console) -> None:
    """Print similar documents with their passages for a person."""
    if not found:
        screen.print("No other document is stored.")
    shown: set[str] = set()
    for number, one in enumerate(found, start=1):
        screen.print(
            f"[bold]{number}. {safe(one.found.source_id)}[/] [dim]({one.corpus})[/] {one.found.score:.3f}",
            soft_wrap=True,
        )
        title = one.found.passages[0].metadata.get("title") if one.found.passages else None
        if title:
            screen.print(f"   {safe(str(title))}", soft_wrap=True)
        for passage in one.found.passages:
            page = passage.metadata.get("page_first")
            place = f" page {page}" if page is not None else ""
            screen.print(f"   [cyan]{passage.score:.3f}{place}[/]", soft_wrap=True)
            print_wrapped(passage.text, screen, PASSAGE_CHARACTERS)
            own = one.own.texts[passage.own_index]
            if own in shown:
                print_wrapped(f"like (see above): {own}", screen, AGAIN_CHARACTERS, style="dim")
            else:
                print_wrapped(f"like: {own}", screen, PASSAGE_CHARACTERS, style="dim")
            shown.add(own)
        screen.print()
