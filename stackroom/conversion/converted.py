"""A converted file before it is chunked: the document, what is missing, and the text it is measured against."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docling_core.types.doc import DoclingDocument

from stackroom.conversion.office_converter import convert_office
from stackroom.formats import Media
from stackroom.outcome import Failed


@dataclass
class Converted:
    """What re-chunking needs, so that another token limit converts nothing."""

    document: DoclingDocument
    pages: int = 0
    missing_pages: tuple[int, ...] = ()
    ocr_pages: tuple[int, ...] = ()
    ranges: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the report: which pages were read by which backend."""
    reference: str = ""
    """Text layer and OCR text, line by line; empty where the document itself is the reference."""
    signals: dict[str, Any] = field(default_factory=dict)
    models: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values; :meth:`from_json` is the inverse."""
        return {**vars(self), "document": self.document.model_dump(mode="json", by_alias=True, exclude_none=True)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Converted":
        """Return what :meth:`to_json` wrote."""
        document = DoclingDocument.model_validate(data["document"])
        pages = {name: tuple(data[name]) for name in ("missing_pages", "ocr_pages")}
        return cls(**{**data, **pages, "document": document})


def convert_office_file(path: Path, media: Media, name: str) -> Converted | Failed:
    """Convert a file without pages of its own."""
    document = convert_office(path, media, name)
    if isinstance(document, Failed):
        return document
    return Converted(document, pages=len(document.pages))
