"""Where text stands: from docling's provenance to pages and boxes, and down to the part of an item a chunk holds.

Boxes are in points with the origin at the top left of the page. docling knows one box per paragraph and column, not
per line. Given the lines of the page (:mod:`stackroom.chunking.lines`), boxes are the lines a chunk's text is found
in; without them the box of a part of a paragraph is cut at the lines that part must occupy.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import sqrt

from docling_core.types.doc import CoordOrigin, DocItem, NodeItem
from docling_core.types.doc.document import PageItem, ProvenanceItem

from stackroom.artefacts import Box
from stackroom.chunking.lines import LineSource, inside, lines_holding
from stackroom.chunking.model import Origin, Place, Span

LINE_PER_EM = 1.2
"""Distance of two lines of running text, in font sizes."""
WIDTH_PER_EM = 0.5
"""Mean width of a character of running text, in font sizes."""


def origin_of(node: NodeItem, pages: Mapping[int, PageItem], characters: int) -> Origin:
    """Return where an item of a document stands.

    Args:
        node: any node; one without provenance (a group, an item of a web page) gives an origin without places.
        pages: the document's pages, whose height is needed to turn boxes over.
        characters: length of the item's text.
    """
    found = node.prov if isinstance(node, DocItem) else []
    numbers = tuple(dict.fromkeys(prov.page_no for prov in found))
    boxes = [(prov, _top_left(prov, pages)) for prov in found]
    known = [(prov, box) for prov, box in boxes if box is not None]
    shares = _shares([prov for prov, _ in known], [box for _, box in known])
    places = tuple(Place(box, *share) for (_, box), share in zip(known, shares, strict=True))
    return Origin(node.self_ref, numbers, places, characters)


def pages_of(spans: Iterable[Span]) -> tuple[int, ...]:
    """Return the pages on which the text of some spans stands, ascending."""
    pages: set[int] = set()
    for span in spans:
        occupied = {place.box.page for place in span.origin.places if place.start < span.high and place.end > span.low}
        pages.update(occupied or span.origin.pages)
    return tuple(sorted(pages))


def boxes_of(text: str, spans: Iterable[Span], lines: LineSource | None = None) -> tuple[Box, ...]:
    """Return the boxes in which a text stands, in reading order, each once.

    Args:
        text: the text the spans refer to.
        spans: where its parts come from.
        lines: the text lines of the file's pages; where it knows none, boxes of parts are estimated.
    """
    boxes: dict[Box, None] = {}
    for span in spans:
        for place in span.origin.places:
            if place.start < span.high and place.end > span.low:
                boxes[_part(text, place, span, lines)] = None
    return tuple(boxes)


def _top_left(prov: ProvenanceItem, pages: Mapping[int, PageItem]) -> Box | None:
    bbox = prov.bbox
    if bbox.coord_origin != CoordOrigin.TOPLEFT:
        page = pages.get(prov.page_no)
        if page is None:
            return None
        bbox = bbox.to_top_left_origin(page_height=page.size.height)
    top, bottom = sorted((bbox.t, bbox.b))
    return Box(prov.page_no, bbox.l, top, bbox.r, bottom)


def _shares(found: Sequence[ProvenanceItem], boxes: Sequence[Box]) -> list[tuple[float, float]]:
    """Return which share of an item's text stands in each of its boxes, from docling's character spans.

    Converters without character spans write the same span (or an empty one) everywhere; then the area decides.
    """
    spans = [(int(prov.charspan[0]), int(prov.charspan[1])) for prov in found]
    total = max((end for _, end in spans), default=0)
    in_order = all(before[1] <= after[0] for before, after in pairwise(spans))
    if in_order and all(start < end for start, end in spans):
        return [(start / total, end / total) for start, end in spans]
    areas = [max((box.r - box.l) * (box.b - box.t), 1e-6) for box in boxes]
    whole = sum(areas)
    edges = [sum(areas[:index]) / whole for index in range(len(areas) + 1)]
    return list(pairwise(edges))


def _part(text: str, place: Place, span: Span, lines: LineSource | None) -> Box:
    """Return the part of a place that holds the span's share of the item's text."""
    extent = place.end - place.start
    low = max(0.0, (span.low - place.start) / extent)
    high = min(1.0, (span.high - place.start) / extent)
    if lines is not None:
        per_share = (span.end - span.start) / (span.high - span.low)
        start = span.start + int((max(span.low, place.start) - span.low) * per_share)
        end = span.start + int((min(span.high, place.end) - span.low) * per_share) + 1
        if (
            box := lines_holding(text[start:end], low, high, inside(lines.lines(place.box.page), place.box))
        ) is not None:
            return box
    return _estimated_part(place, low, high, span.origin.characters * extent)


def _estimated_part(place: Place, low: float, high: float, characters: float) -> Box:
    """Return the lines that hold the share ``low`` to ``high`` of a place's characters, were all lines equally long."""
    lines = _lines(place, characters)
    first, last = round(low * lines), round(high * lines)
    if lines < 2 or (first == 0 and last == lines):
        return place.box
    if first == last:  # less than half a line: the line it begins in
        first = min(int(low * lines), lines - 1)
        last = first + 1
    box = place.box
    height = (box.b - box.t) / lines
    return Box(box.page, box.l, box.t + first * height, box.r, box.t + last * height)


def _lines(place: Place, characters: float) -> int:
    """Estimate how many lines of text a place holds.

    With font size e, a line holds width / (e * WIDTH_PER_EM) characters and is e * LINE_PER_EM high, so
    e = sqrt(width * height / (characters * WIDTH_PER_EM * LINE_PER_EM)).
    """
    width, height = place.box.r - place.box.l, place.box.b - place.box.t
    if characters < 1 or width <= 0 or height <= 0:
        return 1
    em = sqrt(width * height / (characters * WIDTH_PER_EM * LINE_PER_EM))
    return max(1, round(height / (em * LINE_PER_EM)))
