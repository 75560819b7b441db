"""Text in any encoding, headings of plain text, and formats that docling reads."""

import pytest
from docling_core.types.doc import DocItemLabel

from stackroom.conversion.office_converter import READERS, text_document
from stackroom.formats import Media, docling_format


def test_underlined_lines_are_headings_and_blank_lines_part_paragraphs():
    document = text_document("Pier\r\n====\r\nSeven lanterns\r\nburn.\r\n\r\n\r\nOne is out.\r\n--\r\n", "x")
    assert [(item.label, item.text) for item in document.texts] == [
        (DocItemLabel.SECTION_HEADER, "Pier"),
        (DocItemLabel.TEXT, "Seven lanterns\nburn."),
        (DocItemLabel.TEXT, "One is out.\n--"),
    ]


def test_every_kind_that_docling_reads_has_a_reader():
    elsewhere = {Media.PDF, Media.IMAGE, Media.TEXT, Media.METS_GBS, Media.AUDIO, Media.VIDEO}
    assert {media for media in Media if docling_format(media)} - elsewhere == set(READERS)


@pytest.mark.slow
def test_office_files_are_converted(converter, shared, request_for):
    office = shared / "corpus" / "office"
    found = {}
    for path in sorted(office.iterdir()):
        outcome = converter.convert(request_for(path))
        found[path.name] = getattr(outcome, "reason", "chunks")
    assert {name: reason for name, reason in found.items() if reason != "chunks"} == {
        "unstructured-empty.txt": "empty",
        "unstructured-fake-doc.rtf": "unsupported",
        "unstructured-password_protected.xlsx": "encrypted",
    }
    assert len(found) == 26


@pytest.mark.parametrize("doctype", ["", '<!DOCTYPE article SYSTEM "http://publisher.invalid/own.dtd">'])
def test_jats_articles_need_no_document_type_that_docling_knows(doctype, converter, request_for, tmp_path):
    path = tmp_path / "article.nxml"
    path.write_text(
        f"{doctype}<article><front><article-meta><title-group><article-title>Lamps</article-title></title-group>"
        "</article-meta></front><body><sec><title>Pier</title><p>Seven lanterns&#160;burn.</p></sec></body></article>"
    )
    (chunk,) = converter.convert(request_for(path)).chunks
    assert chunk.headings == ("Lamps", "Pier")
    assert chunk.text == "Seven lanterns burn."


def test_html_declares_its_encoding(converter, shared, request_for):
    path = shared / "corpus" / "office" / "unstructured-example-steelJIS-datasheet-utf-16.html"
    assert "Hardness" in "\n".join(chunk.text for chunk in converter.convert(request_for(path)).chunks)
