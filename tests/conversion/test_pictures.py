"""Pages are drawn within a cap; pictures of any kind become RGB on white paper."""

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from stackroom.conversion.pictures import ImagePages, PdfPages, capped, on_white


def test_a_page_is_drawn_smaller_where_the_cap_requires_it(tmp_path):
    path = tmp_path / "poster.pdf"
    canvas = Canvas(str(path), pagesize=(14000, 10000))
    canvas.drawString(100, 100, "x")
    canvas.save()
    pages = PdfPages(path, None, most_pixels=2e6)
    try:
        assert pages.count == 1
        assert pages.size(0) == (14000, 10000)
        picture = pages.draw(0, 3.0)
        assert picture.width * picture.height == pytest.approx(2e6, rel=0.01)
        assert picture.mode == "RGB"
    finally:
        pages.close()


def test_the_cap_only_ever_reduces():
    assert capped(3.0, 100, 100, 1e6) == 3.0
    assert capped(3.0, 1000, 1000, 1e6) == 1.0


def test_images_have_the_size_their_resolution_says_and_are_never_blown_up(tmp_path):
    path = tmp_path / "scan.png"
    Image.new("RGB", (600, 300), "white").save(path, dpi=(300, 300))
    pages = ImagePages(path, most_pixels=1e9)
    assert pages.size(0) == pytest.approx((144, 72), rel=0.01)
    assert pages.draw(0, 20.0).size == (600, 300)
    assert pages.draw(0, 1.0).size == (144, 72)
    pages.close()


def test_an_implausible_resolution_is_not_believed(tmp_path):
    path = tmp_path / "scan.png"
    Image.new("RGB", (600, 300), "white").save(path, dpi=(1, 1))
    pages = ImagePages(path, most_pixels=1e9)
    assert pages.size(0) == (600, 300)
    pages.close()


def test_every_frame_of_a_tiff_is_a_page(tmp_path):
    path = tmp_path / "fax.tif"
    frames = [Image.new("1", (40, 60 + number), 1) for number in range(3)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    pages = ImagePages(path, most_pixels=1e9)
    assert [pages.size(index) for index in (2, 0, 1)] == [(40, 62), (40, 60), (40, 61)]
    pages.close()


def test_what_is_transparent_becomes_white():
    glass = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    glass.putpixel((1, 0), (255, 0, 0, 255))
    assert [on_white(glass).getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (255, 0, 0)]
