"""Moving the vectors of a corpus to another backend: copy from the artefacts, verify, switch, drop the old one later.

Nothing is converted or embedded, and the old store is not even opened: what it should hold is known. A move that breaks
off has switched nothing and goes on where it stopped when it is started again.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from stackroom.config import STORE_VARIABLE, Config, check_store_uri
from stackroom.doctor import examine_store
from stackroom.errors import ConfigError, SourceError, StoreError
from stackroom.ledger import SourceState, Verdict
from stackroom.outcome import Failed
from stackroom.remembered import KeptStore, MovedStore, read_moved_stores, write_moved_store, write_serving
from stackroom.stages import vector_collection
from stackroom.stages.bench import Bench, FileWork
from stackroom.stages.exact_search import Agreement, compare_with_exact
from stackroom.stages.serving import asked_for, drop_collection, serving_elsewhere
from stackroom.stages.verdict import revision, settings_digest
from stackroom.words import are, count

LEAST_RECALL = 0.95
"""Share of the exact best rows that a copy must find. Graph indexes miss a row now and then, broken ones most."""
_ROUNDS = 10
"""Times that changes made meanwhile are followed before the move gives up."""

Tell = Callable[[int, int], None]
"""Told how many of how many sources are copied."""


@dataclass(frozen=True)
class Moved:
    """A move that was done."""

    corpus: str
    origin: str
    """Store URI."""
    target: str
    """Store URI."""
    collection: str
    sources: int
    rows: int
    agreement: Agreement
    waiting: int
    """Files that are not in the stores yet; the next ingestion brings them into the new one."""


def target_uri(config: Config, corpus: str, uri: str) -> str:
    """Return the URI to move to, with an absolute path where it names a file or folder.

    Raises:
        ConfigError: it is no store to move to, the corpus is there already, or the environment names its store.
    """
    variable = f"{STORE_VARIABLE}{corpus.upper()}"
    try:
        scheme, _, location = check_store_uri(uri).partition(":")
    except ValueError as error:
        raise ConfigError(f"--to: {error}") from error
    scheme = scheme.lower()
    if scheme == "memory":
        raise ConfigError("--to memory: would be lost when the command ends; name a store that lasts")
    if scheme in ("chroma", "qdrant", "sqlite") and not location.startswith(("http://", "https://")):
        location = str(Path(location).expanduser().resolve())
    if f"{scheme}:{location}" == config.vector_store_uri(corpus):
        raise ConfigError(f"--to names the store that {corpus} is in already")
    if os.environ.get(variable):
        raise ConfigError(
            f"the environment variable {variable} names the store of {corpus}; change or unset it instead"
        )
    return f"{scheme}:{location}"


def move_corpus(config: Config, bench: Bench, uri: str, tell: Tell | None = None) -> Moved:
    """Copy the collection of a corpus to another store, verify the copy, and use it from now on.

    Args:
        config: the project's settings.
        bench: bench of the corpus.
        uri: where to; see :func:`target_uri`.
        tell: told how it goes on.

    Raises:
        StoreError: the target cannot be used or holds something else, a source cannot be copied, or the copy is not
            what it should be. Nothing is switched then.
    """
    with Bench(replace(bench.settings, store_uri=uri), open_store=bench.open_store) as target:
        sources = _copy(bench, target, tell or (lambda *_: None))
        agreement = _verify(target, sources)
        rows = target.store.count()
        _switch(config, bench, uri)
        write_serving(config.state_folder, bench.name, asked_for(target))
        _carry_revisions(bench, target)
        known = bench.ledger.sources(bench.name)
        waiting = sum(state.present and state.state == "pending" for state in known)
    return Moved(
        bench.name, bench.settings.store_uri, uri, bench.collection.name, len(sources), rows, agreement, waiting
    )


def drop_old(config: Config, bench: Bench) -> list[KeptStore]:
    """Drop the collections that a corpus was moved from, and return them.

    Raises:
        StoreError: the store in use does not hold what it should, or an old one cannot be reached.
    """
    moved = read_moved_stores(config.state_folder).get(bench.name)
    if moved is None or not moved.kept:
        return []
    uri, collection = bench.settings.store_uri, bench.collection.name
    if serving_elsewhere(bench) is not None:
        raise StoreError(
            f"the collection that the settings of {bench.name} ask for is still being built; run `stackroom ingest "
            f"{bench.name}` first. Nothing was dropped"
        )
    noted = sum(len(row.chunk_ids) for row in bench.manifest.rows(uri, collection))
    if not noted or bench.store.count() != noted:
        raise StoreError(
            f"the store in use holds {count(bench.store.count(), 'row')} of {bench.name} instead of {noted}; run "
            f"`stackroom doctor {bench.name} --repair` first. Nothing was dropped"
        )
    for kept in moved.kept:
        if (kept.uri, kept.collection) != (uri, collection):
            drop_collection(bench, kept.uri, kept.collection)
    left = None if moved.uri is None else MovedStore(moved.configured, moved.uri)
    write_moved_store(config.state_folder, bench.name, left)
    return [kept for kept in moved.kept if (kept.uri, kept.collection) != (uri, collection)]


def _copy(bench: Bench, target: Bench, tell: Tell) -> list[str]:
    """Make the target hold what the artefacts say, and return the sources; changes made meanwhile are followed."""
    for _ in range(_ROUNDS):
        version = bench.ledger.version(bench.name)
        sources = [state.source_id for state in bench.ledger.sources(bench.name) if _stored(state)]
        _remove_surplus(target, sources)
        failed: dict[str, Failed] = {}
        for number, source in enumerate(sources, start=1):
            outcome = vector_collection.run(FileWork(target, source))
            if isinstance(outcome, Failed):
                failed[source] = outcome
            tell(number, len(sources))
        if bench.ledger.version(bench.name) != version:
            continue
        if failed:
            source, first = next(iter(failed.items()))
            raise StoreError(
                f"{len(failed)} of {len(sources)} files of {bench.name} cannot be copied ({source}: {first.message}); "
                f"run `stackroom ingest {bench.name}`, then move again. The corpus stays where it is"
            )
        return sources
    raise StoreError(f"{bench.name} keeps changing while it is moved; stop its ingestion, then move again")


def _remove_surplus(target: Bench, sources: list[str]) -> None:
    """Delete what an earlier move left in the target.

    Raises:
        StoreError: the target holds rows that no move of this corpus brought there.
    """
    uri, collection = target.settings.store_uri, target.collection.name
    noted = target.manifest.sources(uri, collection).keys()
    foreign = target.store.source_ids() - set(sources) - noted
    if foreign:
        raise StoreError(
            f"the collection {collection} is there already and holds {count(len(foreign), 'file')} that "
            f"{are(len(foreign))} not of {target.name} (for example {min(foreign)}); name another store, or drop that "
            "collection"
        )
    for source in sorted((target.store.source_ids() | noted) - set(sources)):
        target.store.delete_source(source)
        target.manifest.delete(uri, collection, source)


def _verify(target: Bench, sources: list[str]) -> Agreement:
    problems = examine_store(target)
    if problems:
        raise StoreError(
            f"the copy of {target.name} is not what it should be ({count(len(problems), 'problem')}; "
            f"{problems[0].message}); the corpus stays where it is"
        )
    agreement = compare_with_exact(target, sources)
    if agreement.recall < LEAST_RECALL:
        raise StoreError(
            f"the copy of {target.name} finds only {agreement.recall:.0%} of the best rows of {agreement.queries} "
            "sampled queries; the corpus stays where it is"
        )
    return agreement


def _switch(config: Config, bench: Bench, uri: str) -> None:
    known = read_moved_stores(config.state_folder).get(bench.name)
    configured = config.corpus(bench.name).vector_store
    if known is not None and known.uri is not None and known.uri == configured:
        configured = known.configured  # moved before: the settings still name the first store
    kept = [one for one in (known.kept if known else ()) if one.uri != uri]
    kept.append(KeptStore(bench.settings.store_uri, bench.collection.name))
    answering = serving_elsewhere(bench)  # the settings named yet another store, which was being filled
    kept += [KeptStore(*answering.place)] if answering is not None and answering.uri != uri else []
    home = configured or config.default_store_uri
    moved = MovedStore(configured, None if uri == home else uri, tuple(dict.fromkeys(kept)))
    write_moved_store(config.state_folder, bench.name, moved)


def _carry_revisions(bench: Bench, target: Bench) -> None:
    """Note that sources that were up to date still are: the revision of a source includes the store it is in.

    Without this the next ingestion would take every file through all stages to find that nothing is to be done.
    """
    try:
        hashes = bench.ledger.observe(bench.name, bench.scan)
    except SourceError:  # the folder cannot be read now; the next ingestion looks at every file instead
        return
    before, after = settings_digest(bench), settings_digest(target)
    for state in bench.ledger.sources(bench.name):
        digest = hashes.get(state.source_id)
        if digest is None or state.revision != revision(bench, state.source_id, digest, before):
            continue
        verdict = Verdict(
            state=state.state,
            revision=revision(target, state.source_id, digest, after),
            reason=state.reason,
            message=state.message,
            remedy=state.remedy,
            chunks=state.chunks,
            pages=state.pages,
            missing_pages=state.missing_pages,
        )
        bench.ledger.record(bench.name, state.source_id, verdict)


def _stored(state: SourceState) -> bool:
    return state.state in ("searchable", "partial")
