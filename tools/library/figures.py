"""The handbook's one figure: which artefact is made from which."""

from reportlab.graphics.shapes import Drawing, Line, Polygon, Rect, String
from reportlab.lib import colors
from reportlab.platypus.flowables import Flowable

BOX_HEIGHT = 20.0
# Column (0 to 2) and row (0 at the top) of each box, and the boxes it is made from.
BOXES = {
    "source_document": (1, 0, ()),
    "ocr_classification": (1, 1, ("source_document",)),
    "chunks": (1, 2, ("ocr_classification",)),
    "embeddings": (0, 3, ("chunks",)),
    "metadata_map": (1, 3, ("chunks",)),
    "bm25_corpus": (2, 3, ("chunks", "metadata_map")),
    "vector_collection": (0, 4, ("embeddings", "metadata_map")),
    "lint_report": (1, 4, ("metadata_map",)),
    "bm25_index": (2, 4, ("bm25_corpus",)),
}


def pipeline(width: float) -> Flowable:
    """Return the figure, ``width`` points wide."""
    box_width, row_height = width * 0.31, BOX_HEIGHT * 2
    height = row_height * 4 + BOX_HEIGHT + 8
    drawing = Drawing(width, height)

    def centre(name: str) -> tuple[float, float]:
        column, row, _ = BOXES[name]
        return width * (column + 0.5) / 3, height - 4 - BOX_HEIGHT / 2 - row * row_height

    for name, (_, _, sources) in BOXES.items():
        for source in sources:
            _arrow(drawing, centre(source), centre(name), box_width)
    for name in BOXES:
        x, y = centre(name)
        drawing.add(
            Rect(
                x - box_width / 2,
                y - BOX_HEIGHT / 2,
                box_width,
                BOX_HEIGHT,
                rx=3,
                ry=3,
                fillColor=colors.HexColor("#eef3f8"),
                strokeColor=colors.HexColor("#35506b"),
                strokeWidth=0.7,
            )
        )
        drawing.add(String(x, y - 2.5, name, fontName="Helvetica", fontSize=7.2, textAnchor="middle"))
    return drawing


def _arrow(drawing: Drawing, start: tuple[float, float], end: tuple[float, float], box_width: float) -> None:
    (x1, y1), (x2, y2) = start, end
    if y1 == y2:
        side = box_width / 2 if x2 > x1 else -box_width / 2
        x1, x2 = x1 + side, x2 - side
        head = [x2, y2, x2 - 5, y2 - 2.5, x2 - 5, y2 + 2.5]
    else:
        y1, y2 = y1 - BOX_HEIGHT / 2, y2 + BOX_HEIGHT / 2
        head = [x2, y2, x2 - 2.5, y2 + 5, x2 + 2.5, y2 + 5]
    drawing.add(Line(x1, y1, x2, y2, strokeWidth=0.7, strokeColor=colors.HexColor("#35506b")))
    drawing.add(Polygon(head, fillColor=colors.HexColor("#35506b"), strokeColor=None))
