"""Which collection searches are answered from, and the switch to another one when settings change.

Another embedding model, or another store, means another collection. Ingestion fills it beside the one in use, which
goes on answering; once the new one is complete and verified, one atomic write puts it in use, and the old one goes. The
manifest notes every collection with rows, so whatever a crash leaves behind is found and finished at the next refresh.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stackroom.errors import StoreError, StoreNotFoundError
from stackroom.ledger import SourceState
from stackroom.outcome import Failed
from stackroom.plan import MASS_DELETION_FRACTION
from stackroom.remembered import (
    KeptStore,
    MovedStore,
    Serving,
    read_moved_stores,
    read_serving,
    write_moved_store,
    write_serving,
)
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.rows import rows_with_vectors
from stackroom.words import count

SAMPLED_SOURCES = 20
"""Sources of which a vector is compared with the embeddings artefact before a collection is put in use."""
NEAREST = 10
"""Rows asked for per sampled vector; a row may be one of several with the same text."""
LEAST_SIMILARITY = 0.999
"""Cosine of a stored vector to its artefact; some backends store half of float32's precision."""


@dataclass(frozen=True)
class Building:
    """A collection that is being filled while another one answers."""

    collection: str
    done: int
    """Files that are in it."""
    of: int
    """Files that are to be in it; quarantined ones are not."""
    instead_of: Serving
    """The collection that answers meanwhile."""
    problem: str | None = None
    """Why it is not put in use although no file is waiting."""

    def in_words(self) -> str:
        """Return, for instance, ``building new collection: 120 of 400 files``."""
        counts = f"building new collection: {self.done} of {self.of} files"
        return f"{counts}; {self.problem}" if self.problem else counts


@dataclass(frozen=True)
class Settled:
    """What came of looking whether the collection of the settings can be put in use."""

    building: Building | None = None
    """Still being filled."""
    replaced: Serving | None = None
    """What was in use until now, if it was switched."""
    dropped: tuple[KeptStore, ...] = ()
    problems: tuple[str, ...] = ()
    """Old collections that could not be dropped; tried again next time."""

    def in_words(self) -> list[str]:
        """Return what a person should know."""
        said = [self.building.in_words()] if self.building else []
        if self.replaced is not None:
            said.append(f"the new collection is complete and in use; {self.replaced.collection} answered until now")
        return [*said, *self.problems]


def asked_for(bench: Bench) -> Serving:
    """Return the collection that the settings ask for."""
    embedder = bench.settings.corpus.embedder.model_dump(mode="json")
    return Serving(bench.settings.store_uri, bench.collection.name, bench.model.key, embedder)


def serving_elsewhere(bench: Bench) -> Serving | None:
    """Return the collection that searches are answered from while the one of the settings is being built."""
    serving = read_serving(bench.settings.state.root, bench.name)
    return None if serving is None or serving.place == asked_for(bench).place else serving


def building(bench: Bench) -> Building | None:
    """Return how far the collection of the settings is, if another one answers searches meanwhile."""
    serving = serving_elsewhere(bench)
    if serving is None:
        return None
    return _progress(bench, serving, _present(bench))


def settle_collections(bench: Bench, *, accept_losses: bool = False) -> Settled:
    """Put the collection of the settings in use if it is complete and sound, and drop what is no longer needed.

    Files that are pending delay the switch as long as the collection in use has them; quarantined ones do not.

    Args:
        bench: bench of the corpus.
        accept_losses: switch even if most files of the collection in use are quarantined under the new settings.
    """
    here, root = asked_for(bench), bench.settings.state.root
    if here.uri.lower().startswith("memory:"):  # gone with this process: nothing to remember
        write_serving(root, bench.name, None)
        return Settled()
    serving = read_serving(root, bench.name)
    if serving is not None and serving.place != here.place:
        waiting = _hindrance(bench, serving, accept_losses)
        if waiting is not None:
            return Settled(building=waiting)
        if serving.uri != here.uri:
            _keep(bench, serving)
    elif serving is None and not bench.manifest.sources(*here.place):
        return Settled()
    if serving != here:
        write_serving(root, bench.name, here)
    dropped, problems = _drop_unused(bench, here)
    replaced = serving if serving is not None and serving.place != here.place else None
    return Settled(None, replaced, dropped, problems)


def verify_collection(bench: Bench) -> list[str]:
    """Compare the collection of the settings with manifest and artefacts; return what is wrong, in words.

    Rows are counted per source, vectors of a sample are compared with their artefacts, and the store's own index is
    asked for rows by their vectors.

    Raises:
        StoreError: the store cannot be reached.
    """
    noted = {row.source_id: len(row.chunk_ids) for row in bench.manifest.rows(*asked_for(bench).place)}
    wrong = [source for source, rows in noted.items() if bench.store.count(source) != rows]
    foreign = sorted(bench.store.source_ids() - noted.keys())
    problems = []
    if wrong:
        problems.append(f"not as many rows as noted of {count(len(wrong), 'file')} (for example {wrong[0]})")
    if foreign:
        problems.append(f"rows of {count(len(foreign), 'file')} are not noted (for example {foreign[0]})")
    problems += bench.store.verify()
    altered = [source for source in _sample(list(noted)) if not _vector_found(bench, source)]
    if altered:
        problems.append(f"vectors differ from their artefacts (for example of {altered[0]})")
    return problems


