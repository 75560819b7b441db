"""What a PDF says about itself outside its pages: the information dictionary and the XMP packet."""

import mmap
import re
import zlib
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree as SafeTree
from defusedxml import DefusedXmlException

MAX_XMP_BYTES = 2_000_000
MAX_VALUE = 4000

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_PREFIXES = {
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://ns.adobe.com/pdf/1.3/": "pdf",
    "http://ns.adobe.com/pdfx/1.3/": "pdfx",
    "http://ns.adobe.com/xap/1.0/": "xmp",
    "http://prismstandard.org/namespaces/basic/2.0/": "prism",
    "http://prismstandard.org/namespaces/basic/2.1/": "prism",
    "http://prismstandard.org/namespaces/basic/3.0/": "prism",
    "http://prismstandard.org/namespaces/prismusagerights/2.1/": "pur",
    "http://crossref.org/crossmark/1.0/": "crossmark",
    "http://crossref.org/crossmark/2.0/": "crossmark",
    "http://www.niso.org/schemas/jav/1.0/": "jav",
}
_SKIPPED = frozenset({"Thumbnails"})
_PACKET = re.compile(rb"<x:xmpmeta.*?</x:xmpmeta>|<rdf:RDF.*?</rdf:RDF>", re.DOTALL)
_METADATA_STREAM = re.compile(rb"/Type\s*/Metadata")


def read_info(document: Any) -> dict[str, str]:
    """Return the non-blank entries of the information dictionary of a ``pypdfium2.PdfDocument``, trimmed."""
    entries = document.get_metadata_dict(skip_empty=True)
    cleaned = {key: " ".join(value.replace("\x00", "").split())[:MAX_VALUE] for key, value in entries.items()}
    return {key: value for key, value in cleaned.items() if value}


def read_xmp(path: Path) -> list[dict[str, list[str]]]:
    """Return the bibliographic properties of a PDF's XMP packets, those of the document itself first.

    Packets are looked for in the bytes of the file, plain or compressed; in an encrypted file they usually cannot be
    read. A file may hold several: of pictures in it, and of earlier versions (the last in the file is the newest).
    Journals also leave packets of *other articles* in their templates, so a value counts only once the pages bear it
    out; nothing here decides that.

    Returns:
        ``[{"dc:title": ["…"], "prism:doi": ["…"], …}, …]``, at most 8.
    """
    packets = [parse_xmp(packet) for packet in reversed(_packets(path))]
    kept = [packet for packet in packets if packet and not _is_of_picture(packet)]
    return sorted(kept, key=lambda packet: not _is_of_document(packet))[:8]


def parse_xmp(packet: bytes) -> dict[str, list[str]]:
    """Return the properties of an XMP packet in the known namespaces; empty when it is not well-formed or unsafe."""
    try:
        root = SafeTree.fromstring(packet)
    except (ParseError, DefusedXmlException, ValueError, LookupError):
        return {}
    properties: dict[str, list[str]] = {}
    for description in root.iter(f"{_RDF}Description"):
        for name, value in description.attrib.items():
            _add(properties, name, [value])
        for child in description:
            _add(properties, child.tag, _values(child))
    return properties


def _values(element: Element) -> list[str]:
    items = list(element.iter(f"{_RDF}li"))
    return ["".join(item.itertext()) for item in items] if items else ["".join(element.itertext())]


def _add(properties: dict[str, list[str]], name: Any, values: list[str]) -> None:
    if not isinstance(name, str) or not name.startswith("{"):
        return
    namespace, _, local = name[1:].partition("}")
    prefix = _PREFIXES.get(namespace)
    cleaned = [" ".join(value.split())[:MAX_VALUE] for value in values]
    cleaned = [value for value in cleaned if value]
    if prefix and cleaned and local not in _SKIPPED:
        properties.setdefault(f"{prefix}:{local}", cleaned[:200])


def _is_of_picture(packet: dict[str, list[str]]) -> bool:
    formats = packet.get("dc:format")
    return bool(formats) and formats != ["application/pdf"]


def _is_of_document(packet: dict[str, list[str]]) -> bool:
    return any(key.startswith(("prism:", "crossmark:", "pdfx:doi")) for key in packet) or "pdf:Producer" in packet


def _packets(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return [*_plain_packets(data), *_compressed_packets(data)]
    except (OSError, ValueError):  # an empty file cannot be mapped
        return []


def _plain_packets(data: mmap.mmap) -> list[bytes]:
    found: list[bytes] = []
    start = data.find(b"<?xpacket begin")
    while start != -1 and len(found) < 20:
        end = data.find(b"<?xpacket end", start)
        if end == -1:
            break
        match = _PACKET.search(data[start : min(end, start + MAX_XMP_BYTES)])
        if match:
            found.append(match.group())
        start = data.find(b"<?xpacket begin", end)
    return found


def _compressed_packets(data: mmap.mmap) -> list[bytes]:
    found: list[bytes] = []
    for match in _METADATA_STREAM.finditer(data):
        if len(found) >= 20:
            break
        start = data.find(b"stream", match.end(), match.end() + 400)
        if start == -1:
            continue
        start += len(b"stream")
        raw = data[start : start + MAX_XMP_BYTES].lstrip(b"\r\n")
        try:
            text = zlib.decompressobj().decompress(raw, MAX_XMP_BYTES)
        except zlib.error:
            continue
        packet = _PACKET.search(text)
        if packet:
            found.append(packet.group())
    return found
