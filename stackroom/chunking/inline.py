"""The plain text of document items: list markers, formulas, checkboxes and runs of differently formatted words.

Formatting (bold, link targets) is left out, because it is not text and would cost tokens.
"""

import re
from collections.abc import Collection

from docling_core.types.doc import DocItemLabel, DoclingDocument, InlineGroup, ListItem, NodeItem, TableItem, TextItem
from docling_core.types.doc.document import FormItem, KeyValueItem, RichTableCell

_CLOSING = re.compile(r"[,.;:!?)\]}%\u2019\u201d](?:[\s,.;:!?)\]}]|$)")
_OPENING = re.compile(r"[(\[{\u2018\u201c]$")
_BOX_MARKS = {DocItemLabel.CHECKBOX_SELECTED: "[x] ", DocItemLabel.CHECKBOX_UNSELECTED: "[ ] "}


def own_text(item: NodeItem, document: DoclingDocument) -> tuple[str, list[NodeItem]]:
    """Return the text of one item, without the items below it except those that are its words.

    Args:
        item: any node; groups and pictures have no text of their own.
        document: the document it belongs to.

    Returns:
        The text as found (not normalised; empty if there is none), and the nodes below the item whose text is part of
        it.
    """
    if isinstance(item, InlineGroup):
        return _inline_text(item, document)
    if isinstance(item, KeyValueItem | FormItem):
        # Cells that refer to an item repeat text that is visited on its own.
        return "\n".join(cell.text for cell in item.graph.cells if cell.item_ref is None and cell.text.strip()), []
    if isinstance(item, TableItem):  # a table within a cell of another one; rich cells are nodes of their own
        return " ".join(cell.text for cell in item.data.table_cells if not isinstance(cell, RichTableCell)), []
    if not isinstance(item, TextItem):
        return "", []
    # A formula that was not decoded, for one, has its characters only in `orig`.
    text = item.text if item.text.strip() else item.orig
    used: list[NodeItem] = []
    if not text.strip():
        text, used = _text_of_first_group(item, document)
    if text.strip():
        text = _marker(item) + text
    return text, used


def subtree_text(
    root: NodeItem, document: DoclingDocument, skip: Collection[str] = frozenset()
) -> tuple[str, list[NodeItem]]:
    """Return the text of a node and of everything below it, joined by blanks.

    Args:
        root: the node to start from.
        document: the document it belongs to.
        skip: references of nodes to leave out, with what is below them.

    Returns:
        The text, not normalised, and all nodes visited.
    """
    parts: list[str] = []
    nodes: list[NodeItem] = []
    used: set[str] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.self_ref in skip:
            continue
        nodes.append(node)
        if node.self_ref not in used:
            text, words = own_text(node, document)
            used.update(word.self_ref for word in words)
            if text.strip():
                parts.append(text.strip())
        waiting += reversed(children(node, document))
    return " ".join(parts), nodes


def children(node: NodeItem, document: DoclingDocument) -> list[NodeItem]:
    """Return the nodes directly below a node, in reading order."""
    return [ref.resolve(document) for ref in node.children]


def _marker(item: TextItem) -> str:
    if isinstance(item, ListItem) and item.marker.strip():
        return f"{item.marker.strip()} "
    return _BOX_MARKS.get(item.label, "")


def _text_of_first_group(item: TextItem, document: DoclingDocument) -> tuple[str, list[NodeItem]]:
    # A heading or list item with several formatted runs is empty itself; its words are in an inline group below it.
    for child in children(item, document):
        if isinstance(child, InlineGroup):
            text, used = _inline_text(child, document)
            return text, [child, *used]
    return "", []


def _inline_text(group: InlineGroup, document: DoclingDocument) -> tuple[str, list[NodeItem]]:
    text = ""
    used: list[NodeItem] = []
    for child in children(group, document):
        run, words = own_text(child, document)
        used += [child, *words]
        apart = text and run and not (text[-1].isspace() or _CLOSING.match(run) or _OPENING.search(text))
        text += f" {run}" if apart else run
    return text, used
