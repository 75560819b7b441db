"""What is drawn on a page besides characters: pictures and the area they cover, lines, shadings, annotations, ink."""

import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium_c

_MAX_OBJECTS = 50_000
"""Objects looked at per page. Maps and plots draw hundreds of thousands of lines; pictures come early enough."""
_MAX_DEPTH = 8
"""Nesting of form objects followed; deeper nesting is an attack or a mistake."""
_GRID = 100
"""Cells per side of the grid on which covered area is summed, so that overlapping pictures count once."""
_INK_SIDE = 300
"""Pixels of the longer side of the small picture that tells a blank page."""
_INK_LEVELS = 8
"""Grey levels (of 255) by which a blank page may vary: noise of an empty scan, averaged over its pixels."""
_MAX_INK_PIXELS = 40_000_000
"""Pixels of the pictures of a page up to which it is drawn to see whether it is blank; A4 at 600 dpi has 35 million."""

_MAX_TEXT_PLACES = 2_000
"""Text objects compared for copies; evidence needs no more."""
_MAX_IN_ONE_PLACE = 16
"""Of these, in one spot of the page; a thousand objects on one point must not mean a million comparisons."""
_MIN_HEIGHT = 0.01
"""Height in points below which a text object is not looked at for copies."""
_SAME_PLACE = 0.15
"""Distance, as a share of its height, within which two text objects of one size are one drawn twice."""

_Box = tuple[float, float, float, float]
_Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_QUIET_ANNOTATIONS = frozenset({pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP})


@dataclass
class Drawing:
    """Objects of a page by kind; form objects are followed and not counted themselves."""

    text_objects: int = 0
    duplicates: int = 0
    """Text objects with the very bounds of another, shifted by a hair, as fake bold is drawn."""
    images: int = 0
    image_pixels: int = 0
    lines: int = 0
    shadings: int = 0
    annotations: int = 0
    """Annotations that show something: not links, not pop-ups."""
    complete: bool = True
    """False when the page has more objects than were looked at."""
    places: dict[tuple[int, int], list[_Box]] = field(default_factory=dict, repr=False)
    covered: np.ndarray = field(default_factory=lambda: np.zeros((_GRID, _GRID), dtype=bool), repr=False)

    @property
    def image_coverage(self) -> float:
        """Share of the page's area under pictures, 0 to 1."""
        return float(self.covered.mean())

    @property
    def duplicated_share(self) -> float:
        """Share of text objects drawn a second time, 0 to 1."""
        return self.duplicates / self.text_objects if self.text_objects else 0.0


def measure_drawing(page: pypdfium2.PdfPage) -> Drawing:
    """Count what is drawn on a page and sum the area under its pictures, also inside nested form objects."""
    drawing = Drawing()
    page_box = _page_box(page)
    for seen, (handle, kind, matrix) in enumerate(_objects(page)):
        if seen >= _MAX_OBJECTS:
            drawing.complete = False
            break
        if kind == pdfium_c.FPDF_PAGEOBJ_TEXT:
            _add_text(drawing, _bounds(handle, matrix))
        elif kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            drawing.images += 1
            drawing.image_pixels += _pixels(handle)
            _cover(drawing.covered, page_box, _bounds(handle, matrix))
        elif kind == pdfium_c.FPDF_PAGEOBJ_PATH:
            drawing.lines += 1
        elif kind == pdfium_c.FPDF_PAGEOBJ_SHADING:
            drawing.shadings += 1
    drawing.annotations = _count_annotations(page)
    return drawing


def has_ink(page: pypdfium2.PdfPage, drawing: Drawing) -> bool:
    """Say whether a page shows anything, by drawing a small picture of it; True where that would cost too much."""
    if drawing.image_pixels > _MAX_INK_PIXELS:
        return True
    width, height = page.get_size()
    if not (0 < width < 1e6 and 0 < height < 1e6):
        return True
    try:
        bitmap = page.render(scale=min(2.0, _INK_SIDE / max(width, height)), grayscale=True)
    except pypdfium2.PdfiumError:
        return True
    try:
        picture = bitmap.to_numpy()
        return int(picture.max()) - int(picture.min()) > _INK_LEVELS
    finally:
        bitmap.close()


def _objects(page: pypdfium2.PdfPage) -> Iterator[tuple[Any, int, _Matrix]]:
    """Yield every object that is no form, with its kind and the matrix from its space to the page's."""
    stack: list[tuple[Iterator[Any], _Matrix]] = [
        (_children(page.raw, pdfium_c.FPDFPage_CountObjects, pdfium_c.FPDFPage_GetObject), _IDENTITY)
    ]
    while stack:
        children, matrix = stack[-1]
        handle = next(children, None)
        if handle is None:
            stack.pop()
            continue
        kind = pdfium_c.FPDFPageObj_GetType(handle)
        if kind != pdfium_c.FPDF_PAGEOBJ_FORM:
            yield handle, kind, matrix
        elif len(stack) <= _MAX_DEPTH:
            inner = _children(handle, pdfium_c.FPDFFormObj_CountObjects, pdfium_c.FPDFFormObj_GetObject)
            stack.append((inner, _product(_matrix(handle), matrix)))


