"""Word, PowerPoint and Excel files, written so that the same text gives the same bytes."""

import datetime as dt
import io
import re
import zipfile
from pathlib import Path

import docx
import openpyxl
import pptx
from docx.shared import Pt
from markup import Block, Document, spans
from openpyxl.styles import Alignment, Font

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)
ZIP_EPOCH = (2026, 1, 1, 0, 0, 0)


def write_docx(document: Document, path: Path) -> None:
    """Write a document with Word's own heading, list and table styles."""
    word = docx.Document()
    _properties(word.core_properties, document)
    word.add_heading(document.title, level=0)
    word.add_paragraph(f"{document.byline}, {document.year}. {document.part}.")
    word.add_paragraph(document.abstract)
    for block in document.blocks:
        _word_block(word, block)
    word.save(str(path))
    repack(path)


def _word_block(word, block: Block) -> None:
    if block.kind == "heading":
        word.add_heading(block.text, level=block.level)
    elif block.kind == "paragraph":
        _word_runs(word.add_paragraph(), block.text)
    elif block.kind == "list":
        for item in block.items:
            _word_runs(word.add_paragraph(style="List Bullet"), item)
    elif block.kind == "code":
        run = word.add_paragraph().add_run(block.text)
        run.font.name, run.font.size = "Courier New", Pt(9)
    elif block.kind == "table":
        word.add_paragraph(block.text, style="Caption")
        table = word.add_table(rows=0, cols=len(block.rows[0]), style="Light Grid Accent 1")
        for row in block.rows:
            for cell, text in zip(table.add_row().cells, row, strict=True):
                cell.text = text


def _word_runs(paragraph, text: str) -> None:
    for style, part in spans(text):
        run = paragraph.add_run(part)
        run.italic = True if style == "emphasis" else None
        if style == "code":
            run.font.name = "Courier New"


def write_pptx(document: Document, path: Path) -> None:
    """Write one slide for the title and one for every heading with the list below it."""
    deck = pptx.Presentation()
    _properties(deck.core_properties, document)
    slide = deck.slides.add_slide(deck.slide_layouts[0])
    slide.shapes.title.text = document.title
    slide.placeholders[1].text = f"{document.byline}, {document.year}\n{document.part}"
    heading = ""
    for block in document.blocks:
        if block.kind == "heading":
            heading = block.text
        elif block.kind == "list":
            slide = deck.slides.add_slide(deck.slide_layouts[1])
            slide.shapes.title.text = heading
            frame = slide.placeholders[1].text_frame
            frame.text = block.items[0].replace("*", "").replace("`", "")
            for item in block.items[1:]:
                frame.add_paragraph().text = item.replace("*", "").replace("`", "")
    deck.save(str(path))
    repack(path)


def write_xlsx(document: Document, path: Path) -> None:
    """Write one sheet for every table, its heading as the name."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    book.properties.title, book.properties.creator = document.title, ", ".join(document.authors)
    book.properties.keywords, book.properties.subject = ", ".join(document.keywords), document.part
    book.properties.created = book.properties.modified = EPOCH
    heading = ""
    for block in document.blocks:
        if block.kind == "heading":
            heading = block.text
        elif block.kind == "table":
            sheet = book.create_sheet(heading)
            for row in block.rows:
                sheet.append([_number(cell) for cell in row])
            for cell in sheet[1]:
                cell.font = Font(bold=True)
            for column in sheet.columns:
                widest = max(len(str(cell.value)) for cell in column)
                sheet.column_dimensions[column[0].column_letter].width = min(widest + 2, 48)
                for cell in column:
                    cell.alignment = Alignment(wrap_text=True, vertical="top")
    data = io.BytesIO()
    book.save(data)
    path.write_bytes(data.getvalue())
    # openpyxl writes the time of saving over what was set.
    repack(path, replace={"docProps/core.xml": _fixed_modified})


def _number(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _fixed_modified(xml: bytes) -> bytes:
    fixed = EPOCH.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    return re.sub(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)", rb"\g<1>" + fixed + rb"\g<2>", xml)


def _properties(properties, document: Document) -> None:
    properties.title = document.title
    properties.author = "; ".join(document.authors)
    properties.last_modified_by = document.authors[0]
    properties.keywords = ", ".join(document.keywords)
    properties.subject = document.part
    properties.created = properties.modified = EPOCH
    properties.comments = ""


def repack(path: Path, replace=None) -> None:
    """Write an Office file again with fixed times in its zip directory."""
    replace = replace or {}
    with zipfile.ZipFile(path) as archive:
        members = [(item.filename, archive.read(item)) for item in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name, ZIP_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, replace.get(name, bytes)(data), compresslevel=9)
