"""PDFs made for the tests of the pre-check."""

from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

WIDTH, HEIGHT = 595, 842
SENTENCE = "Reading a page takes the eye a moment and the machine a little longer. "


class PdfMaker:
    """Draws PDFs page by page with reportlab."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *pages, name="made.pdf", encrypt=None) -> Path:
        path = self.folder / name
        pdf = canvas.Canvas(str(path), pagesize=(WIDTH, HEIGHT), encrypt=encrypt)
        for draw in pages:
            draw(pdf)
            pdf.showPage()
        pdf.save()
        return path

    @staticmethod
    def text(text, size=10, mode=None, copies=1):
        """Draw lines of at most 80 characters, each so many times a hair apart."""

        def draw(pdf):
            lines = [text[start : start + 80] for start in range(0, len(text), 80)]
            for number, line in enumerate(lines):
                pdf.setFont("Helvetica", size)
                for copy in range(copies):
                    pdf.drawString(50 + 0.2 * copy, 780 - 14 * number, line, mode=mode)

        return draw

    @staticmethod
    def words(characters):
        """Draw readable text of exactly so many characters that are not blank."""
        text, count = "", 0
        for char in SENTENCE * (characters // 40 + 1):
            if count == characters:
                break
            text += char
            count += not char.isspace()
        return PdfMaker.text(text)

    @staticmethod
    def picture(x=0, y=0, width=WIDTH, height=HEIGHT, *, blank=False, inside_form=False):
        """Draw a grey picture with a dark bar, or an evenly white one."""

        def draw(pdf):
            image = Image.new("L", (200, 280), 255)
            if not blank:
                image.paste(40, (20, 20, 180, 60))
            if inside_form:
                pdf.beginForm("outer", 0, 0, 1, 1)
                pdf.drawImage(ImageReader(image), 0, 0, 1, 1)
                pdf.endForm()
                pdf.saveState()
                pdf.transform(width, 0, 0, height, x, y)
                pdf.doForm("outer")
                pdf.restoreState()
            else:
                pdf.drawImage(ImageReader(image), x, y, width, height)

        return draw

    @staticmethod
    def strokes(number):
        """Draw short lines, as a drawing program does with letters turned into outlines."""

        def draw(pdf):
            for index in range(number):
                pdf.line(100 + 5 * index % 300, 300, 103 + 5 * index % 300, 320)

        return draw

    @staticmethod
    def all_of(*draws):
        def draw(pdf):
            for each in draws:
                each(pdf)

        return draw


@pytest.fixture
def make_pdf(tmp_path) -> PdfMaker:
    return PdfMaker(tmp_path)
