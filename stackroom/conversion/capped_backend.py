"""docling's PDFium backend with a cap on the pictures it draws, for pages of any size."""

from io import BytesIO
from pathlib import Path

from docling.backend.pypdfium2_backend import PyPdfiumDocumentBackend, PyPdfiumPageBackend
from docling.datamodel.backend_options import PdfBackendOptions
from docling.datamodel.document import InputDocument
from docling.utils.locks import pypdfium2_lock
from docling_core.types.doc import BoundingBox
from PIL import Image
from typing_extensions import override

from stackroom.conversion.pictures import capped


class CappedPdfiumPageBackend(PyPdfiumPageBackend):
    """A page that is drawn smaller than asked where the picture would exceed the cap."""

    most_pixels: float = float("inf")

    @override
    def get_page_image(self, scale: float = 1, cropbox: BoundingBox | None = None) -> Image.Image:
        """Return a picture of the page or a part of it; see :func:`stackroom.conversion.pictures.capped`."""
        size = self.get_size()
        width, height = (cropbox.width, cropbox.height) if cropbox else (size.width, size.height)
        # The base class draws 1.5 times larger and reduces.
        return super().get_page_image(capped(scale, 1.5 * width, 1.5 * height, self.most_pixels), cropbox)


class CappedPdfiumDocumentBackend(PyPdfiumDocumentBackend):
    """A PDF whose pages are drawn within a cap."""

    def __init__(
        self,
        in_doc: InputDocument,
        path_or_stream: BytesIO | Path,
        options: PdfBackendOptions | None = None,
        *,
        most_pixels: float,
    ) -> None:
        super().__init__(in_doc, path_or_stream, options)
        self._most_pixels = most_pixels

    @override
    def load_page(self, page_no: int) -> CappedPdfiumPageBackend:
        """Load a page (from 0)."""
        with pypdfium2_lock:
            page = CappedPdfiumPageBackend(self._pdoc, self.document_hash, page_no)
        page.most_pixels = self._most_pixels
        return page
