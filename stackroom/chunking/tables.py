"""Tables as docling found them: cells as text, and their form in Markdown.

How a table that is too large for one chunk is cut stands in :mod:`stackroom.chunking.table_split`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from docling_core.types.doc import DoclingDocument, ListGroup, NodeItem, PictureItem, TableItem
from docling_core.types.doc.document import RichTableCell, SectionHeaderItem, TableCell, TableData, TitleItem

from stackroom.chunking.inline import children, subtree_text
from stackroom.chunking.model import Table, stack

_REPEATED_CELL_CHARACTERS = 60
"""A cell that spans rows is repeated in each of them up to this length; a longer one would fill chunks by itself."""

Clean = Callable[[str], str]


@dataclass(frozen=True)
class FoundTable:
    """A table as read: its text, and header and rows where it has a structure."""

    text: str
    header: tuple[str, ...] | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    used: frozenset[str] = frozenset()
    """References of the items whose text stands in the cells."""
    is_container: bool = False
    """Whether it is a frame around ordinary content (web pages, text boxes); that content is to be read instead."""

    def as_table(self, caption: str, notes: str) -> Table:
        """Return it with what stands around it."""
        return Table(self.header or (), self.rows, caption, notes)


def read_table(item: TableItem, document: DoclingDocument, clean: Clean) -> FoundTable:
    """Return the cells of a table as normalised text.

    A table without structure (one cell, one column, no cells) has no header; its text is one cell per line.
    """
    cells = item.data.table_cells
    if len(cells) <= 1 and all(isinstance(cell, RichTableCell) for cell in cells) and _holds_blocks(item, document):
        return FoundTable("", is_container=True)
    used: set[str] = set()
    reader = _CellReader(document, clean, used)
    rows = [[reader.text(cell) for cell in row] for row in item.data.grid]
    header, body = _without_blanks(*_header_and_body(item.data, rows))
    if not any(any(row) for row in (header, *body)):
        text, nodes = subtree_text(item, document, _captions(item))
        return FoundTable(clean(text), used=frozenset(node.self_ref for node in nodes))
    if len(header) == 1:
        return FoundTable(stack(row[0] for row in (header, *body)), used=frozenset(used))
    return FoundTable(_markdown(header, body), header, body, frozenset(used))


def render(data: TableData, clean: Clean) -> str:
    """Return table data that belongs to no table item (the numbers behind a chart) in Markdown."""
    rows = [[" ".join(clean(cell.text).split()) for cell in row] for row in data.grid]
    header, body = _without_blanks(*_header_and_body(data, rows))
    return _markdown(header, body) if header else ""


def table_text(table: Table) -> str:
    """Return a whole table in Markdown, with its caption before and its notes after."""
    return stack((table.caption, _markdown(table.header, table.rows), table.notes))


def header_lines(header: Sequence[str]) -> str:
    """Return the header row and the line below it."""
    return f"{row_line(header)}\n|{' - |' * len(header)}"


def row_line(cells: Sequence[str]) -> str:
    """Return one row."""
    return "|" + "".join(f" {cell.replace('|', chr(92) + '|')} |" if cell else " |" for cell in cells)


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([header_lines(header), *(row_line(row) for row in rows)])


class _CellReader:
    """Reads each cell once, however many rows and columns it spans."""

    def __init__(self, document: DoclingDocument, clean: Clean, used: set[str]) -> None:
        self._document = document
        self._clean = clean
        self._used = used
        self._known: dict[tuple[int, int], str] = {}

    def text(self, cell: TableCell) -> str:
        key = (cell.start_row_offset_idx, cell.start_col_offset_idx)
        if key not in self._known:
            self._known[key] = " ".join(self._clean(self._read(cell)).split())
        return self._known[key]

    def _read(self, cell: TableCell) -> str:
        if not isinstance(cell, RichTableCell):
            return cell.text
        text, nodes = subtree_text(cell.ref.resolve(self._document), self._document, self._used)
        self._used.update(node.self_ref for node in nodes)
        return text or cell.text


def _header_and_body(data: TableData, rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the header (several header rows folded into one; the first row if none is marked) and the body rows."""
    grid = data.grid
    count = 0
    while count < len(grid) and any(cell.column_header and cell.start_row_offset_idx == count for cell in grid[count]):
        count += 1
    count = max(count, 1)
    header = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[:count], strict=True)]
    body = [
        [_body_text(cell, text, row, column) for column, (cell, text) in enumerate(zip(cells, texts, strict=True))]
        for row, (cells, texts) in enumerate(zip(grid[count:], rows[count:], strict=True), start=count)
    ]
    return header, body


def _body_text(cell: TableCell, text: str, row: int, column: int) -> str:
    continues_row = cell.start_col_offset_idx != column
    continues_column = cell.start_row_offset_idx != row and len(text) > _REPEATED_CELL_CHARACTERS
    return "" if continues_row or continues_column else text


def _without_blanks(header: list[str], body: list[list[str]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    columns = [index for index, head in enumerate(header) if head or any(row[index] for row in body)]
    rows = (tuple(row[index] for index in columns) for row in body)
    return tuple(header[index] for index in columns), tuple(row for row in rows if any(row))


def _captions(item: TableItem) -> set[str]:
    return {ref.cref for ref in (*item.captions, *item.footnotes)}


def _holds_blocks(item: TableItem, document: DoclingDocument) -> bool:
    waiting: list[NodeItem] = children(item, document)
    while waiting:
        node = waiting.pop()
        if isinstance(node, SectionHeaderItem | TitleItem | TableItem | PictureItem | ListGroup):
            return True
        waiting += children(node, document)
    return False
