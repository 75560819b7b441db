"""From a structure model's tokens and boxes, and the words of a page, to the cells of a table. Pure; no model here.

A structure is trusted only if it fits the words: see :class:`Grid.fit`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom; y downwards."""

_SPAN = re.compile(r'(colspan|rowspan)="(\d+)"')
LINE_OVERLAP = 0.5
"""Share of a word's height by which it overlaps a line to belong to it."""


@dataclass(frozen=True)
class Word:
    """A piece of text with its place on the page."""

    text: str
    box: Rectangle

    @property
    def centre(self) -> tuple[float, float]:
        """Middle of the box."""
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


@dataclass
class Cell:
    """One cell: where it is in the grid and on the page, and the words that fell into it."""

    row: int
    column: int
    row_span: int
    column_span: int
    box: Rectangle
    header: bool = False
    words: list[Word] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words, line by line."""
        return " ".join(word.text for line in lines_of(self.words) for word in line)


@dataclass
class Grid:
    """A table's cells."""

    cells: list[Cell]
    rows: int
    columns: int

    def fill(self, words: Sequence[Word]) -> float:
        """Put every word into a cell; none is left out.

        Returns:
            The fit: the share of words whose middle lies inside the box of a cell. The others go to the nearest cell.
        """
        inside = 0
        for word in words:
            distance, cell = min(
                ((_distance(word.centre, cell.box), index) for index, cell in enumerate(self.cells)),
                key=lambda pair: pair[0],
            )
            inside += distance == 0.0
            self.cells[cell].words.append(word)
        return inside / len(words) if words else 0.0

    def is_regular(self) -> bool:
        """True if the cells cover every place of the grid exactly once."""
        places = [
            (cell.row + down, cell.column + across)
            for cell in self.cells
            for down in range(cell.row_span)
            for across in range(cell.column_span)
        ]
        return len(places) == len(set(places)) == self.rows * self.columns


def grid_from_tokens(tokens: Sequence[str], boxes: Sequence[Rectangle]) -> Grid:
    """Return the grid that a structure model describes in HTML tokens.

    Args:
        tokens: ``<tr>``, ``<td></td>``, or ``<td`` followed by spans and ``>``, and the rest of a table's markup.
        boxes: one per cell, in the order in which the cells open.
    """
    taken: set[tuple[int, int]] = set()
    cells: list[Cell] = []
    row, column, in_head = -1, 0, False
    pending: dict[str, int] | None = None
    for token in tokens:
        if token in ("<thead>", "</thead>"):
            in_head = token == "<thead>"  # noqa: S105 - markup, not a secret
        elif token == "<tr>":  # noqa: S105 - markup, not a secret
            row, column = row + 1, 0
        elif token == "<td":  # noqa: S105 - markup, not a secret
            pending = {}
        elif pending is not None and (span := _SPAN.search(token)):
            pending[span[1]] = int(span[2])
        elif token in ("<td></td>", ">") and len(cells) < len(boxes):
            spans, pending = pending or {}, None
            while (row, column) in taken:
                column += 1
            cell = Cell(
                max(row, 0), column, spans.get("rowspan", 1), spans.get("colspan", 1), boxes[len(cells)], in_head
            )
            taken.update(
                (cell.row + down, cell.column + across)
                for down in range(cell.row_span)
                for across in range(cell.column_span)
            )
            cells.append(cell)
            column += cell.column_span
    rows = max((place[0] + 1 for place in taken), default=0)
    return Grid(cells, rows, max((place[1] + 1 for place in taken), default=0))


def lines_of(words: Sequence[Word]) -> list[list[Word]]:
    """Return words grouped into lines from top to bottom, each from left to right."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.centre[1]):
        if lines and _same_line(lines[-1][-1], word):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda word: word.box[0]) for line in lines]


def _same_line(above: Word, below: Word) -> bool:
    overlap = min(above.box[3], below.box[3]) - max(above.box[1], below.box[1])
    height = min(above.box[3] - above.box[1], below.box[3] - below.box[1])
    return overlap > LINE_OVERLAP * max(height, 1e-6)


def _distance(point: tuple[float, float], box: Rectangle) -> float:
    """Return how far a point lies outside a box; vertical distance counts double, for rows are closer than columns."""
    across = max(box[0] - point[0], 0.0, point[0] - box[2])
    down = max(box[1] - point[1], 0.0, point[1] - box[3])
    return across + 2 * down
