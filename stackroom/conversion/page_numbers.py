"""docling documents that are pieces of a file: keeping the file's page numbers right. No conversion here."""

from collections.abc import Collection

from docling_core.types.doc import DocItem, DoclingDocument, Size
from docling_core.types.doc.document import ContentLayer, PageItem


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


def page_characters(document: DoclingDocument) -> dict[int, int]:
    """Return how many characters that are not blank a document holds per page.

    A paragraph that runs on overleaf is one item with a place, and a span of its text, on each page.
    """
    counts: dict[int, int] = {}
    for item in document.texts:
        text = item.text or item.orig
        for place in item.prov:
            start, end = place.charspan
            counts[place.page_no] = counts.get(place.page_no, 0) + _solid(text[start:end])
    for table in document.tables:
        for place in table.prov[:1]:
            inside = sum(_solid(cell.text) for cell in table.data.table_cells)
            counts[place.page_no] = counts.get(place.page_no, 0) + inside
    return counts


def _solid(text: str) -> int:
    """Return the number of characters that are not blank."""
    return sum(map(len, text.split()))
