"""What files truly are: by content, whatever they are called."""

import io
import shutil
import stat
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from stackroom.config import LimitSettings
from stackroom.formats import Media, docling_format
from stackroom.media import identify
from stackroom.media.identify import Identified
from stackroom.outcome import ReasonCode

HTML = b"<!DOCTYPE html>\n<html><head><title>Not found</title></head><body>Sorry</body></html>"
JATS = (
    b'<?xml version="1.0"?><!-- exported --><!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) v1.2//EN" '
    b'"JATS-archivearticle1.dtd"><article><front/></article>'
)
USPTO = b'<?xml version="1.0"?><!DOCTYPE us-patent-grant SYSTEM "x.dtd" [ <!ENTITY a "<b>"> ]><us-patent-grant/>'
DOCLING = b'{"schema_name": "DoclingDocument", "version": "1.0.0"}'
MAIL = b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Books\r\n\r\nDear reader"
MHTML = b"From: <Saved by Blink>\nSubject: Page\nMIME-Version: 1.0\nContent-Type: multipart/related;\n\n"


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


def picture(form, size=(40, 30)):
    buffer = io.BytesIO()
    Image.new("RGB", size).save(buffer, form)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "media"),
    [
        ("a.pdf", b"%PDF-1.7 ...", Media.PDF),
        ("a.pdf", b"\0\0junk %PDF-1.7 ...", Media.PDF),
        ("a.pdf", b"text first\n%PDF-1.7 ...", Media.PDF),
        ("no_extension", b"%PDF-1.7 ...", Media.PDF),
        ("a.pdf", HTML, Media.HTML),
        ("a.pdf", b"Hello, this is not a PDF.", Media.TEXT),
        ("a.pdf", b"\xff\xd8\xff" + picture("JPEG")[3:], Media.IMAGE),
        ("a.pdf", b"1 0 obj\n<<>>\nendobj\nxref", Media.PDF),
        ("a.md", b"The header of a PDF is %PDF-1.7.", Media.MARKDOWN),
        ("a.md", b"<!-- a comment -->\n# Title", Media.MARKDOWN),
        ("a.md", b"<img src='x'> begins this page", Media.MARKDOWN),
        ("a.txt", HTML, Media.HTML),
        ("a.htm", b"\xff\xfe" + "<head></head>".encode("utf-16-le"), Media.HTML),
        ("a.html", "<html lang='ja'>日本語".encode("utf-16-be"), Media.HTML),
        ("a.html", b"plain words, no tags", Media.HTML),
        ("a.xhtml", b'<?xml version="1.0"?><!-- x --><html xmlns="http://www.w3.org/1999/xhtml"/>', Media.HTML),
        ("a.xml", JATS, Media.XML_JATS),
        ("a.nxml", JATS, Media.XML_JATS),
        ("a.xml", USPTO, Media.XML_USPTO),
        ("a.txt", b"PATN\nWKU  0123", Media.XML_USPTO),
        ("a.xml", b'<xbrl xmlns="http://www.xbrl.org/2003/instance"/>', Media.XML_XBRL),
        ("a.xml", b"<doclang/>", Media.XML_DOCLANG),
        ("a.xml", b"<svg/>", Media.XML),
        ("a.json", DOCLING, Media.JSON_DOCLING),
        ("a.json", b'{"a": 1}', Media.JSON),
        ("a.txt", b'{"a": 1}', Media.TEXT),
        ("a.boxnote", b'{"doc": {}}', Media.BOXNOTE),
        ("a.eml", MAIL, Media.EMAIL),
        ("a.pdf", MAIL, Media.EMAIL),
        ("a.md", MAIL, Media.MARKDOWN),
        ("a.mht", MHTML, Media.MHTML),
        ("a.pdf", MHTML, Media.MHTML),
        ("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\nHello", Media.VTT),
        ("a.tex", b"\\documentclass{article}", Media.LATEX),
        ("a.pdf", b"% comment\n\\documentclass{article}", Media.LATEX),
        ("a.csv", b"a;b\n1;2", Media.CSV),
        ("a.adoc", b"= Title", Media.ASCIIDOC),
        ("a.rst", b"Title\n=====", Media.TEXT),
        ("a.txt", "häuser und bücher".encode("latin-1"), Media.TEXT),
        ("a.txt", "日本語の文章".encode("shift_jis"), Media.TEXT),
        ("a.txt", "日本語の文章".encode("iso2022_jp"), Media.TEXT),
        ("a.rtf", b"{\\rtf1 text}", Media.RTF),
        ("a.doc", b"{\\rtf1 text}", Media.RTF),
        ("a.png", picture("PNG"), Media.IMAGE),
        ("a.gif", picture("GIF"), Media.IMAGE),
        ("a.bmp", picture("BMP"), Media.IMAGE),
        ("a.tif", picture("TIFF"), Media.IMAGE),
        ("a.webp", picture("WEBP"), Media.IMAGE),
        ("a.afp", b"\x5a\x00\x10\xd3\xa8\xa8\x00\x00\x00" + bytes(20), Media.AFP),
        ("a.ebc", bytes([0xC8, 0x85, 0x93, 0x93, 0x96, 0x00]), Media.EBCDIC),
        ("a.bin", bytes(range(1, 256)) * 4, Media.UNKNOWN),
        ("a.md", bytes(range(1, 256)) * 4, Media.UNKNOWN),
    ],
)
def test_the_content_decides(tmp_path, name, content, media):
    assert identify(write(tmp_path, name, content)).media is media


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("page.pdf", HTML, "named as pdf, but the content is html"),
        ("notes.pdf", b"plain words", "named as pdf, but the content is text"),
        ("photo.pdf", picture("PNG"), "named as pdf, but the content is image"),
        ("article.xml", JATS, None),
        ("patent.txt", USPTO, None),
        ("page.html", HTML, None),
        ("no_extension", b"%PDF-1.7", None),
    ],
)
def test_a_wrong_suffix_is_noted_and_not_refused(tmp_path, name, content, note):
    found = identify(write(tmp_path, name, content))
    assert found.problem is None
    assert (found.wrong_type, found.note) == (note is not None, note)


