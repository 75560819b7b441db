"""What ``stackroom status`` shows of vector stores: where they are, and how far a new collection is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from stackroom.cli.output import program, shown_uri
from stackroom.config import Config
from stackroom.remembered import read_moved_stores, read_serving


@dataclass(frozen=True)
class StoreLine:
    """Where the vectors of a corpus are; the fields are those of ``--json``. Passwords are not shown."""

    corpus: str
    vector_store: str
    moved_from: str | None = None
    """What the settings name, if the corpus was moved from there."""
    kept: tuple[str, ...] = ()
    """Old stores that wait to be dropped."""
    building: Mapping[str, Any] | None = None
    """How far the collection of the current settings is, while another one answers searches."""


def store_line(config: Config, corpus: str, new: Mapping[str, Any] | None = None) -> StoreLine:
    """Return where the vectors of a corpus are, and where they were; ``new`` is what :func:`building_line` gave."""
    uri, moved = config.vector_store_uri(corpus), read_moved_stores(config.state_folder).get(corpus)
    if moved is None:
        return StoreLine(corpus, shown_uri(uri), building=new)
    origin = shown_uri(moved.configured or config.default_store_uri) if moved.uri == uri else None
    answering = read_serving(config.state_folder, corpus)
    kept = [one for one in moved.kept if answering is None or (one.uri, one.collection) != answering.place]
    return StoreLine(corpus, shown_uri(uri), origin, tuple(shown_uri(one.uri) for one in kept), new)


def building_line(config: Config, corpus: str) -> dict[str, Any] | None:
    """Return how far a new collection is; None if the one of the settings is in use, or nothing was ingested yet.

    Raises:
        ConfigError: the settings cannot be used together.
        EmbeddingError: the embedding model cannot be opened.
    """
    from stackroom.stages.bench import Bench, BenchSettings
    from stackroom.stages.serving import building

    if read_serving(config.state_folder, corpus) is None:
        return None
    with Bench(BenchSettings.of(config, corpus)) as bench:
        state = building(bench)
    if state is None:
        return None
    answering = {"vector_store": shown_uri(state.instead_of.uri), "collection": state.instead_of.collection}
    counts = {"collection": state.collection, "done": state.done, "of": state.of}
    return {**counts, "answering": answering, "problem": state.problem, "in_words": state.in_words()}


def print_stores(stores: Sequence[StoreLine], screen: Console) -> None:
    """Print where the vectors are that are not where the settings say, and what is kept of moves."""
    for store in stores:
        if store.building is not None:
            screen.print(
                f"{store.corpus}: {store.building['in_words']}; the old one answers searches until then "
                f"(`{program()} ingest {store.corpus}` goes on)",
                markup=False,
                soft_wrap=True,
            )
        if store.moved_from is not None:
            screen.print(
                f"{store.corpus} was moved: its vectors are in {store.vector_store}, not in {store.moved_from}",
                markup=False,
                soft_wrap=True,
            )
        if store.kept:
            screen.print(f"{store.corpus}: old rows are kept in {', '.join(store.kept)}", markup=False, soft_wrap=True)
            screen.print(f"  `{program()} move {store.corpus} --drop-old` deletes them", soft_wrap=True)
