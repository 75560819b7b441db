"""docling documents that are pieces of a file: their page numbers, and the text on each page. No conversion here."""

import re
from collections import Counter
from collections.abc import Collection

from docling_core.types.doc import DocItem, DoclingDocument, Size
from docling_core.types.doc.document import ContentLayer, PageItem

from stackroom.text import normalize_text

_WORD = re.compile(r"[^\W_]+")


def blank_document(name: str, pages: Collection[int]) -> DoclingDocument:
    """Return a document of empty pages, which keep the page numbers of what follows right."""
    document = DoclingDocument(name=name)
    add_missing_pages(document, pages)
    return document


def add_missing_pages(document: DoclingDocument, pages: Collection[int]) -> None:
    """Make sure that every page of a range is in the document, in order.

    ``DoclingDocument.concatenate`` numbers pages on from one document to the next, so none may be left out.
    """
    for page in pages:
        if page not in document.pages:
            document.pages[page] = PageItem(page_no=page, size=Size(width=0.0, height=0.0))
    document.pages = dict(sorted(document.pages.items()))


def cut_pages(document: DoclingDocument, first: int, last: int) -> DoclingDocument:
    """Return a document of some consecutive pages of another, under their old numbers."""
    part = document.filter(page_nrs=set(range(first, last + 1)))
    shift = first - min(part.pages)
    if shift:
        part.pages = {number + shift: page for number, page in part.pages.items()}
        for number, page in part.pages.items():
            page.page_no = number
        everything = part.iterate_items(traverse_pictures=True, included_content_layers=set(ContentLayer))
        for item, _ in everything:
            for place in item.prov if isinstance(item, DocItem) else ():
                place.page_no += shift
    return part


def page_texts(document: DoclingDocument) -> dict[int, str]:
    """Return the text a document holds per page.

    A paragraph that runs on overleaf is one item with a place, and a span of its text, on each page.
    """
    texts: dict[int, list[str]] = {}
    for item in document.texts:
        text = item.text or item.orig
        for place in item.prov:
            start, end = place.charspan
            texts.setdefault(place.page_no, []).append(text[start:end])
    for table in document.tables:
        for place in table.prov[:1]:
            texts.setdefault(place.page_no, []).extend(cell.text for cell in table.data.table_cells)
    return {page: "\n".join(pieces) for page, pieces in texts.items()}


def share_found(expected: str, found: str) -> float:
    """Return the share of the words of one text that another holds, 0 to 1; 1 for a text without words."""
    wanted, held = _words(expected), _words(found)
    total = wanted.total()
    return (wanted & held).total() / total if total else 1.0


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(normalize_text(text).casefold()))
