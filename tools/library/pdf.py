"""PDF pages with a text layer, drawn with reportlab: one or two columns, headings, tables, a figure."""

import html
import io
import os
from collections.abc import Sequence
from pathlib import Path

from figures import pipeline
from markup import Block, Document, spans
from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.platypus import (
    BaseDocTemplate,
    FrameBreak,
    KeepTogether,
    ListFlowable,
    ListItem,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Preformatted,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.frames import Frame

MARGIN, GUTTER, HEAD = 20 * mm, 8 * mm, 62 * mm
WIDTH, HEIGHT = A4
BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=10, leading=12.4, alignment=TA_JUSTIFY, spaceAfter=5)
WIDE_BODY = ParagraphStyle("wide", parent=BODY, fontSize=11.5, leading=15.5, spaceAfter=7)
STYLES = {
    "title": ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=17, leading=21, alignment=TA_CENTER),
    "byline": ParagraphStyle(
        "byline", fontName="Helvetica", fontSize=11, leading=15, alignment=TA_CENTER, spaceBefore=6
    ),
    "abstract": ParagraphStyle(
        "abstract", parent=BODY, fontName="Times-Italic", leftIndent=14 * mm, rightIndent=14 * mm
    ),
    1: ParagraphStyle("h1", fontName="Helvetica-Bold", fontSize=12, leading=15, spaceBefore=9, spaceAfter=4),
    2: ParagraphStyle("h2", fontName="Helvetica-Bold", fontSize=10.5, leading=13, spaceBefore=6, spaceAfter=3),
    "caption": ParagraphStyle("caption", fontName="Helvetica", fontSize=8.5, leading=10.5, spaceBefore=3, spaceAfter=5),
    "cell": ParagraphStyle("cell", fontName="Helvetica", fontSize=8.5, leading=10.5),
    "code": ParagraphStyle("code", fontName="Courier", fontSize=8.5, leading=10.5, leftIndent=8, spaceAfter=6),
}


def write_pdf(
    document: Document,
    path: Path,
    columns: int = 1,
    blocks: tuple[Block, ...] | None = None,
    scans: Sequence[bytes] = (),
) -> None:
    """Write a document as PDF.

    Args:
        document: what to write.
        path: where to.
        columns: 1 or 2.
        blocks: replaces the document's own blocks where only a part is wanted.
        scans: pictures of pages (JPEG) that follow as pages of their own.
    """
    os.environ["SOURCE_DATE_EPOCH"] = str(document.seconds)  # otherwise reportlab dates the file by the clock
    template = BaseDocTemplate(
        str(path),
        pagesize=A4,
        title=document.title,
        author=", ".join(document.authors),
        subject=f"{document.part} ({document.year})",
        keywords=", ".join(document.keywords),
        creator="Stackroom sample library",
        invariant=1,
    )
    template.addPageTemplates(_templates(document, columns))
    column_width = _column_width(columns)
    story = [*_front(document, columns), NextPageTemplate("later")]
    number = 0
    for block in document.blocks if blocks is None else blocks:
        if block.kind == "heading" and block.level == 1:
            number += 1
            block = Block("heading", text=f"{number} {block.text}", level=1)
        story += _flowables(block, column_width, BODY if columns > 1 else WIDE_BODY)
    for data in scans:
        template.addPageTemplates(_scan_template(data, template_id := f"scan{len(template.pageTemplates)}"))
        story += [NextPageTemplate(template_id), PageBreak(), Spacer(1, 1)]
    template.build(story)


def _scan_template(data: bytes, name: str) -> PageTemplate:
    def draw(canvas, _template) -> None:
        canvas.drawImage(ImageReader(io.BytesIO(data)), 0, 0, *A4)

    return PageTemplate(name, [Frame(0, 0, *A4)], onPage=draw)


def _column_width(columns: int) -> float:
    return (WIDTH - 2 * MARGIN - (columns - 1) * GUTTER) / columns


