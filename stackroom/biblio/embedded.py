"""Metadata that files other than PDF carry: Office properties, EPUB package, HTML meta tags, JATS, front matter.

Every reader returns the same plain shape: ``title, authors, date, doi, journal, keywords, abstract, url``, each a list
of texts, only those present.
"""

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree as SafeTree
from defusedxml import DefusedXmlException

from stackroom.front_matter import split_front_matter
from stackroom.text_encoding import decode

Fields = dict[str, list[str]]

MAX_BYTES = 4_000_000
"""Of a file or archive member read for its metadata; a larger one is read no further."""
_MAX_VALUE = 4000
"""Characters of a value."""
_MAX_VALUES = 200

_DUBLIN_CORE = {
    "title": "title",
    "creator": "authors",
    "date": "date",
    "created": "date",
    "creation-date": "date",
    "initial-creator": "authors",
    "identifier": "doi",
    "keywords": "keywords",
    "keyword": "keywords",
    "subject": "keywords",
    "description": "abstract",
}
_META_TAGS = {
    "citation_title": "title",
    "dc.title": "title",
    "og:title": "title",
    "citation_author": "authors",
    "dc.creator": "authors",
    "author": "authors",
    "citation_publication_date": "date",
    "citation_date": "date",
    "citation_online_date": "date",
    "dc.date": "date",
    "article:published_time": "date",
    "citation_doi": "doi",
    "dc.identifier": "doi",
    "prism.doi": "doi",
    "citation_journal_title": "journal",
    "prism.publicationname": "journal",
    "citation_keywords": "keywords",
    "keywords": "keywords",
    "citation_abstract": "abstract",
}
_FRONT_MATTER_KEYS = {
    "title": "title",
    "author": "authors",
    "authors": "authors",
    "date": "date",
    "year": "date",
    "doi": "doi",
    "journal": "journal",
    "keywords": "keywords",
    "tags": "keywords",
    "abstract": "abstract",
}
_OFFICE = frozenset({"docx", "pptx", "xlsx"})
_OPEN_DOCUMENT = frozenset({"odt", "ods", "odp"})


def embedded_metadata(path: Path, media: str) -> tuple[Fields, list[str]]:
    """Return the metadata embedded in a file, and problems met; empty for kinds that carry none.

    Args:
        path: the file.
        media: its kind by content.
    """
    reader = _reader(media)
    if reader is None:
        return {}, []
    try:
        return _cleaned(reader(path)), []
    except (
        OSError,
        KeyError,
        ValueError,
        RuntimeError,  # an encrypted archive member
        NotImplementedError,  # an unknown compression method
        ParseError,
        DefusedXmlException,
        zipfile.BadZipFile,
    ) as error:
        return {}, [f"the embedded metadata cannot be read: {type(error).__name__}: {error}"]


def _reader(media: str) -> Callable[[Path], Fields] | None:
    if media in _OFFICE:
        return lambda path: _dublin_core(_member(path, "docProps/core.xml"))
    if media in _OPEN_DOCUMENT:
        return lambda path: _dublin_core(_member(path, "meta.xml"))
    return {"epub": _epub, "html": _html, "markdown": _markdown, "xml_jats": _jats}.get(media)


def _cleaned(fields: Fields) -> Fields:
    cleaned: Fields = {}
    for key, values in fields.items():
        texts = [" ".join(value.split())[:_MAX_VALUE] for value in values]
        kept = list(dict.fromkeys(text for text in texts if text))[:_MAX_VALUES]
        if kept:
            cleaned[key] = kept
    return cleaned


def _member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive, archive.open(name) as member:
        return member.read(MAX_BYTES)


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2].lower()