@pytest.mark.parametrize(
    ("name", "content", "reason", "said"),
    [
        ("a.pdf", b"", ReasonCode.EMPTY, "a.pdf has zero bytes"),
        ("a.pdf", bytes(70_000), ReasonCode.EMPTY, "a.pdf holds zero bytes and nothing else"),
        ("a.md", b" \n\t\r\n", ReasonCode.EMPTY, "a.md holds blanks and nothing else"),
        ("a.pdf", bytes(range(1, 256)), ReasonCode.CORRUPT, "does not begin as a file of kind pdf does"),
        ("a.docx", bytes(range(1, 256)), ReasonCode.CORRUPT, "does not begin as a file of kind docx does"),
        ("a.docx", b"PK\x03\x04 cut off", ReasonCode.CORRUPT, "its directory is missing; it was cut off"),
        ("a.png", picture("PNG")[:20], ReasonCode.CORRUPT, "a.png is a damaged picture"),
        ("a.doc", bytes.fromhex("D0CF11E0A1B11AE1"), ReasonCode.CORRUPT, "its header is cut off"),
        ("a.md", bytes(range(1, 256)), ReasonCode.UNSUPPORTED, "is neither text nor a known document"),
        ("a.json", b'{"a": 1}', ReasonCode.UNSUPPORTED, "JSON that is no docling document"),
        ("a.xml", b"<svg/>", ReasonCode.UNSUPPORTED, "XML of a kind that is not read"),
        ("a.mp3", b"ID3\x03\0\0\0 music", ReasonCode.UNSUPPORTED, "a.mp3 is a recording; speech is not read"),
    ],
)
def test_every_problem_has_its_reason_and_says_it(tmp_path, name, content, reason, said):
    problem = identify(write(tmp_path, name, content)).problem
    assert problem is not None
    assert problem.reason is reason
    assert name in problem.message
    assert said in problem.message


def test_documents_from_before_2007_say_what_they_need(tmp_path, monkeypatch):
    path = write(tmp_path, "old.rtf", b"{\\rtf1 text}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DOCLING_LIBREOFFICE_CMD", raising=False)
    problem = identify(path).problem
    assert problem.reason is ReasonCode.UNSUPPORTED
    assert problem.message == "old.rtf is a Rich Text document; install LibreOffice, or save it as .docx"
    office = write(tmp_path, "soffice", b"#!/bin/sh\n")
    office.chmod(office.stat().st_mode | stat.S_IXUSR)
    assert identify(path).problem is None


def test_a_file_that_is_gone_or_no_file_is_missing_input(tmp_path):
    for path in (tmp_path / "gone.pdf", tmp_path):
        problem = identify(path).problem
        assert (problem.reason, problem.retryable) == (ReasonCode.MISSING_INPUT, True)


def test_size_is_checked_before_the_file_is_read(tmp_path):
    path = tmp_path / "large.pdf"
    with path.open("wb") as handle:
        handle.truncate(3 << 20)  # a hole: takes no room on disk
    problem = identify(path, LimitSettings(max_file_mb=2)).problem
    assert (problem.reason, problem.message) == (ReasonCode.TOO_LARGE, "large.pdf has 3 MB; the limit is 2 MB")


