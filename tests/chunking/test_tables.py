"""Tables become Markdown, and large ones parts that can be read alone."""

from docling_core.types.doc import DocItemLabel, TableCell, TableData
from docling_core.types.doc.document import RichTableCell

from stackroom.chunking import chunk_document


def tables(document, tokenizer, max_tokens=256):
    return [chunk for chunk in chunk_document(document, tokenizer, max_tokens).chunks if chunk.kind == "table"]


def test_a_table_is_markdown_with_its_caption_and_notes(document, tokenizer, grid):
    caption = document.add_text(DocItemLabel.CAPTION, "Table 1: Frogs per pond.")
    table = document.add_table(grid([["Pond", "Frogs"], ["A|B", "12"], ["", ""], ["C", ""]]), caption=caption)
    table.footnotes.append(document.add_text(DocItemLabel.FOOTNOTE, "Counted at noon.").get_ref())

    (chunk,) = tables(document, tokenizer)

    assert chunk.text.splitlines() == [
        "Table 1: Frogs per pond.",
        "| Pond | Frogs |",
        "| - | - |",
        "| A\\|B | 12 |",
        "| C | |",
        "Counted at noon.",
    ]
    assert set(chunk.doc_items) == {"#/tables/0", "#/texts/0", "#/texts/1"}


def test_a_short_line_before_a_table_without_caption_goes_with_it(document, tokenizer, grid):
    document.add_text(DocItemLabel.TEXT, "A paragraph about steel, which ends with a full stop.")
    document.add_text(DocItemLabel.TEXT, "Hardness of grade 22:")
    document.add_table(grid([["HB", "HRC"], ["293", "31"]]))

    assert tables(document, tokenizer)[0].text.splitlines()[0] == "Hardness of grade 22:"


def test_a_long_table_repeats_header_and_short_caption_in_every_part(document, tokenizer, grid):
    rows = [["Pond", "Frogs", "Toads"]] + [[f"pond {row}", f"{row * 7}", f"{row * 3}"] for row in range(120)]
    document.add_table(grid(rows), caption=document.add_text(DocItemLabel.CAPTION, "Table 2: Amphibians."))

    parts = tables(document, tokenizer)

    assert len(parts) > 3
    body = []
    for part in parts:
        caption, header, line, *lines = part.text.splitlines()
        assert (caption, header, line) == ("Table 2: Amphibians.", "| Pond | Frogs | Toads |", "| - | - | - |")
        body += lines
    assert body == [f"| {a} | {b} | {c} |" for a, b, c in rows[1:]]


