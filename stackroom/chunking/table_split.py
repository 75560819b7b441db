"""Cutting a table that is too large for one chunk: by rows with the header repeated, and by columns where one row is.

Every part is a Markdown table that can be read alone. Only what fits nowhere, a cell longer than a chunk, becomes
plain text, each part of it with the name of its column.
"""

from collections.abc import Iterator, Sequence

from stackroom.chunking.budget import Budget
from stackroom.chunking.model import Table, stack
from stackroom.chunking.splitter import longest_start, split_text
from stackroom.chunking.tables import header_lines, row_line

REPEATED_SHARE = 1 / 8
"""Most of the room that a caption or a row label may take to be repeated in every part."""
HEAD_SHARE = 1 / 2
"""Most of the room the headings of two to four columns may take together; a heading longer than its part is cut."""
TYPICAL_ROW = 0.9
"""Columns are grouped so that this share of the rows fits; longer rows become plain text."""


def split_table(table: Table, budget: Budget) -> list[str]:
    """Return the texts of the chunks that hold a table.

    Args:
        table: caption, header, rows and notes, normalised.
        budget: what fits into a chunk.
    """
    return list(_Splitter(table, budget).parts())


class _Splitter:
    def __init__(self, table: Table, budget: Budget) -> None:
        self._budget = budget
        self._room = budget.room
        self._table = table
        self._heads = [self._short_head(head) for head in table.header]
        self._repeated = self._short_caption()

    def parts(self) -> Iterator[str]:
        table = self._table
        heads_cut = self._heads != list(table.header)
        if heads_cut or self._repeated != table.caption:
            yield from self._plain(stack((table.caption, *(table.header if heads_cut else ()))))
        for index, columns in enumerate(self._column_groups()):
            yield from self._rows(columns, is_first=index == 0)
        if table.notes:
            yield from self._plain(table.notes)

    def _short_caption(self) -> str:
        """Return the caption, or its first words, to stand above every part."""
        caption, limit = self._table.caption, self._room * REPEATED_SHARE
        if self._budget.size(caption) <= limit:
            return caption
        start = longest_start(caption, lambda text: self._budget.size(f"{text}...") <= limit)
        return f"{start}..." if start else ""

    def _short_head(self, head: str) -> str:
        limit = max(1, int(self._room * HEAD_SHARE / min(4, len(self._table.header))))
        if self._budget.size(head) <= limit:
            return head
        start = longest_start(head, lambda text: self._budget.size(f"{text}...") <= limit)
        return f"{start}..." if start else ""

    def _column_groups(self) -> list[list[int]]:
        """Return the columns of each part; the first column goes along as a label where it is narrow."""
        everything = list(range(len(self._heads)))
        header_size = self._budget.size(self._above(header_lines(self._heads)))
        sizes = sorted(self._budget.size(row_line(row)) for row in self._table.rows)
        if header_size + (sizes[int((len(sizes) - 1) * TYPICAL_ROW)] if sizes else 0) <= self._room:
            return [everything]
        widths = [self._width(column) for column in everything]
        label = [0] if widths[0] <= self._room * REPEATED_SHARE * 2 else []
        groups: list[list[int]] = []
        free = 0
        for column in everything[len(label) :]:
            if not groups or widths[column] > free:
                groups.append(list(label))
                free = self._room - self._budget.size(self._repeated) - sum(widths[one] for one in label) - 2
            groups[-1].append(column)
            free -= widths[column]
        return groups

    def _width(self, column: int) -> int:
        """Return the tokens a column takes in the header, the line below it, and a typical row."""
        cells = sorted(self._budget.size(row[column]) for row in self._table.rows)
        typical = cells[int((len(cells) - 1) * TYPICAL_ROW)] if cells else 0
        return self._budget.size(self._heads[column]) + typical + 4

    def _rows(self, columns: Sequence[int], is_first: bool) -> Iterator[str]:
        head = self._above(header_lines([self._heads[column] for column in columns]))
        rows = [[row[column] for column in columns] for row in self._table.rows]
        if not is_first:  # rows that say nothing in these columns; their labels stand in the first part
            label = 1 if columns[0] == 0 else 0
            rows = [row for row in rows if any(row[label:])]
        head_size = self._budget.size(head)
        if not rows and any(self._heads[column] for column in columns):
            yield from self._joined(head, [], columns)
        waiting: list[list[str]] = []
        used = head_size
        for row in rows:
            size = self._budget.size(row_line(row)) + self._budget.seam
            if waiting and used + size > self._room:
                yield from self._joined(head, waiting, columns)
                waiting, used = [], head_size
            waiting.append(row)
            used += size
        if waiting:
            yield from self._joined(head, waiting, columns)

    def _joined(self, head: str, rows: list[list[str]], columns: Sequence[int]) -> Iterator[str]:
        text = "\n".join([head, *(row_line(row) for row in rows)])
        if self._budget.fits(text):
            yield text
        elif len(rows) > 1:
            half = len(rows) // 2
            yield from self._joined(head, rows[:half], columns)
            yield from self._joined(head, rows[half:], columns)
        else:
            names = [self._heads[column] for column in columns]
            cells = rows[0] if rows else [""] * len(columns)
            lines = (
                f"{name}: {cell}" if name and cell else name or cell for name, cell in zip(names, cells, strict=True)
            )
            yield from self._plain(stack((self._repeated, *lines)))

    def _above(self, header: str) -> str:
        return stack((self._repeated, header))

    def _plain(self, text: str) -> Iterator[str]:
        for start, end in split_text(text, self._budget.size, self._budget.fits, self._room):
            yield text[start:end]
