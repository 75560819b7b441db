"""Gathers, inside a conversion worker, what a file shows of its own bibliography. Decides nothing.

The result is plain JSON-able data that travels from the worker and is cached beside the converted document, so that
extraction rules can change without converting anything again.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackroom.biblio.docling_signals import docling_signals
from stackroom.biblio.embedded import embedded_metadata
from stackroom.biblio.pdf_signals import pdf_signals

if TYPE_CHECKING:
    from docling_core.types.doc.document import DoclingDocument

SIGNALS_VERSION = 1
"""Raised whenever the signals of the same file change; part of the conversion fingerprint."""


def collect_signals(
    path: Path, document: "DoclingDocument | None", media: str, password: str | None = None
) -> dict[str, Any]:
    """Return the bibliographic signals of a file. Never raises for an odd file: what could not be read is listed.

    Args:
        path: the file.
        document: its conversion, or None when there is none.
        media: kind of the file by content, for example ``pdf``; decides which embedded metadata is read.
        password: of an encrypted PDF.

    Returns:
        ``{"version", "media", "problems", "pdf"?, "embedded"?, "docling"?}``; see the modules named like the keys.
    """
    signals: dict[str, Any] = {"version": SIGNALS_VERSION, "media": str(media), "problems": []}
    if str(media) == "pdf":
        signals["pdf"], problems = pdf_signals(path, password)
    else:
        signals["embedded"], problems = embedded_metadata(path, str(media))
    signals["problems"] += problems
    if document is not None:
        signals["docling"] = docling_signals(document)
    return signals
