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
    title: str = ""
    """Text of a first row that spans all columns."""
    used: frozenset[str] = frozenset()
    """References of the items whose text stands in the cells."""
    is_container: bool = False
    """Whether it is a frame around ordinary content (web pages, text boxes); that content is to be read instead."""

    def as_table(self, caption: str, notes: str) -> Table:
        """Return it with what stands around it."""
        return Table(self.header or (), self.rows, stack((caption, self.title)), notes)


def read_table(item: TableItem, document: DoclingDocument, clean: Clean) -> FoundTable:
    """Return the cells of a table as normalised text.

    A table without structure (one cell, one column, no cells) has no header; its text is one cell per line.
    """
    cells = item.data.table_cells
    if len(cells) <= 1 and all(isinstance(cell, RichTableCell) for cell in cells) and _holds_blocks(item, document):
        return FoundTable("", is_container=True)
    used: set[str] = set()
    reader = _CellReader(document, clean, used)
    grid = item.data.grid
    rows = [[reader.text(cell) for cell in row] for row in grid]
    title, header, body = _parts(grid, rows)
    if not any(any(row) for row in ([title], header, *body)):
        text, nodes = subtree_text(item, document, _captions(item))
        return FoundTable(clean(text), used=frozenset(node.self_ref for node in nodes))
    if len(header) <= 1:
        return FoundTable(stack(row[0] for row in ([title], header, *body) if row), used=frozenset(used))
    return FoundTable(stack((title, _markdown(header, body))), header, body, title, frozenset(used))


def render(data: TableData, clean: Clean) -> str:
    """Return table data that belongs to no table item (the numbers behind a chart) in Markdown."""
    grid = data.grid
    title, header, body = _parts(grid, [[" ".join(clean(cell.text).split()) for cell in row] for row in grid])
    return stack((title, _markdown(header, body) if header else ""))


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


def _parts(
    grid: list[list[TableCell]], rows: list[list[str]]
) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return title, header and body rows.

    The title is in first rows that are one cell; several header rows are folded into one; where none is marked the
    first row is the header. Columns and rows without text are left out.
    """
    start = 0
    while start < len(grid) and _is_one_cell(grid[start]):
        start += 1
    title = stack(dict.fromkeys(row[0] for row in rows[:start]))
    end = start
    while end < len(grid) and any(cell.column_header and cell.start_row_offset_idx == end for cell in grid[end]):
        end += 1
    end = max(end, start + 1)
    header = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[start:end], strict=True)]
    body = [
        [_body_text(cell, text, row, column) for column, (cell, text) in enumerate(zip(cells, texts, strict=True))]
        for row, (cells, texts) in enumerate(zip(grid[end:], rows[end:], strict=True), start=end)
    ]
    return title, *_without_blanks(header, body)


def _is_one_cell(cells: list[TableCell]) -> bool:
    return len(cells) > 1 and cells[0].start_col_offset_idx == 0 and cells[0].end_col_offset_idx >= len(cells)


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