def _hindrance(bench: Bench, serving: Serving, accept_losses: bool) -> Building | None:
    """Return why the collection of the settings cannot be put in use yet; None if it can."""
    present = _present(bench)
    state = _progress(bench, serving, present)
    had = bench.manifest.sources(*serving.place).keys()
    lacking = had - bench.manifest.sources(*asked_for(bench).place).keys()
    quarantined = {source for source in lacking & present.keys() if present[source].state == "quarantined"}
    if any(source not in quarantined for source in lacking & present.keys()):
        return state
    if len(quarantined) > len(had) * MASS_DELETION_FRACTION and not accept_losses:
        return _because(
            state,
            f"{len(quarantined)} of {len(had)} files are quarantined under the new settings, so the old collection "
            "stays in use; change the settings, or confirm with `--confirm-deletions`",
        )
    try:
        problems = verify_collection(bench)
    except StoreError as error:
        return _because(state, f"it cannot be compared: {error}")
    if problems:
        return _because(state, f"it is not sound: {problems[0]}; run `stackroom doctor {bench.name} --repair`")
    return None


def _because(state: Building, problem: str) -> Building:
    return Building(state.collection, state.done, state.of, state.instead_of, problem)


def _present(bench: Bench) -> dict[str, SourceState]:
    return {state.source_id: state for state in bench.ledger.sources(bench.name) if state.present}


def _progress(bench: Bench, serving: Serving, present: Mapping[str, SourceState]) -> Building:
    here = asked_for(bench)
    wanted = {source for source, state in present.items() if state.state != "quarantined"}
    done = bench.manifest.sources(*here.place).keys() & wanted
    return Building(here.collection, len(done), len(wanted), serving)


def _keep(bench: Bench, serving: Serving) -> None:
    """Note the rows in a store that the settings no longer name, so that `stackroom move --drop-old` finds them."""
    root = bench.settings.state.root
    known = read_moved_stores(root).get(bench.name) or MovedStore(None, None)
    kept = dict.fromkeys([*known.kept, KeptStore(*serving.place)])
    write_moved_store(root, bench.name, MovedStore(known.configured, known.uri, tuple(kept)))


def _drop_unused(bench: Bench, here: Serving) -> tuple[tuple[KeptStore, ...], tuple[str, ...]]:
    """Drop the collections of the corpus that are neither in use nor kept on purpose: replaced or never finished.

    Only in the store in use: what is noted of another one may belong to the state folder that this one is a copy of.
    """
    moved = read_moved_stores(bench.settings.state.root).get(bench.name)
    stays = {here.place, *((kept.uri, kept.collection) for kept in (moved.kept if moved else ()))}
    dropped, problems = [], []
    for uri, collection, _ in bench.manifest.collections():
        # No corpus has a hyphen in its name; a record collection may be called the same, so that is looked at, too.
        if uri != here.uri or (uri, collection) in stays or not collection.startswith(f"{bench.name}-"):
            continue
        try:
            if drop_collection(bench, uri, collection):
                dropped.append(KeptStore(uri, collection))
        except StoreError as error:
            problems.append(f"the old collection {collection} could not be dropped yet: {error}")
    return tuple(dropped), tuple(problems)


def drop_collection(bench: Bench, uri: str, collection: str) -> bool:
    """Drop a collection of the corpus and what the manifest notes of it; False if it is another corpus's.

    Raises:
        StoreError: the store cannot be reached; the manifest still notes the collection.
    """
    try:
        store = bench.other_store(uri, collection)
        if store.spec.corpus != bench.name:
            return False
        store.drop()
    except StoreNotFoundError:  # dropped by hand, or by a run that broke off here
        pass
    bench.manifest.delete_collection(uri, collection)
    return True


def _sample(sources: Sequence[str]) -> list[str]:
    places = np.unique(np.linspace(0, len(sources) - 1, SAMPLED_SOURCES).astype(int)) if sources else ()
    return [sources[place] for place in places]


def _vector_found(bench: Bench, source: str) -> bool:
    """Return whether a row of a source is found by the vector of its artefact, with that very vector."""
    gathered = rows_with_vectors(FileWork(bench, source))
    if isinstance(gathered, Failed):
        return False
    if not gathered[0]:
        return True
    row = gathered[0][len(gathered[0]) // 2]
    hits = bench.store.query(np.asarray(row.vector), NEAREST)
    own = next((hit for hit in hits if hit.chunk_id == row.chunk_id), hits[-1] if hits else None)
    return own is not None and own.score >= LEAST_SIMILARITY
