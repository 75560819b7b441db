"""What a converted document shows of its own bibliography: titles, headings, first and last texts, links, origin."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docling_core.types.doc.document import DoclingDocument

FIRST_ITEMS = 80
LAST_ITEMS = 30
MAX_HEADERS = 60
MAX_LINKS = 60
MAX_CHARACTERS = 1500
HEAD_CHARACTERS = 8000
"""The reference looks for keywords in the first 8,000 characters, for everything else in the first 3,000."""

_TITLE_LABELS = frozenset({"title"})
_HEADER_LABELS = frozenset({"section_header"})
_FURNITURE_LABELS = frozenset({"page_header", "page_footer"})


def docling_signals(document: "DoclingDocument") -> dict[str, Any]:
    """Return the signals of a converted document as plain values.

    Boxes are in points, origin at the top left of the page, y downwards.
    """
    items = list(_items(document))
    body = [item for item in items if item["label"] not in _FURNITURE_LABELS]
    return {
        "origin": _origin(document),
        "pages": {str(number): [page.size.width, page.size.height] for number, page in _first_pages(document)},
        "titles": [item for item in items if item["label"] in _TITLE_LABELS][:5],
        "headers": [item for item in items if item["label"] in _HEADER_LABELS][:MAX_HEADERS],
        "first": body[:FIRST_ITEMS],
        "last": body[FIRST_ITEMS:][-LAST_ITEMS:],
        "furniture": [item for item in items if item["label"] in _FURNITURE_LABELS][:40],
        "links": _links(document),
        "head": _head(document),
    }


def _items(document: "DoclingDocument") -> Iterator[dict[str, Any]]:
    for item in document.texts:
        text = " ".join((item.text or "").split())
        if not text:
            continue
        row: dict[str, Any] = {"label": str(item.label.value), "text": text[:MAX_CHARACTERS]}
        if item.prov:
            place = item.prov[0]
            row["page"] = place.page_no
            page = document.pages.get(place.page_no)
            if page is not None:
                box = place.bbox.to_top_left_origin(page.size.height)
                row["box"] = [round(value, 1) for value in (box.l, box.t, box.r, box.b)]
        yield row


def _first_pages(document: "DoclingDocument") -> list[tuple[int, Any]]:
    numbers = sorted(document.pages)
    return [(number, document.pages[number]) for number in [*numbers[:3], *numbers[3:][-1:]]]


def _origin(document: "DoclingDocument") -> dict[str, str]:
    origin = document.origin
    if origin is None:
        return {}
    values = {
        "mimetype": origin.mimetype,
        "filename": origin.filename,
        "uri": str(origin.uri) if origin.uri is not None else "",
    }
    return {key: value for key, value in values.items() if value}


def _links(document: "DoclingDocument") -> list[str]:
    found: dict[str, None] = {}
    for item in document.texts:
        link = str(item.hyperlink) if item.hyperlink is not None else ""
        if link.lower().startswith(("http://", "https://")):
            found[link[:500]] = None
        if len(found) >= MAX_LINKS:
            break
    return list(found)


def _head(document: "DoclingDocument") -> str:
    parts: list[str] = []
    length = 0
    for item in document.texts:
        text = (item.text or "").strip()
        if text:
            parts.append(text)
            length += len(text) + 1
        if length >= HEAD_CHARACTERS:
            break
    return "\n".join(parts)[:HEAD_CHARACTERS]
