"""How far the XMP packets of a PDF can be trusted: journals leave packets of other articles in their templates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stackroom.biblio.folding import squash
from stackroom.biblio.junk import is_junk_author, is_junk_title
from stackroom.biblio.names import surname
from stackroom.biblio.view import DocumentView


@dataclass(frozen=True)
class Packet:
    """An XMP packet and whether the pages bear it out."""

    properties: Mapping[str, list[str]]
    trust: float
    """1: title or authors are printed; 0.6: nothing speaks for or against it; 0: the pages say otherwise."""

    def get(self, *keys: str) -> list[str]:
        """Return the values of the first key that has any."""
        return next((self.properties[key] for key in keys if self.properties.get(key)), [])


def packets(view: DocumentView) -> list[Packet]:
    """Return the packets of a document with the trust they deserve."""
    return [Packet(properties, _trust(view, properties)) for properties in view.pdf.get("xmp") or ()]


def _trust(view: DocumentView, properties: Mapping[str, list[str]]) -> float:
    signs = list(_signs(view, properties))
    if not view.front_squashed or not signs:
        return 0.6
    return 1.0 if all(signs) else 0.0


def _signs(view: DocumentView, properties: Mapping[str, list[str]]) -> Iterator[bool]:
    """Yield, for title and authors, whether they are printed on the first pages."""
    titles = [title for title in properties.get("dc:title", ()) if not is_junk_title(title)]
    if titles:
        yield any(view.shows(title) for title in titles)
    names = [name for name in properties.get("dc:creator", ()) if not is_junk_author(name)]
    if names:
        shown = sum(squash(surname(name)) in view.front_squashed for name in names)
        yield 2 * shown >= len(names)
