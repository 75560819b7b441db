"""Measuring one page of an open PDF: brings text layer, drawing and words together as evidence."""

from dataclasses import replace

import pypdfium2

from stackroom.config import OcrSettings
from stackroom.precheck.decision import PageEvidence
from stackroom.precheck.drawing import has_ink, measure_drawing
from stackroom.precheck.glyphs import read_text_layer
from stackroom.precheck.words import text_quality

_NO_TEXT = text_quality("")


def measure_page(document: pypdfium2.PdfDocument, number: int, settings: OcrSettings) -> PageEvidence:
    """Measure a page.

    Args:
        document: open PDF.
        number: page number, from 1.
        settings: thresholds; only pages with few characters are drawn to see whether they are blank.

    Returns:
        The evidence; ``readable`` is False for a page that PDFium cannot load.
    """
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return PageEvidence(number, _NO_TEXT, readable=False)
    try:
        return _measure(page, number, settings)
    except (pypdfium2.PdfiumError, ValueError, OverflowError):  # it loads, but its text or its sizes are nonsense
        return PageEvidence(number, _NO_TEXT, readable=False)
    finally:
        page.close()


def _measure(page: pypdfium2.PdfPage, number: int, settings: OcrSettings) -> PageEvidence:
    layer = read_text_layer(page)
    drawing = measure_drawing(page)
    evidence = PageEvidence(
        page=number,
        quality=text_quality(layer.text),
        lines=layer.lines,
        unmapped_share=layer.unmapped_share,
        repeated_share=layer.repeated_share,
        duplicated_share=drawing.duplicated_share,
        invisible_share=layer.invisible_share,
        rotation=page.get_rotation(),
        image_coverage=drawing.image_coverage,
        text_objects=drawing.text_objects,
        drawn_lines=drawing.lines,
        other_marks=drawing.shadings + drawing.annotations,
    )
    if evidence.quality.characters >= settings.min_page_characters or evidence.text_only:
        return evidence
    return replace(evidence, ink=has_ink(page, drawing))
