"""What a file truly is, by its content: kind, encryption, and whether it can be read at all within the limits."""

from stackroom.formats import Media
from stackroom.media.identify import MEDIA_VERSION, Identified, identify

__all__ = ["MEDIA_VERSION", "Identified", "Media", "identify"]
