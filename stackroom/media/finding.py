"""What a look inside a file found; the type that the parts of this package hand to :mod:`stackroom.media.identify`."""

from dataclasses import dataclass

from stackroom.formats import Media
from stackroom.outcome import Failed


@dataclass(frozen=True)
class Finding:
    """A kind of document, and what stands in the way of reading it."""

    media: Media
    encrypted: bool = False
    problem: Failed | None = None