def _children(parent: Any, count: Callable[[Any], int], get: Callable[[Any, int], Any]) -> Iterator[Any]:
    return (handle for index in range(max(0, count(parent))) if (handle := get(parent, index)))


def _matrix(handle: Any) -> _Matrix:
    raw = pdfium_c.FS_MATRIX()
    if not pdfium_c.FPDFPageObj_GetMatrix(handle, raw):
        return _IDENTITY
    return raw.a, raw.b, raw.c, raw.d, raw.e, raw.f


def _product(inner: _Matrix, outer: _Matrix) -> _Matrix:
    """Return the matrix that applies ``inner`` first, then ``outer``."""
    a, b, c, d, e, f = inner
    p, q, r, s, t, u = outer
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u


def _page_box(page: pypdfium2.PdfPage) -> _Box:
    """Return the visible part of the page (left, bottom, right, top) in the space of its objects, before rotation."""
    raw = pdfium_c.FS_RECTF()
    if not pdfium_c.FPDF_GetPageBoundingBox(page.raw, raw):
        width, height = page.get_size()
        return 0.0, 0.0, width, height
    return raw.left, min(raw.bottom, raw.top), raw.right, max(raw.bottom, raw.top)


def _bounds(handle: Any, matrix: _Matrix) -> _Box | None:
    """Return left, bottom, right and top on the page of the upright rectangle around an object."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not pdfium_c.FPDFPageObj_GetBounds(handle, left, bottom, right, top):
        return None
    if matrix == _IDENTITY:
        box = (left.value, bottom.value, right.value, top.value)
    else:
        a, b, c, d, e, f = matrix
        corners = [(x, y) for x in (left.value, right.value) for y in (bottom.value, top.value)]
        xs, ys = [a * x + c * y + e for x, y in corners], [b * x + d * y + f for x, y in corners]
        box = (min(xs), min(ys), max(xs), max(ys))
    return box if all(map(math.isfinite, box)) else None


def _add_text(drawing: Drawing, box: _Box | None) -> None:
    """Count a text object, and whether one of the same size lies in the same place."""
    drawing.text_objects += 1
    if drawing.text_objects > _MAX_TEXT_PLACES or box is None or box[3] - box[1] < _MIN_HEIGHT:
        return
    height = box[3] - box[1]
    cell = (round(box[0] / height), round(box[1] / height))
    near = ((cell[0] + x, cell[1] + y) for x in (-1, 0, 1) for y in (-1, 0, 1))
    others = (other for key in near for other in drawing.places.get(key, ()))
    reach = _SAME_PLACE * height
    drawing.duplicates += any(
        all(abs(mine - its) <= reach for mine, its in zip(box, other, strict=True)) for other in others
    )
    here = drawing.places.setdefault(cell, [])
    if len(here) < _MAX_IN_ONE_PLACE:
        here.append(box)


def _cover(covered: np.ndarray, page_box: _Box, box: _Box | None) -> None:
    """Mark the cells of the grid under a rectangle."""
    width, height = page_box[2] - page_box[0], page_box[3] - page_box[1]
    if box is None or width <= 0 or height <= 0:
        return
    first_column, last_column = (_cell((edge - page_box[0]) / width) for edge in (box[0], box[2]))
    first_row, last_row = (_cell((edge - page_box[1]) / height) for edge in (box[1], box[3]))
    covered[first_row:last_row, first_column:last_column] = True


def _cell(share: float) -> int:
    return round(min(1.0, max(0.0, share)) * _GRID)


def _pixels(handle: Any) -> int:
    width, height = ctypes.c_uint(), ctypes.c_uint()
    if not pdfium_c.FPDFImageObj_GetImagePixelSize(handle, width, height):
        return 0
    return width.value * height.value


def _count_annotations(page: pypdfium2.PdfPage) -> int:
    """Count annotations that show something; a handful is enough to know."""
    shown = 0
    for index in range(min(64, pdfium_c.FPDFPage_GetAnnotCount(page.raw))):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, index)
        if annotation:
            shown += pdfium_c.FPDFAnnot_GetSubtype(annotation) not in _QUIET_ANNOTATIONS
            pdfium_c.FPDFPage_CloseAnnot(annotation)
    return shown
