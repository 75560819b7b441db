"""Small files to convert, and one converter for all tests of this folder."""

import hashlib
import textwrap
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from stackroom.config import ConversionSettings, EmbedderSettings, LimitSettings, OcrSettings
from stackroom.conversion import ConversionOptions, ConversionRequest, open_converter
from stackroom.embedding.tokenizer import open_tokenizer


def draw_text(canvas, text, top=780.0):
    for number, line in enumerate(textwrap.wrap(text, 80)):
        canvas.drawString(60, top - 15 * number, line)


def _scanned_page(text, quarter_turns=0, dpi=110):
    """Return a picture of a page with large print, turned clockwise."""
    page = Image.new("RGB", (int(8.27 * dpi), int(11.69 * dpi)), "white")
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(size=30)
    for number, line in enumerate(textwrap.wrap(text, 34)):
        draw.text((90, 150 + 60 * number), line, fill="black", font=font)
    turns = {1: Image.Transpose.ROTATE_270, 2: Image.Transpose.ROTATE_180, 3: Image.Transpose.ROTATE_90}
    return page.transpose(turns[quarter_turns]) if quarter_turns else page


def _make_pdf(path, pages, password=None):
    """Write a PDF; a page is a text, None (blank) or a picture that fills the page."""
    encryption = StandardEncryption(password, ownerPassword="owner") if password else None
    canvas = Canvas(str(path), pagesize=A4, encrypt=encryption)
    for page in pages:
        if isinstance(page, str):
            draw_text(canvas, page)
        elif page is not None:
            landscape = page.width > page.height
            canvas.setPageSize(A4[::-1] if landscape else A4)
            width, height = A4[::-1] if landscape else A4
            canvas.drawImage(ImageReader(page), 0, 0, width, height)
        canvas.showPage()
        canvas.setPageSize(A4)
    canvas.save()
    return path


def _make_options(**limits):
    tokenizer = open_tokenizer(EmbedderSettings())
    return ConversionOptions(
        conversion=ConversionSettings(layout="bundled"),
        ocr=OcrSettings(),
        limits=LimitSettings(**limits),
        tokenizer_file=tokenizer.file,
        max_tokens=tokenizer.max_tokens,
    )


def _request_for(path, **values):
    path = Path(path)
    return ConversionRequest(path, path.name, hashlib.sha256(path.read_bytes()).hexdigest(), **values)


@pytest.fixture(scope="session")
def options():
    return _make_options()


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("conversion-cache")


@pytest.fixture(scope="session")
def converter(options, cache_folder):
    with open_converter(options, cache_folder) as converter:
        yield converter


@pytest.fixture(scope="session")
def scanned_page():
    return _scanned_page


@pytest.fixture(scope="session")
def make_pdf():
    return _make_pdf


@pytest.fixture(scope="session")
def make_options():
    return _make_options


@pytest.fixture(scope="session")
def request_for():
    return _request_for