def test_pixels_are_checked_before_they_are_decoded(tmp_path):
    path = write(tmp_path, "wide.png", picture("PNG", (2000, 1000)))
    problem = identify(path, LimitSettings(max_image_megapixels=1)).problem
    assert (problem.reason, problem.message) == (ReasonCode.TOO_LARGE, "wide.png has 2 megapixels; the limit is 1")
    assert identify(path).problem is None
    small = picture("PNG")
    claim = b"IHDR" + (60_000).to_bytes(4, "big") * 2 + small[24:29]  # 3,600 megapixels
    bomb = small[:12] + claim + zlib.crc32(claim).to_bytes(4, "big") + small[33:]
    problem = identify(write(tmp_path, "bomb.png", bomb)).problem
    assert problem.reason is ReasonCode.TOO_LARGE


def test_hostile_markup_takes_no_time(tmp_path):
    for number, content in enumerate(
        (
            b"<?xml?>" + b"<!--" * 10_000,
            b"<!DOCTYPE a [" + b"[ ] " * 10_000,
            b"<!---->" * 9_000,
            b"\n" * 60_000 + b"x",
            b"a" * 60_000 + b":",
        )
    ):
        assert identify(write(tmp_path, f"{number}.pdf", content)).media in Media


@given(
    st.binary(min_size=1, max_size=400), st.sampled_from(["a.pdf", "a.docx", "a.md", "a.xml", "a", "a.doc", "a.tif"])
)
def test_no_content_makes_it_raise(tmp_path_factory, content, name):
    path = tmp_path_factory.getbasetemp() / name
    for head in (b"", b"PK\x03\x04", bytes.fromhex("D0CF11E0A1B11AE1"), b"\x1f\x8b", b"BM", b"II*\0"):
        path.write_bytes(head + content)
        found = identify(path)
        assert isinstance(found, Identified)
        assert found.problem is not None or docling_format(found.media) is not None


OFFICE = {
    "docling-asciidoc_02.asciidoc": Media.ASCIIDOC,
    "docling-csv-too-many-columns.csv": Media.CSV,
    "docling-docx_comments.docx": Media.DOCX,
    "docling-duck.md": Media.MARKDOWN,
    "docling-elife-56337.xml": Media.XML_JATS,
    "docling-epub_purvis_poetry.epub": Media.EPUB,
    "docling-ipa20180000016.xml": Media.XML_USPTO,
    "docling-nested.md": Media.MARKDOWN,
    "docling-powerpoint_bad_text.pptx": Media.PPTX,
    "docling-text_document_01.odt": Media.ODT,
    "docling-wiki.md": Media.MARKDOWN,
    "docling-wiki_duck.html": Media.HTML,
    "docling-word_sample.docx": Media.DOCX,
    "docling-xlsx_01.xlsx": Media.XLSX,
    "docling-xlsx_06_edge_cases_.xlsx": Media.XLSX,
    "docling_ecosystem.pptx": Media.PPTX,
    "unstructured-README.rst": Media.TEXT,
    "unstructured-docx-tables.docx": Media.DOCX,
    "unstructured-empty.txt": ReasonCode.EMPTY,
    "unstructured-example-10k-1p.html": Media.HTML,
    "unstructured-example-steelJIS-datasheet-utf-16.html": Media.HTML,
    "unstructured-fake-doc.rtf": Media.RTF,
    "unstructured-fake-power-point-malformed.pptx": Media.PPTX,
    "unstructured-fake-power-point-table.pptx": Media.PPTX,
    "unstructured-password_protected.xlsx": ReasonCode.ENCRYPTED,
    "unstructured-simple.odt": Media.ODT,
}


def test_real_office_files_are_what_they_are(shared):
    found = {path.name: identify(path) for path in (shared / "corpus" / "office").iterdir()}
    verdicts = {
        name: one.problem.reason if one.problem and one.media is not Media.RTF else one.media
        for name, one in found.items()
    }
    assert verdicts == OFFICE
    assert [name for name, one in found.items() if one.wrong_type] == []
    assert [name for name, one in found.items() if one.encrypted] == ["unstructured-password_protected.xlsx"]


def test_real_pdfs_with_lying_names(shared, tmp_path):
    hard = shared / "corpus" / "hard"
    expected = {
        "docx-named.pdf": Media.DOCX,
        "norma-html-saved-as.pdf": Media.HTML,
        "text-named.pdf": Media.TEXT,
        "qpdf-not-a-pdf-5-bytes.pdf": Media.TEXT,
    }
    found = {path.name: identify(path) for path in hard.iterdir()}
    assert {name: one.media for name, one in found.items() if one.media is not Media.PDF} == expected
    assert {name for name, one in found.items() if one.wrong_type} == set(expected)
    empty = {name for name, one in found.items() if one.problem}
    assert empty == {"only-nul-bytes.pdf", "pdfplumber-empty.pdf", "zero-byte.pdf"}
    # The same content without a name to go by.
    shutil.copy(hard / "docx-named.pdf", tmp_path / "unnamed")
    assert identify(tmp_path / "unnamed").media is Media.DOCX
    assert zipfile.is_zipfile(tmp_path / "unnamed")