def _templates(document: Document, columns: int) -> list[PageTemplate]:
    width = _column_width(columns)

    def frames(top: float) -> list[Frame]:
        return [Frame(MARGIN + n * (width + GUTTER), MARGIN, width, top - MARGIN, 0, 0, 0, 0) for n in range(columns)]

    def furniture(canvas, _template) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(MARGIN, HEIGHT - 12 * mm, f"{document.part} ({document.year})")
        canvas.drawRightString(WIDTH - MARGIN, 12 * mm, str(canvas.getPageNumber()))

    if columns == 1:
        return [
            PageTemplate("first", frames(HEIGHT - MARGIN), onPage=furniture),
            PageTemplate("later", frames(HEIGHT - MARGIN), onPage=furniture),
        ]
    head = Frame(MARGIN, HEIGHT - MARGIN - HEAD, WIDTH - 2 * MARGIN, HEAD, 0, 0, 0, 0)
    return [
        PageTemplate("first", [head, *frames(HEIGHT - MARGIN - HEAD - 4 * mm)], onPage=furniture),
        PageTemplate("later", frames(HEIGHT - MARGIN), onPage=furniture),
    ]


def _front(document: Document, columns: int) -> list:
    front = [
        Paragraph(document.title, STYLES["title"]),
        Paragraph(", ".join(document.authors), STYLES["byline"]),
        Paragraph(str(document.year), STYLES["byline"]),
        Spacer(1, 8),
    ]
    if document.abstract:
        front.append(Paragraph(f"Abstract. {html.escape(document.abstract).replace('*', '')}", STYLES["abstract"]))
    if document.keywords:
        front.append(Paragraph("Keywords: " + ", ".join(document.keywords), STYLES["abstract"]))
    return [*front, FrameBreak()] if columns > 1 else front


def _flowables(block: Block, width: float, body: ParagraphStyle) -> list:
    if block.kind == "heading":
        return [Paragraph(_inline(block.text), STYLES[block.level])]
    if block.kind == "paragraph":
        return [Paragraph(_inline(block.text), body)]
    if block.kind == "list":
        items = [ListItem(Paragraph(_inline(item), body)) for item in block.items]
        return [ListFlowable(items, bulletType="bullet", leftIndent=12)]
    if block.kind == "code":
        return [Preformatted(block.text, STYLES["code"])]
    if block.kind == "figure":
        return [KeepTogether([pipeline(width), Paragraph(_inline(block.text), STYLES["caption"])])]
    if block.kind == "table":
        return [KeepTogether([Paragraph(_inline(block.text), STYLES["caption"]), _table(block, width), Spacer(1, 6)])]
    return [PageBreak()]


def _table(block: Block, width: float) -> Table:
    cells = [[Paragraph(_inline(cell), STYLES["cell"]) for cell in row] for row in block.rows]
    table = Table(cells, colWidths=_column_widths(block.rows, width), repeatRows=1)
    table.setStyle(
        TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
                ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("TOPPADDING", (0, 0), (-1, -1), 2),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
            ]
        )
    )
    return table


def _column_widths(rows: tuple[tuple[str, ...], ...], width: float) -> list[float]:
    """Give every column its longest word, and share out what is left by the length of the texts."""
    style, padding = STYLES["cell"], 13
    columns = list(zip(*rows, strict=True))
    words = [
        padding + max(stringWidth(word, style.fontName, style.fontSize) for cell in column for word in cell.split())
        for column in columns
    ]
    lengths = [max(len(cell) for cell in column) for column in columns]
    spare = max(width - sum(words), 0)
    return [word + spare * length / sum(lengths) for word, length in zip(words, lengths, strict=True)]


def _inline(text: str) -> str:
    marked = {"plain": "{}", "code": '<font face="Courier" size="9">{}</font>', "emphasis": "<i>{}</i>"}
    return "".join(marked[style].format(html.escape(part)) for style, part in spans(text))