def test_a_table_of_60_columns_is_cut_by_columns_without_a_flood_of_chunks(document, tokenizer, grid):
    rows = [["Station", *(f"Year {1960 + column}" for column in range(59))]]
    rows += [[f"Station {row}", *(str(row * 100 + column) for column in range(59))] for row in range(8)]
    document.add_table(grid(rows))

    parts = tables(document, tokenizer)

    assert all(part.text.startswith("| Station | Year ") for part in parts)
    tokens = sorted(part.token_count for part in parts)
    assert tokens[0] > 60
    assert tokens[len(tokens) // 2] > 200
    cells = {cell.strip() for part in parts for line in part.text.splitlines() for cell in line.split("|")}
    assert {cell for row in rows for cell in row} <= cells


def test_a_cell_longer_than_a_chunk_becomes_text_with_the_name_of_its_column(document, tokenizer, grid):
    long = " ".join(f"Observation {number} was made." for number in range(60))
    document.add_table(grid([["Pond", "Remarks"], ["A", "none"], ["B", long], ["C", "few"]]))

    parts = [part.text for part in tables(document, tokenizer, 64)]

    assert parts[0] == "| Pond | Remarks |\n| - | - |\n| A | none |"
    assert parts[1].startswith("Pond: B\nRemarks: Observation 0 was made.")
    assert parts[-1] == "| Pond | Remarks |\n| - | - |\n| C | few |"
    assert " ".join(parts[1:-1]).split() == f"Pond: B Remarks: {long}".split()


def test_several_header_rows_are_folded_and_spanning_cells_said_once(document, tokenizer):
    def cell(text, row, column, rows=1, columns=1, header=False):
        return TableCell(
            text=text, row_span=rows, col_span=columns, column_header=header,
            start_row_offset_idx=row, end_row_offset_idx=row + rows,
            start_col_offset_idx=column, end_col_offset_idx=column + columns,
        )  # fmt: skip

    cells = [
        cell("Pond", 0, 0, rows=2, header=True), cell("Spring", 0, 1, columns=2, header=True),
        cell("Frogs", 1, 1, header=True), cell("Toads", 1, 2, header=True),
        cell("A", 2, 0, rows=2), cell("1", 2, 1), cell("2", 2, 2), cell("dried up", 3, 1, columns=2),
    ]  # fmt: skip
    document.add_table(TableData(table_cells=cells, num_rows=4, num_cols=3))

    assert tables(document, tokenizer)[0].text.splitlines() == [
        "| Pond | Spring Frogs | Spring Toads |",
        "| - | - | - |",
        "| A | 1 | 2 |",
        "| A | dried up | |",
    ]


def test_a_table_without_structure_is_plain_text(document, tokenizer, grid):
    table = document.add_table(TableData(table_cells=[], num_rows=0, num_cols=0))
    for text in ("Pond and frogs", "A 12", "B 31"):
        document.add_text(DocItemLabel.TEXT, text, parent=table)
    document.add_table(grid([["a table of one cell only"]]))
    document.add_table(grid([["Species"], ["Frog and tadpole"], ["Toad"]]))

    assert [chunk.text for chunk in tables(document, tokenizer)] == [
        "Pond and frogs A 12 B 31",
        "a table of one cell only",
        "Species\nFrog and tadpole\nToad",
    ]


def test_a_frame_around_content_is_read_as_that_content(document, tokenizer):
    table = document.add_table(TableData(table_cells=[], num_rows=1, num_cols=1))
    group = document.add_group(parent=table)
    document.add_heading("Menu", parent=group)
    document.add_text(DocItemLabel.TEXT, "Soup of the day.", parent=group)
    frame = RichTableCell(
        text="", ref=group.get_ref(),
        start_row_offset_idx=0, end_row_offset_idx=1, start_col_offset_idx=0, end_col_offset_idx=1,
    )  # fmt: skip
    table.data.table_cells.append(frame)

    (chunk,) = chunk_document(document, tokenizer, 256).chunks

    assert (chunk.kind, chunk.headings, chunk.text) == ("text", ("Menu",), "Soup of the day.")


def test_rich_cells_and_tables_within_cells_are_read_once(document, tokenizer, grid):
    table = document.add_table(grid([["Pond", "What"], ["A", ""]]))
    group = document.add_group(parent=table)
    document.add_text(DocItemLabel.TEXT, "frogs and", parent=group)
    document.add_table(grid([["toads", "newts"]]), parent=group)
    table.data.table_cells[3] = RichTableCell(
        text="", ref=group.get_ref(),
        start_row_offset_idx=1, end_row_offset_idx=2, start_col_offset_idx=1, end_col_offset_idx=2,
    )  # fmt: skip

    (chunk,) = chunk_document(document, tokenizer, 256).chunks

    assert chunk.text.splitlines()[-1] == "| A | frogs and toads newts |"


def test_a_first_row_that_spans_all_columns_is_the_caption(document, tokenizer, grid):
    data = grid([["Pond", "Frogs"], ["A", "12"]])
    for cell in data.table_cells:
        cell.start_row_offset_idx += 1
        cell.end_row_offset_idx += 1
    title = TableCell(
        text="Table 4: Frogs.", col_span=2, column_header=True,
        start_row_offset_idx=0, end_row_offset_idx=1, start_col_offset_idx=0, end_col_offset_idx=2,
    )  # fmt: skip
    document.add_table(TableData(table_cells=[title, *data.table_cells], num_rows=3, num_cols=2))

    assert tables(document, tokenizer)[0].text == "Table 4: Frogs.\n| Pond | Frogs |\n| - | - |\n| A | 12 |"


def test_a_long_caption_is_given_once_and_its_first_words_with_every_part(document, tokenizer, grid):
    caption = "Table 5: " + " ".join(f"remark{number}" for number in range(40))
    rows = [["Pond", "Frogs"]] + [[f"pond {row}", str(row)] for row in range(60)]
    document.add_table(grid(rows), caption=document.add_text(DocItemLabel.CAPTION, caption))

    first, *parts = tables(document, tokenizer)

    assert first.text == caption
    assert len(parts) > 1
    above = {part.text.splitlines()[0] for part in parts}
    assert len(above) == 1
    assert above.pop().startswith("Table 5: remark0 remark1 ")


def test_a_page_number_before_a_table_is_no_caption(document, tokenizer, grid, at):
    document.add_text(DocItemLabel.TEXT, "7/25", prov=at(1))
    document.add_text(DocItemLabel.TEXT, "Something said on the page before", prov=at(1))
    document.add_table(grid([["Pond", "Frogs"], ["A", "12"]]), prov=at(2))

    assert tables(document, tokenizer)[0].text.startswith("| Pond")
