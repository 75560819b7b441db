"""What lies in the state folder and is not needed any more: found, measured, and deleted on request.

Nothing here is ever the only copy of anything: artefacts of sources that are in no ledger, conversions of content that
no file has, vectors of texts that no chunk has, old logs. Deleting them while a run is in flight costs at most the work
of making one of them again.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from stackroom.config import Config
from stackroom.embedding import open_embedder
from stackroom.embedding.cache import VectorCache
from stackroom.errors import ArtefactError
from stackroom.identity import artefact_name
from stackroom.ledger import Ledger
from stackroom.records.naming import corpus_of
from stackroom.remembered import read_serving
from stackroom.settings import EmbedderSettings
from stackroom.state import StateFolder

DAY_SECONDS = 86_400.0
LEFTOVER_SECONDS = DAY_SECONDS
"""Age from which a temporary file is one that a killed process left."""
MOST_SHOWN = 20


@dataclass(frozen=True)
class Tidied:
    """What was deleted of one kind, or would be."""

    kind: str
    count: int
    megabytes: float
    examples: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def tidy(config: Config, *, dry_run: bool = False, now: float | None = None) -> list[Tidied]:
    """Delete what is not needed any more from the state folder.

    Args:
        config: the project's settings; ``retention`` says how long what is kept.
        dry_run: only say what would be deleted.
        now: the time, in seconds since the epoch (default: the clock's).

    Raises:
        EmbeddingError: the embedding cache cannot be used.
        OSError: a file cannot be deleted.
    """
    state, now = StateFolder(config.state_folder), time.time() if now is None else now
    if not state.ledger.exists():  # nothing was ever ingested; opening a ledger creates it
        return []
    ledger = Ledger(state.ledger)
    try:
        kinds: dict[str, Callable[[], Iterator[Path]]] = {
            "artefacts": lambda: orphaned_artefacts(config, ledger, now),
            "conversions": lambda: unused_conversions(config, ledger, now),
            "logs": lambda: old_logs(config, now),
        }
        done = [_delete(kind, find(), config.state_folder, dry_run=dry_run) for kind, find in kinds.items()]
    finally:
        ledger.close()
    return [*done, tidy_vectors(config, dry_run=dry_run)]


def orphaned_artefacts(config: Config, ledger: Ledger, now: float) -> Iterator[Path]:
    """Yield artefacts of sources that the ledger does not know, and temporary files that a killed process left.

    Only of corpora and record sets that there are; `stackroom forget` deletes those of others.
    """
    state = StateFolder(config.state_folder)
    for corpus in (*config.corpora, *map(corpus_of, config.records)):
        known = {artefact_name(line.source_id) for line in ledger.sources(corpus)}
        for path in sorted(state.artefacts(corpus).root.glob("*/*")):
            if path.name.startswith("."):
                leftover = path.suffix == ".tmp" and _age(path, now) > LEFTOVER_SECONDS
            else:
                leftover = path.name.rpartition(".")[0] not in known
            if leftover and path.is_file():
                yield path


def unused_conversions(config: Config, ledger: Ledger, now: float) -> Iterator[Path]:
    """Yield converted documents whose content no source has, and that nobody wrote for ``conversions_days``."""
    used = {line.content_hash for line in ledger.sources()}
    oldest = config.retention.conversions_days * DAY_SECONDS
    for folder in sorted(StateFolder(config.state_folder).conversion_cache.glob("*/*")):
        if folder.is_dir() and folder.name not in used:
            yield from (path for path in sorted(folder.iterdir()) if path.is_file() and _age(path, now) > oldest)


def old_logs(config: Config, now: float) -> Iterator[Path]:
    """Yield the logs of ingestions that are older than ``logs_days``."""
    oldest = config.retention.logs_days * DAY_SECONDS
    yield from (path for path in sorted((config.state_folder / "logs").glob("*.log")) if _age(path, now) > oldest)


def tidy_vectors(config: Config, *, dry_run: bool = False) -> Tidied:
    """Delete vectors that no chunk has, once the embedding cache is larger than ``vectors_mb``.

    Raises:
        EmbeddingError: the cache cannot be used.
    """
    path = StateFolder(config.state_folder).embedding_cache
    before = path.stat().st_size if path.exists() else 0
    if before <= config.retention.vectors_mb * 2**20:
        return Tidied("vectors", 0, 0.0)
    cache = VectorCache(path)
    try:
        documents, others = _models_in_use(config)
        count = cache.count_except(keep_all=others, keep_some=documents, texts=(used := _texts_in_use(config)))
        if dry_run or not count:
            return Tidied("vectors", count, before / 2**20 * count / max(cache.count(), 1))
        cache.delete_except(keep_all=others, keep_some=documents, texts=used)
    finally:
        cache.close()
    return Tidied("vectors", count, max(before - path.stat().st_size, 0) / 2**20)


def _models_in_use(config: Config) -> tuple[set[str], set[str]]:
    """Return the cache keys of models of which only vectors of chunks are used, and of which any may be.

    A model that is not on this machine now may be back tomorrow; without knowing its key nothing of it could be told
    from what is not needed.

    Raises:
        EmbeddingError: the model of a corpus cannot be opened.
    """
    serving = (read_serving(config.state_folder, name) for name in config.corpora)
    settings = [corpus.embedder for corpus in config.corpora.values()]
    settings += [EmbedderSettings.model_validate(one.embedder) for one in serving if one is not None]
    others = {open_embedder(records.embedder).cache_key for records in config.records.values()}
    return {open_embedder(one).cache_key for one in settings} - others, others


def _texts_in_use(config: Config) -> set[bytes]:
    """Return the hashes of the texts of all chunks there are."""
    used: set[bytes] = set()
    for path in StateFolder(config.state_folder).root.glob("artefacts/*/chunks/*.parquet"):
        try:
            column = pq.read_table(path, columns=["text_hash"]).column("text_hash")
        except (OSError, ValueError) as error:
            raise ArtefactError(f"{path} cannot be read ({error}); run `stackroom doctor` first") from error
        used.update(bytes.fromhex(digest) for digest in column.to_pylist())
    return used


def _delete(kind: str, paths: Iterable[Path], root: Path, *, dry_run: bool) -> Tidied:
    count, size = 0, 0
    examples: list[str] = []
    for path in paths:
        count, size = count + 1, size + path.stat().st_size
        if len(examples) < MOST_SHOWN:
            examples.append(path.relative_to(root).as_posix())
        if not dry_run:
            path.unlink(missing_ok=True)
    return Tidied(kind, count, size / 2**20, tuple(examples))


def _age(path: Path, now: float) -> float:
    """Return the age of a file in seconds; one that has just gone counts as new."""
    try:
        return now - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
