"""Pages turned into pictures, as a scanner would give them: grey, slightly skewed, a little noise, no text layer."""

import io
import os
import random
from pathlib import Path

import pypdfium2 as pdfium
from markup import Document
from PIL import Image, ImageFilter
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

DPI = 150
JPEG_QUALITY = 45
PAPER = 244


def scanned_pages(path: Path, skews: list[float], seed: int) -> list[bytes]:
    """Draw the pages of a PDF and return them as JPEGs.

    Args:
        path: PDF to draw.
        skews: degrees by which each page is turned; as many as there are pages to draw.
        seed: seed of the noise, so that the same text gives the same bytes.
    """
    noise = random.Random(seed)
    document = pdfium.PdfDocument(path)
    pages = []
    for number, skew in enumerate(skews):
        picture = document[number].render(scale=DPI / 72, grayscale=True).to_pil().convert("L")
        picture = picture.rotate(skew, resample=Image.Resampling.BICUBIC, fillcolor=255)
        picture = picture.filter(ImageFilter.GaussianBlur(0.5))
        grain = Image.frombytes("L", picture.size, noise.randbytes(picture.width * picture.height))
        # Ink on paper that is not quite white: scale into 20..244, then blend in 3 % of grain.
        picture = Image.blend(picture.point(lambda value: 20 + value * (PAPER - 20) // 255), grain, 0.03)
        data = io.BytesIO()
        picture.save(data, "JPEG", quality=JPEG_QUALITY, dpi=(DPI, DPI))
        pages.append(data.getvalue())
    document.close()
    return pages


def write_scan(pages: list[bytes], path: Path, document: Document) -> None:
    """Write pictures of pages as a PDF that holds nothing else but the information about the document."""
    os.environ["SOURCE_DATE_EPOCH"] = str(document.seconds)
    page = canvas.Canvas(str(path), pagesize=A4, invariant=1)
    page.setTitle(document.title)
    page.setAuthor(", ".join(document.authors))
    page.setSubject(f"{document.part} ({document.year})")
    page.setKeywords(", ".join(document.keywords))
    page.setCreator("Stackroom sample library")
    for data in pages:
        page.drawImage(ImageReader(io.BytesIO(data)), 0, 0, *A4)
        page.showPage()
    page.save()
