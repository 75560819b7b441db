"""What to do so that the stores match the folder: a pure comparison of what is with what should be.

Used by the command line, the sensor and the nightly schedule alike. Nothing here touches disk, store or Dagster.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stackroom.ledger import SourceState
from stackroom.sources import SourceFile
from stackroom.words import count

MASS_DELETION_FRACTION = 0.5
"""From this share of a corpus on, vanished files look more like an unmounted disk than like deletions."""

MASS_DELETION_MINIMUM = 3
"""Corpora of fewer vanished files than this are too small for the share to mean anything, unless nothing is left."""

FEW_RUNS = 8
"""Up to this many ranged runs, each covers exactly the files to process; above, gaps are bridged."""

WIDEST_GAP = 10
"""Most unchanged files a run passes over to reach the next one to process; a run of its own costs more than they do."""


@dataclass(frozen=True)
class Plan:
    """What to do for one corpus."""

    process: tuple[str, ...] = ()
    """Sources to run through the stages: new, changed, never finished, or asked for."""
    delete: tuple[str, ...] = ()
    """Sources to remove from every store."""
    unchanged: int = 0
    held_back: tuple[str, ...] = ()
    """Quarantined sources that are not tried again because neither they nor the settings changed."""
    refused: str | None = None
    """Why deletions were not planned although files are gone."""
    settling: tuple[str, ...] = ()
    """Sources left for the next look because they are still being written."""
    done: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Searchable sources for which nothing has to be done; processing one again would change nothing."""

    @property
    def empty(self) -> bool:
        """True when there is nothing to process or delete."""
        return not self.process and not self.delete


def plan(
    desired: Mapping[str, str],
    known: Sequence[SourceState],
    *,
    force: bool = False,
    retry_quarantined: bool = False,
    confirm_deletions: bool = False,
    busy: Collection[str] = (),
    settling: Collection[str] = (),
    again: Collection[str] = (),
) -> Plan:
    """Compare the revisions that should be with those that are.

    Args:
        desired: revision by source id, of every file now in the folder.
        known: the ledger's lines of the corpus.
        force: process every file again.
        retry_quarantined: also process quarantined files that did not change.
        confirm_deletions: delete even if more than half of the corpus has vanished.
        busy: sources that runs in flight are working on; they are left alone this time.
        settling: sources in the folder that are still being written; they are left alone this time.
        again: sources to process although they have not changed.
    """
    by_source = {state.source_id: state for state in known}
    process, held_back, done, unchanged = [], [], set(), 0
    for source, revision in desired.items():
        state = by_source.get(source)
        if source in busy:
            unchanged += 1
        elif force or source in again or _needs_work(state, revision, retry_quarantined):
            process.append(source)
        elif state is not None and state.state == "quarantined":
            held_back.append(source)
        else:
            unchanged += 1
            done.add(source)
    gone = [source for source in by_source if not (source in desired or source in busy or source in settling)]
    refused = None if confirm_deletions else refusal(len(gone), len(by_source))
    return Plan(
        process=tuple(sorted(process)),
        delete=() if refused else tuple(sorted(gone)),
        unchanged=unchanged,
        held_back=tuple(sorted(held_back)),
        refused=refused,
        settling=tuple(sorted(settling)),
        done=frozenset(done),
    )


def _needs_work(state: SourceState | None, revision: str, retry_quarantined: bool) -> bool:
    if state is None or state.revision != revision or state.state == "pending":
        return True
    return retry_quarantined and state.state == "quarantined"


def refusal(gone: int, known: int) -> str | None:
    """Say why so many vanished files are not taken for deletions, or return None."""
    everything = gone == known and gone > 0
    if not everything and (gone < MASS_DELETION_MINIMUM or gone <= known * MASS_DELETION_FRACTION):
        return None
    have = "has" if gone == 1 else "have"
    return (
        f"{gone} of {count(known, 'file')} {have} vanished at once; if that is a disk that is not mounted, mount it, "
        "and if they were deleted on purpose, confirm with `--confirm-deletions`"
    )


def pages_to_do(planned: Plan, known: Iterable[SourceState]) -> int | None:
    """Return the pages of the files to process, or None if a file has never been processed or none has pages."""
    states = {state.source_id: state for state in known}
    todo = [states.get(source) for source in planned.process]
    if any(state is None or state.updated_at is None for state in todo):
        return None
    return sum(state.pages or 0 for state in todo if state is not None) or None


def young_files(files: Iterable[SourceFile], now: float, settle_seconds: float) -> dict[str, tuple[int, int]]:
    """Return (size, mtime in ns) of the files modified less than ``settle_seconds`` before ``now``, or after it.

    A time stamp in the future is what a file server whose clock is ahead gives to files written this moment.
    """
    latest = (now - settle_seconds) * 1e9
    return {file.source_id: (file.size, file.mtime_ns) for file in files if file.mtime_ns > latest}


def still_written(young: Mapping[str, tuple[int, int]], before: Mapping[str, tuple[int, int]]) -> frozenset[str]:
    """Return the young files that did not look the same at the previous look; they may be half of what they become."""
    return frozenset(source for source, stat in young.items() if before.get(source) != stat)


def runs_for(planned: Plan, ordered: Sequence[str], most: int) -> list[tuple[str, str]]:
    """Return the ranges of the runs that process a plan's files.

    Each run costs about a second before it does anything, and a thousand files scattered over a corpus would need as
    many. So when there would be more than :data:`FEW_RUNS`, a run also covers up to :data:`WIDEST_GAP` neighbouring
    files for which there is nothing to do; never one that is quarantined, gone, busy or still being written.

    Args:
        planned: what to do.
        ordered: all sources with partitions, in the order in which they were added.
        most: most files in a run.
    """
    exact = ranges(planned.process, ordered, most)
    if len(exact) <= FEW_RUNS:
        return exact
    return ranges({*planned.process, *_gaps(set(planned.process), ordered, planned.done)}, ordered, most)


def _gaps(wanted: Collection[str], ordered: Sequence[str], done: Collection[str]) -> set[str]:
    """Return the sources of ``done`` that lie between two wanted ones with nothing else between."""
    bridged: set[str] = set()
    gap: list[str] | None = None
    for source in ordered:
        if source in wanted:
            bridged.update(gap or ())
            gap = []
        elif gap is not None:
            gap = [*gap, source] if source in done and len(gap) < WIDEST_GAP else None
    return bridged


def ranges(wanted: Collection[str], ordered: Sequence[str], most: int) -> list[tuple[str, str]]:
    """Cut wanted partition keys into (first, last) pairs, each contiguous in ``ordered`` and of at most ``most`` keys.

    Dagster's ranged runs cover keys in the order in which they were added, so that order has to be given.
    """
    wanted = set(wanted)
    result: list[tuple[str, str]] = []
    current: list[str] = []
    for key in [*ordered, None]:
        if key is not None and key in wanted and len(current) < most:
            current.append(key)
            continue
        if current:
            result.append((current[0], current[-1]))
        current = [key] if key is not None and key in wanted else []
    return result
