"""Which headings stand above a text, and what becomes of headings that stand above nothing.

A heading is not a chunk of its own: it is embedded with every chunk below it. Two kinds would get lost that way and
come back as text: headings with nothing below them, and headings too long to be embedded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stackroom.artefacts import embedded_text
from stackroom.chunking.model import Origin, Piece, TokenCounter, whole
from stackroom.chunking.splitter import longest_start

HEADING_SHARE = 1 / 3
"""Most of a chunk's tokens that headings may take; more would drown the text they head."""


@dataclass(eq=False)
class Heading:
    """A heading of the document; two with the same words are two."""

    text: str
    level: int
    origin: Origin
    above: tuple["Heading", ...] = ()
    covers_text: bool = field(default=False, init=False)
    """Whether some text stands below it."""

    @property
    def chain(self) -> tuple["Heading", ...]:
        """The headings above it and itself, outermost first."""
        return (*self.above, self)


@dataclass(frozen=True, slots=True)
class Headed:
    """A piece of text and the headings above it, outermost first."""

    piece: Piece
    chain: tuple[Heading, ...]


def arrange(events: Sequence[Heading | Piece]) -> list[Headed]:
    """Give every piece its chain of headings, and turn headings with nothing below them into pieces.

    Args:
        events: headings and pieces in reading order; the headings' ``above`` is filled in here.

    Returns:
        The pieces in reading order, each with its headings. A heading without text below it is a piece of kind
        ``fallback`` under the headings above it.
    """
    flat = _levels_are_unknown(events)
    chain: tuple[Heading, ...] = ()
    placed: list[Headed | Heading] = []
    previous: Heading | Piece | None = None
    for event in events:
        if isinstance(event, Piece):
            placed.append(Headed(event, chain))
            _mark(chain)
        else:
            heads_next = flat and isinstance(previous, Heading) and _may_head(previous, event)
            event.above = chain if heads_next else tuple(one for one in chain if one.level < event.level)
            chain = event.chain
            placed.append(event)
        previous = event
    return _resolve(placed)


def _levels_are_unknown(events: Sequence[Heading | Piece]) -> bool:
    """Tell whether all headings have one level although they stand on pages: layout models know no levels.

    Then a heading directly followed by another ("3 Results", "3.1 Yield") is taken to stand above it.
    """
    headings = [event for event in events if isinstance(event, Heading) and event.level > 0]
    return len({heading.level for heading in headings}) == 1 and all(heading.origin.pages for heading in headings)


def _may_head(first: Heading, second: Heading) -> bool:
    is_headed_itself = any(heading.level == first.level for heading in first.above)
    return first.level == second.level and not is_headed_itself


def _mark(chain: Sequence[Heading]) -> None:
    for heading in chain:
        heading.covers_text = True


def _resolve(placed: Sequence[Headed | Heading]) -> list[Headed]:
    result: list[Headed] = []
    for entry in reversed(placed):  # a heading's own sub-headings are turned into text first, and count as text below
        if isinstance(entry, Headed):
            result.append(entry)
        elif not entry.covers_text:
            result.append(Headed(whole(entry.text, "fallback", (entry.origin,)), entry.above))
            _mark(entry.above)
    return result[::-1]


class HeadingTrimmer:
    """Decides which headings are embedded with a text, within their share of the token limit."""

    def __init__(self, counter: TokenCounter, max_tokens: int) -> None:
        self._count = counter.count
        self._limit = max(1, int(max_tokens * HEADING_SHARE))
        self._special = counter.count("")
        self._known: dict[tuple[Heading, ...], tuple[str, ...]] = {}
        self.shortened: dict[Heading, None] = {}
        """Headings that were cut or left out for some text, in the order they were met."""
        self.embedded: set[Heading] = set()
        """Headings that are embedded in full with some text."""

    def trim(self, chain: tuple[Heading, ...]) -> tuple[str, ...]:
        """Return the headings to embed: the nearest ones that fit, and the very nearest cut short if it does not."""
        if chain not in self._known:
            self._known[chain] = self._trim(chain)
        return self._known[chain]

    def _trim(self, chain: tuple[Heading, ...]) -> tuple[str, ...]:
        kept: list[str] = []
        for index in range(len(chain) - 1, -1, -1):
            heading = chain[index]
            if self._fits([heading.text, *kept]):
                kept.insert(0, heading.text)
                self.embedded.add(heading)
                continue
            self.shortened.update(dict.fromkeys(chain[: index + 1][::-1]))
            if not kept and (start := longest_start(heading.text, lambda text: self._fits([f"{text}..."]))):
                kept = [f"{start}..."]
            break
        return tuple(kept)

    def _fits(self, headings: list[str]) -> bool:
        return self._count(embedded_text(headings, "")) - self._special <= self._limit
