"""Structure tokens and words become cells; no word is lost on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.conversion.table_grid import Word, grid_from_tokens, lines_of


def tokens(rows):
    """Return the markup of rows of (colspan, rowspan) cells; the first row is the head."""
    found = []
    for number, row in enumerate(rows):
        found += ["<thead>"] if number == 0 else []
        found.append("<tr>")
        for colspan, rowspan in row:
            if colspan == rowspan == 1:
                found.append("<td></td>")
            else:
                spans = [f' colspan="{colspan}"'] * (colspan > 1) + [f' rowspan="{rowspan}"'] * (rowspan > 1)
                found += ["<td", *spans, ">", "</td>"]
        found += ["</tr>"] + (["</thead>", "<tbody>"] if number == 0 else [])
    return [*found, "</tbody>"]


def boxes(columns, rows):
    return [
        (10.0 * column, 10.0 * row, 10.0 * column + 9, 10.0 * row + 9)
        for row in range(rows)
        for column in range(columns)
    ]


def test_a_plain_grid_has_its_rows_columns_and_head():
    grid = grid_from_tokens(tokens([[(1, 1)] * 3] * 2), boxes(3, 2))
    assert (grid.rows, grid.columns) == (2, 3)
    assert [(cell.row, cell.column, cell.header) for cell in grid.cells] == [
        (0, 0, True),
        (0, 1, True),
        (0, 2, True),
        (1, 0, False),
        (1, 1, False),
        (1, 2, False),
    ]
    assert grid.is_regular()


def test_cells_that_span_rows_and_columns_push_the_others_aside():
    grid = grid_from_tokens(tokens([[(1, 2), (2, 1)], [(1, 1), (1, 1)]]), boxes(2, 2))
    assert [(cell.row, cell.column, cell.row_span, cell.column_span) for cell in grid.cells] == [
        (0, 0, 2, 1),
        (0, 1, 1, 2),
        (1, 1, 1, 1),
        (1, 2, 1, 1),
    ]
    assert grid.is_regular()


def test_a_ragged_table_is_not_regular():
    assert not grid_from_tokens(tokens([[(1, 1)] * 3, [(1, 1)] * 2]), boxes(3, 2)).is_regular()


def test_words_fall_into_the_cells_they_stand_in_line_by_line():
    grid = grid_from_tokens(
        tokens([[(1, 1)] * 2] * 2), [(0, 0, 50, 30), (60, 0, 99, 30), (0, 40, 50, 60), (60, 40, 99, 60)]
    )
    words = [
        Word("mass", (25, 2, 45, 10)),
        Word("Total", (2, 2, 20, 10)),
        Word("(kg)", (2, 14, 20, 22)),
        Word("Lamp", (62, 3, 80, 11)),
        Word("7", (2, 42, 6, 50)),
        Word("off the grid", (90, 70, 98, 78)),
    ]
    fit = grid.fill(words)
    assert [cell.text for cell in grid.cells] == ["Total mass (kg)", "Lamp", "7", "off the grid"]
    assert fit == pytest.approx(5 / 6)


@given(
    st.lists(
        st.builds(
            lambda text, left, top: Word(text, (left, top, left + 5, top + 5)),
            st.text("abc", min_size=1, max_size=3),
            st.floats(-50, 200),
            st.floats(-50, 200),
        ),
        max_size=30,
    )
)
def test_no_word_is_lost(words):
    grid = grid_from_tokens(tokens([[(1, 1)] * 3] * 3), boxes(3, 3))
    grid.fill(words)
    kept = [word for cell in grid.cells for word in cell.words]
    assert sorted(word.text for word in kept) == sorted(word.text for word in words)
    assert sorted(" ".join(cell.text for cell in grid.cells).split()) == sorted(word.text for word in words)


def test_lines_are_read_from_left_to_right_and_from_top_to_bottom():
    words = [Word("b", (20, 1, 30, 9)), Word("c", (0, 12, 9, 20)), Word("a", (0, 0, 9, 8))]
    assert [[word.text for word in line] for line in lines_of(words)] == [["a", "b"], ["c"]]


def test_a_table_without_words_fits_nothing():
    assert grid_from_tokens(tokens([[(1, 1)]]), boxes(1, 1)).fill([]) == 0.0
