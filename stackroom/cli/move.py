"""``stackroom move``: take the vectors of a corpus to another store without embedding anything."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from stackroom.cli.output import EXIT_FINE, console, only_json_on_stdout, print_json, program, shown_uri
from stackroom.config import Config, load_config
from stackroom.errors import ConfigError
from stackroom.words import count

if TYPE_CHECKING:
    from stackroom.remembered import KeptStore
    from stackroom.stages.bench import Bench
    from stackroom.stages.move import Moved


def move(
    context: typer.Context,
    corpus: Annotated[str, typer.Argument(help="Corpus to move.")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="Store URI, for example sqlite:/data/papers.db or qdrant:http://host:6333."),
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop-old", help="Delete the collections that the corpus was moved from.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Copy a corpus to another vector store, verify the copy, and use it; the old store is kept until it is dropped."""
    if (to is None) != drop:
        raise ConfigError("give either --to URI or --drop-old")
    config: Config = context.obj.load()
    config.corpus(corpus)
    with only_json_on_stdout(), _bench(config, corpus) as bench:
        answer = _drop(config, bench) if to is None else _move(config, bench, to)
    if as_json:
        print_json(answer)
    else:
        _print(answer, console())
    return EXIT_FINE


def _move(config: Config, bench: "Bench", to: str) -> dict[str, Any]:
    from stackroom.stages.corpus import write_stores_config
    from stackroom.stages.move import move_corpus, target_uri

    uri = target_uri(config, bench.name, to)
    screen = console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("copying", total=None)
        moved = move_corpus(
            config, bench, uri, lambda done, of: progress.update(task, completed=done, total=of)
        )  # fmt: skip
    write_stores_config(load_config(config.project_folder))
    return moved_json(moved)


def _drop(config: Config, bench: "Bench") -> dict[str, Any]:
    from stackroom.stages.move import drop_old

    return {"corpus": bench.name, "dropped": [kept_json(kept) for kept in drop_old(config, bench)]}


def _bench(config: Config, corpus: str) -> "Bench":
    from stackroom.stages.bench import Bench, BenchSettings

    return Bench(BenchSettings.of(config, corpus))


def moved_json(moved: "Moved") -> dict[str, Any]:
    """Return what a move did as plain values, without passwords."""
    return {
        "corpus": moved.corpus,
        "from": shown_uri(moved.origin),
        "to": shown_uri(moved.target),
        "collection": moved.collection,
        "sources": moved.sources,
        "rows": moved.rows,
        "sampled_queries": moved.agreement.queries,
        "recall": round(moved.agreement.recall, 4),
        "waiting": moved.waiting,
    }


def kept_json(kept: "KeptStore") -> dict[str, Any]:
    """Return a kept store as plain values, without passwords."""
    return {"vector_store": shown_uri(kept.uri), "collection": kept.collection}


def _print(answer: dict[str, Any], screen: Console) -> None:
    if "dropped" in answer:
        for kept in answer["dropped"]:
            screen.print(f"dropped {kept['collection']} in {kept['vector_store']}", markup=False, soft_wrap=True)
        if not answer["dropped"]:
            screen.print(f"{answer['corpus']} keeps no old store.")
        return
    corpus = answer["corpus"]
    screen.print(
        f"{corpus} is in {answer['to']} now: {count(answer['sources'], 'file')}, {count(answer['rows'], 'row')}, "
        f"every one compared; {answer['sampled_queries']} sampled queries found {answer['recall']:.1%} of the best",
        markup=False,
        soft_wrap=True,
    )
    if answer["waiting"]:
        screen.print(f"{count(answer['waiting'], 'file')} not ingested yet; `{program()} ingest {corpus}` does it.")
    screen.print(f"The old rows are kept in {answer['from']}.", markup=False, soft_wrap=True)
    screen.print(f"`{program()} move {corpus} --drop-old` deletes them.", soft_wrap=True)
    screen.print("A web interface that is running goes on with the old store until Deployment → Reload.")
