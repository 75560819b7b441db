r"""Formats other than PDF and pictures, through docling's own readers; plain text through a few lines here.

Files are handed over as bytes under a neutral name: a reader then has no folder in which to look for what a document
refers to (``\input{/etc/passwd}``, ``<img src="../secret.png">``), and no suffix to be misled by. Remote content is
not fetched; docling's options for it stay off.
"""

import re
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from docling.datamodel.base_models import InputFormat
from docling.datamodel.document import InputDocument
from docling_core.types.doc import DocItemLabel, DoclingDocument

from stackroom.formats import Media, docling_format, usual_suffix
from stackroom.outcome import Failed, ReasonCode
from stackroom.text_encoding import decode

READERS = {
    Media.DOCX: "msword_backend:MsWordDocumentBackend",
    Media.DOC_LEGACY: "msword_backend:MsWordDocumentBackend",
    Media.RTF: "msword_backend:MsWordDocumentBackend",
    Media.PPTX: "mspowerpoint_backend:MsPowerpointDocumentBackend",
    Media.PPT_LEGACY: "mspowerpoint_backend:MsPowerpointDocumentBackend",
    Media.XLSX: "msexcel_backend:MsExcelDocumentBackend",
    Media.XLS_LEGACY: "msexcel_backend:MsExcelDocumentBackend",
    Media.ODT: "opendocument_backend:OdtDocumentBackend",
    Media.ODS: "opendocument_backend:OdsDocumentBackend",
    Media.ODP: "opendocument_backend:OdpDocumentBackend",
    Media.HTML: "html_backend:HTMLDocumentBackend",
    Media.MHTML: "html_backend:HTMLDocumentBackend",
    Media.MARKDOWN: "stackroom.conversion.markdown_backend:MarkdownBackend",
    Media.ASCIIDOC: "asciidoc_backend:AsciiDocBackend",
    Media.LATEX: "latex_backend:LatexDocumentBackend",
    Media.CSV: "csv_backend:CsvDocumentBackend",
    Media.VTT: "webvtt_backend:WebVTTDocumentBackend",
    Media.EPUB: "epub_backend:EpubDocumentBackend",
    Media.EMAIL: "email_backend:EmailDocumentBackend",
    Media.XML_JATS: "xml.jats_backend:JatsDocumentBackend",
    Media.XML_USPTO: "xml.uspto_backend:PatentUsptoDocumentBackend",
    Media.XML_XBRL: "xml.xbrl_backend:XBRLDocumentBackend",
    Media.XML_DOCLANG: "xml.doclang_backend:DocLangDocumentBackend",
    Media.DCLX: "xml.doclang_archive_backend:DocLangArchiveBackend",
    Media.JSON_DOCLING: "json.docling_json_backend:DoclingJSONBackend",
    Media.BOXNOTE: "boxnote_backend:BoxNoteDocumentBackend",
    Media.PAGES: "iwork_backend:IWorkPagesDocumentBackend",
    Media.KEYNOTE: "iwork_backend:IWorkKeynoteDocumentBackend",
    Media.NUMBERS: "iwork_backend:IWorkNumbersDocumentBackend",
    Media.EBCDIC: "ebcdic_backend:EbcdicDocumentBackend",
    Media.AFP: "afp_backend:AfpDocumentBackend",
}
"""Media to its reader, as module (below ``docling.backend`` or our own, in full) and class."""

_PARAGRAPHS = re.compile(r"\n[ \t]*\n+")
_UNDERLINE = re.compile(r"[=\-~^\"'`#*+]{3,}")


def convert_office(path: Path, media: Media, name: str) -> DoclingDocument | Failed:
    """Convert a file of any format but PDF and pictures.

    Args:
        path: the file.
        media: what it is.
        name: name for the document.

    Returns:
        The document, or why there is none.
    """
    if media is Media.TEXT:
        return text_document(decode(path.read_bytes()), name)
    if media not in READERS:
        return Failed(ReasonCode.UNSUPPORTED, f"{path.name} is {media}, which Stackroom cannot read as a document")
    return _read(path, media, name)


def _read(path: Path, media: Media, name: str) -> DoclingDocument | Failed:
    try:
        data = path.read_bytes()
        opened = InputDocument(
            path_or_stream=BytesIO(with_known_doctype(data) if media is Media.XML_JATS else data),
            format=InputFormat(docling_format(media)),
            backend=_reader(media),
            filename=f"document.{usual_suffix(media) or 'xml'}",
        )
        if not opened.valid:
            return _refused(path, media, opened._rejection.message if opened._rejection else "it was refused", None)
        backend: Any = opened._backend
        try:
            document: DoclingDocument = backend.convert()
        finally:
            backend.unload()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - thirty readers raise what their libraries raise (lxml, zipfile, …)
        return _refused(path, media, str(error), error)
    document.name = name
    return document


def _reader(media: Media) -> type[Any]:
    module, _, name = READERS[media].partition(":")
    found: type[Any] = getattr(
        import_module(module if module.startswith("stackroom.") else f"docling.backend.{module}"), name
    )
    return found


def _refused(path: Path, media: Media, said: str, error: Exception | None) -> Failed:
    evidence = {"media": media.value, "message": said[:1000]}
    if error is not None:
        evidence["type"] = type(error).__name__
    if isinstance(error, ImportError):
        return Failed(ReasonCode.UNSUPPORTED, f"{path.name}: reading {media} needs a package that is absent", evidence)
    return Failed(ReasonCode.CORRUPT, f"{path.name} cannot be read as {media}: {said[:200]}", evidence)


def with_known_doctype(data: bytes) -> bytes:
    """Return a JATS article with a document type that docling knows.

    Publishers name the type in many ways or leave it out, and docling then refuses the article. What an article is was
    decided by its elements; nothing is loaded for the sake of the document type.
    """
    from docling.backend.xml.jats_backend import JATS_DTD_URL
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True)
    tree = etree.parse(BytesIO(data), parser)
    if any(known in (tree.docinfo.system_url or "") for known in JATS_DTD_URL):
        return data
    doctype = '<!DOCTYPE article SYSTEM "JATS-archivearticle1.dtd">'
    changed: bytes = etree.tostring(tree.getroot(), encoding="utf-8", xml_declaration=True, doctype=doctype)
    return changed


def text_document(text: str, name: str) -> DoclingDocument:
    """Return a document of the paragraphs of a plain text; lines underlined with signs are headings."""
    document = DoclingDocument(name=name)
    for paragraph in _PARAGRAPHS.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = paragraph.strip("\n").rstrip().split("\n")
        if len(lines) > 1 and lines[0].strip() and _is_underline(lines[1], lines[0]):
            document.add_heading(lines[0].strip())
            lines = lines[2:]
        body = "\n".join(lines)
        if body.strip():
            document.add_text(DocItemLabel.TEXT, body)
    return document


def _is_underline(line: str, title: str) -> bool:
    line = line.strip()
    return bool(_UNDERLINE.fullmatch(line)) and len(set(line)) == 1 and len(line) >= len(title.strip()) - 1
