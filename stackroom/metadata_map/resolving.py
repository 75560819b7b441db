"""Which fields hold for a chunk: DEFAULT, overlaid with the one entry that fits its headings best."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stackroom.metadata_map.curated import DEFAULT, Entry
from stackroom.text import normalize_text

SEPARATOR = " > "


def normal_chain(chain: str) -> str:
    """Return a heading chain as it is compared: normalised text, any case, one blank around each separator."""
    parts = [" ".join(normalize_text(part).split()) for part in chain.split(">")]
    return SEPARATOR.join(part.casefold() for part in parts)


def candidate_chains(headings: Sequence[str]) -> Iterator[str]:
    """Yield the keys tried for a chunk: the whole chain, then its endings, then its beginnings, longest first."""
    count = len(headings)
    tried = [SEPARATOR.join(headings[first:]) for first in range(count)]
    tried += [SEPARATOR.join(headings[:length]) for length in range(count - 1, 0, -1)]
    yield from dict.fromkeys(tried)


def resolve(entry: Entry, headings: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the fields that hold under some headings.

    The first key that exists and is not empty is laid over DEFAULT; ancestors do not add up. Keys are compared after
    normalisation.

    Args:
        entry: merged entry of a source.
        headings: heading chain of a chunk, outermost first; None or empty means none.

    Returns:
        The fields; None when there is neither a fitting entry nor a DEFAULT.
    """
    return resolver(entry)(headings)


def resolver(entry: Entry) -> Callable[[Sequence[str] | None], dict[str, Any] | None]:
    """Return :func:`resolve` for one entry; a document of a thousand headings is then gone through only once."""
    default = entry.get(DEFAULT)
    by_chain: dict[str, Mapping[str, Any]] = {}
    for chain, fields in entry.items():
        if chain != DEFAULT and fields:
            by_chain.setdefault(normal_chain(chain), fields)

    def resolved(headings: Sequence[str] | None) -> dict[str, Any] | None:
        for chain in candidate_chains(headings or ()) if by_chain else ():
            fitting = by_chain.get(normal_chain(chain))
            if fitting is not None:
                return {**(default or {}), **fitting}
        return None if default is None else dict(default)

    return resolved
