"""Tables of a PDF come out as tables, with nothing lost; what is no table stays text."""

import re
from dataclasses import replace

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from stackroom.conversion import open_converter

ROWS = [
    ["Lamp", "Height (m)", "Colour", "Lit since"],
    ["Northern pier", "12.5", "white", "1871"],
    ["Harbour mouth", "8.0", "red", "1902"],
    ["Old mole", "6.3", "green", "1915"],
    ["Lightship", "11.0", "yellow", "1933"],
]
PROSE = "The harbour is marked by four lamps, of which the one on the northern pier is the oldest. " * 4


def table_pdf(path):
    style = getSampleStyleSheet()["BodyText"]
    grid = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold")])
    story = [
        Paragraph(PROSE, style),
        Spacer(1, 24),
        Paragraph("Table 1. The lamps of the harbour", style),
        Spacer(1, 8),
        Table(ROWS, colWidths=[130, 90, 90, 90], rowHeights=24, style=grid),
        Spacer(1, 24),
        Paragraph(PROSE, style),
    ]
    SimpleDocTemplate(str(path), pagesize=A4).build(story)
    return path


def test_a_ruled_table_becomes_a_chunk_of_rows_and_columns(converter, request_for, tmp_path):
    conversion = converter.convert(request_for(table_pdf(tmp_path / "lamps.pdf")))
    (table,) = [chunk for chunk in conversion.chunks if chunk.kind == "table"]
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in table.text.splitlines()
        if line.startswith("|") and not set(line) <= set("|-: ")
    ]
    assert rows == ROWS
    assert table.pages == (1,)
    assert conversion.report.lost_text_ratio == 0.0


def test_without_the_model_a_table_is_text_in_reading_order(options, request_for, tmp_path):
    plain = replace(options, conversion=options.conversion.model_copy(update={"tables": "text"}))
    with open_converter(plain, tmp_path / "cache") as converter:
        conversion = converter.convert(request_for(table_pdf(tmp_path / "lamps.pdf")))
    assert {chunk.kind for chunk in conversion.chunks} == {"text"}
    text = " ".join(re.findall(r"\S+", " ".join(chunk.text for chunk in conversion.chunks)))
    assert "Northern pier 12.5 white 1871 Harbour mouth 8.0 red 1902" in text
    assert conversion.report.lost_text_ratio == 0.0
