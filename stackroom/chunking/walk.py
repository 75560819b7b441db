"""One pass over a document in reading order: every text in it becomes an event, none is left out.

docling's own chunker skips what is not in the body layer, text inside pictures, undecoded formulas and whatever is
not reachable from the body. Here each of these is visited; what is no ordinary content (page furniture, text in
pictures unless it is prose, notes, hidden text) is of kind ``fallback``. How pieces are merged or cut is not decided
here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from docling_core.types.doc import (
    CodeItem,
    ContentLayer,
    DocItem,
    DocItemLabel,
    DoclingDocument,
    ListGroup,
    NodeItem,
    PictureItem,
    RefItem,
    SectionHeaderItem,
    TableItem,
    TextItem,
    TitleItem,
)
from docling_core.types.doc.document import FloatingItem

from stackroom.chunking.furniture import Furniture
from stackroom.chunking.headings import Heading
from stackroom.chunking.inline import children, own_text, subtree_text
from stackroom.chunking.model import Origin, Piece, stack, whole
from stackroom.chunking.provenance import origin_of
from stackroom.chunking.tables import read_table, render, table_text
from stackroom.text import normalize_counted

_FURNITURE = frozenset({ContentLayer.FURNITURE, ContentLayer.BACKGROUND})
_ASIDE = frozenset({ContentLayer.NOTES, ContentLayer.INVISIBLE})
_FIGURE_CAPTION = re.compile(r"\W*(fig|abb|pic|pho|plate|scheme|image|chart|graph|illus)", re.IGNORECASE)

PROSE_WORDS = 60
PROSE_WORDS_PER_ITEM = 5
"""With at least so many words in all and in each line or paragraph, the text inside a picture is running text; labels
of axes and boxes have fewer."""

Event = Heading | Piece


class Walk:
    """What a document says: :attr:`events` in reading order, and its page :attr:`furniture`."""

    def __init__(self, document: DoclingDocument) -> None:
        self.events: list[Event] = []
        self.furniture = Furniture()
        self.changes: Counter[str] = Counter()
        """What normalisation changed, by kind."""
        self._document = document
        self._seen: set[str] = set()
        floating = chain(document.tables, document.pictures, document.texts, document.key_value_items)
        self._attached = {ref.cref for item in floating for ref in _attachments(item)}
        self._walk(document.body, "text", skip=self._attached)
        # Captions whose owner was never met, and items in no tree at all.
        for orphan in chain(document.tables, document.pictures, document.key_value_items, document.texts):
            self._walk(orphan, "fallback", skip=frozenset())

    def _walk(self, root: NodeItem, kind: str, skip: Iterable[str]) -> None:
        waiting: list[tuple[NodeItem, str, str | None]] = [(root, kind, None)]
        while waiting:
            node, kind, group = waiting.pop()
            if node.self_ref in self._seen or node.self_ref in skip:
                continue
            self._seen.add(node.self_ref)
            if node.content_layer in _ASIDE:
                kind = "fallback"
            self._emit(node, self._events_of(node, kind, group))
            if isinstance(node, PictureItem) and not self._is_prose(node):
                kind, group = "fallback", group or node.self_ref
            elif isinstance(node, ListGroup):
                group = group or node.self_ref
            waiting += [(child, kind, group) for child in reversed(children(node, self._document))]

    def _emit(self, node: NodeItem, events: Sequence[Event]) -> None:
        if node.content_layer not in _FURNITURE:
            self.events += events
            return
        for event in events:
            origins = (event.origin,) if isinstance(event, Heading) else tuple(span.origin for span in event.spans)
            self.furniture.add(whole(event.text, "fallback", origins))

    def _events_of(self, node: NodeItem, kind: str, group: str | None) -> list[Event]:
        if isinstance(node, TitleItem | SectionHeaderItem):
            return self._heading(node, kind)
        if isinstance(node, TableItem):
            return self._table(node, kind)
        if isinstance(node, PictureItem):
            return self._picture(node, kind)
        return self._text(node, kind, group)

    def _heading(self, node: TitleItem | SectionHeaderItem, kind: str) -> list[Event]:
        text, used = own_text(node, self._document)
        self._seen.update(one.self_ref for one in used)
        text = " ".join(self._clean(text).split())
        if not text:
            return []
        origin = self._origin(node, text)
        if kind == "fallback":  # a heading inside a picture or a note heads nothing outside of it
            return [whole(text, kind, (origin,))]
        return [Heading(text, node.level if isinstance(node, SectionHeaderItem) else 0, origin)]

    def _text(self, node: NodeItem, kind: str, group: str | None) -> list[Event]:
        events: list[Event] = []
        caption = self._attachment(node.captions, kind) if isinstance(node, FloatingItem) else None
        if caption:
            events.append(caption)
        text, used = own_text(node, self._document)
        self._seen.update(one.self_ref for one in used)
        if text := self._clean(text):
            origins = tuple(self._origin(one, text) for one in (node, *used) if isinstance(one, DocItem))
            events.append(whole(text, _kind_of(node, text, kind), origins, group))
        return events

    def _table(self, node: TableItem, kind: str) -> list[Event]:
        caption = self._attachment(node.captions, kind)
        notes = self._attachment(node.footnotes, kind)
        found = read_table(node, self._document, self._clean)
        if found.is_container:
            return [piece for piece in (caption, notes) if piece]
        self._seen |= found.used
        parts = (caption.text if caption else "", found.text, notes.text if notes else "")
        text = stack(parts)
        if not text:
            return []
        attached = [span.origin for piece in (caption, notes) if piece for span in piece.spans]
        origins = (self._origin(node, text), *attached)
        kind = kind if kind == "fallback" else "table"
        if found.header is None:
            return [whole(text, kind, origins)]
        table = found.as_table(parts[0], parts[2])
        piece = whole(table_text(table), kind, origins)
        return [Piece(piece.text, kind, piece.spans, table=table)]

    def _picture(self, node: PictureItem, kind: str) -> list[Event]:
        kind = kind if kind == "fallback" else "picture"
        attached = [piece for refs in (node.captions, node.footnotes) if (piece := self._attachment(refs, kind))]
        texts = [piece.text for piece in attached]
        if node.meta and node.meta.description:
            texts.append(self._clean(node.meta.description.text))
        if node.meta and node.meta.tabular_chart:
            texts.append(render(node.meta.tabular_chart.chart_data, self._clean))
        text = stack(texts)
        if not text:
            return []
        origins = (self._origin(node, text), *(span.origin for piece in attached for span in piece.spans))
        return [whole(text, kind, origins)]

    def _is_prose(self, picture: PictureItem) -> bool:
        """Tell whether a picture is really running text that a layout model took for one, as happens with columns."""
        _, nodes = subtree_text(picture, self._document, self._attached)
        texts = [node.text for node in nodes if isinstance(node, TextItem)]
        words = sum(len(text.split()) for text in texts)
        return words >= PROSE_WORDS and words >= len(texts) * PROSE_WORDS_PER_ITEM

    def _attachment(self, refs: Sequence[RefItem], kind: str) -> Piece | None:
        """Return the captions or footnotes of a floating item as one piece, and mark them as read."""
        texts: list[str] = []
        origins: list[Origin] = []
        for ref in refs:
            text, nodes = subtree_text(ref.resolve(self._document), self._document, self._seen)
            self._seen.update(node.self_ref for node in nodes)
            if text := self._clean(text):
                texts.append(text)
                origins += [self._origin(node, text) for node in nodes if isinstance(node, DocItem)]
        return whole(stack(texts), kind, tuple(origins)) if texts else None

    def _clean(self, text: str) -> str:
        text, changes = normalize_counted(text)
        self.changes.update(changes)
        return text

    def _origin(self, node: NodeItem, text: str) -> Origin:
        return origin_of(node, self._document.pages, len(text))


def _attachments(item: NodeItem) -> list[RefItem]:
    return [*item.captions, *item.footnotes] if isinstance(item, FloatingItem) else []


def _kind_of(node: NodeItem, text: str, kind: str) -> str:
    if kind != "text":
        return kind
    if isinstance(node, CodeItem):
        return "code"
    is_caption = isinstance(node, DocItem) and node.label == DocItemLabel.CAPTION
    return "picture" if is_caption and _FIGURE_CAPTION.match(text) else kind
