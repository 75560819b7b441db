"""A piece of reference material as retrievers hand it on: text and metadata.

The functions of this package only look at ``page_content`` and ``metadata``, so that LangChain's ``Document`` serves as
well; that library is not needed.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from stackroom.stores.base import StoreHit
from stackroom.stores.metadata import display_metadata


class DocumentLike(Protocol):
    """Anything with text and metadata."""

    page_content: str
    metadata: dict[str, Any]


@dataclass
class Document:
    """Text with metadata."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


def document_of(hit: StoreHit) -> Document:
    """Return a hit as a document; forms of names that were added for searching are not shown."""
    return Document(hit.text, dict(display_metadata(hit.metadata)))