def _text(element: Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _add(fields: Fields, key: str, values: Iterable[str]) -> None:
    fields.setdefault(key, []).extend(values)


def _dublin_core(data: bytes) -> Fields:
    fields: Fields = {}
    for element in SafeTree.fromstring(data).iter():
        key = _DUBLIN_CORE.get(_local(element))
        if key and element.text and element.text.strip():
            _add(fields, key, [element.text])
    return fields


def _epub(path: Path) -> Fields:
    container = SafeTree.fromstring(_member(path, "META-INF/container.xml"))
    package = next(element.get("full-path") for element in container.iter() if _local(element) == "rootfile")
    root = SafeTree.fromstring(_member(path, package or ""))
    metadata = next((element for element in root if _local(element) == "metadata"), None)
    fields: Fields = {}
    for element in metadata if metadata is not None else ():
        key = _DUBLIN_CORE.get(_local(element))
        if key:
            _add(fields, key, [_text(element)])
    return fields


class _MetaTags(HTMLParser):
    """Collects meta tags and the title element of the head."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: Fields = {}
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "title":
            self._in_title = True
        elif tag == "meta":
            name = (values.get("name") or values.get("property") or "").lower()
            key = _META_TAGS.get(name)
            if key:
                _add(self.fields, key, [values.get("content", "")])
        elif tag == "link" and values.get("rel") == "canonical":
            _add(self.fields, "url", [values.get("href", "")])

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            _add(self.fields, "title_element", [data])


def _html(path: Path) -> Fields:
    with path.open("rb") as handle:
        data = handle.read(MAX_BYTES)
    encoding = _html_encoding(data)
    parser = _MetaTags()
    try:
        parser.feed(data.decode(encoding, "replace"))
    except LookupError:  # the page declares an encoding that does not exist
        parser.feed(data.decode("utf-8", "replace"))
    title = "".join(parser.fields.pop("title_element", []))
    return {**parser.fields, "title": [*parser.fields.get("title", []), title]}


def _html_encoding(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    declared = re.search(rb"charset=[\"']?([A-Za-z0-9_-]+)", data[:4096])
    return declared.group(1).decode("ascii") if declared else "utf-8"


def _markdown(path: Path) -> Fields:
    with path.open("rb") as handle:
        values = split_front_matter(decode(handle.read(MAX_BYTES), whole=False)).values
    fields: Fields = {}
    for name, value in values.items():
        key = _FRONT_MATTER_KEYS.get(name)
        if key:
            _add(fields, key, islice(_flat(value), _MAX_VALUES))
    return fields


def _flat(value: Any) -> Iterator[str]:
    """Yield the texts of a front-matter value: a scalar, a mapping with a ``name``, or a list of such.

    Lists in lists are left out: YAML's aliases make a few lines into billions of them.
    """
    for item in value if isinstance(value, list) else [value]:
        text = item.get("name") if isinstance(item, dict) else item
        if text is not None and not isinstance(text, list | dict):
            yield str(text)


def _jats(path: Path) -> Fields:
    with path.open("rb") as handle:
        root = SafeTree.fromstring(handle.read(MAX_BYTES * 4), forbid_dtd=False)
    front = next((element for element in root.iter() if _local(element) == "front"), None)
    fields: Fields = {}
    for element in front.iter() if front is not None else ():
        _jats_element(element, fields)
    return fields


def _jats_element(element: Element, fields: Fields) -> None:
    name = _local(element)
    if name == "article-title":
        _add(fields, "title", [_text(element)])
    elif name == "journal-title":
        _add(fields, "journal", [_text(element)])
    elif name == "article-id" and element.get("pub-id-type") == "doi":
        _add(fields, "doi", [_text(element)])
    elif name == "contrib" and element.get("contrib-type", "author") == "author":
        person = next((child for child in element.iter() if _local(child) == "name"), None)
        parts = {_local(child): _text(child) for child in (person if person is not None else ())}
        _add(fields, "authors", [f"{parts.get('given-names', '')} {parts.get('surname', '')}"])
    elif name == "pub-date":
        _add(fields, "date", [_text(child) for child in element if _local(child) == "year"])
    elif name == "kwd":
        _add(fields, "keywords", [_text(element)])
    elif name == "abstract" and not element.get("abstract-type"):
        _add(fields, "abstract", [_text(element)])
