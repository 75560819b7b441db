"""Signals of PDFs drawn for the purpose with reportlab."""

import json

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from stackroom.biblio.pdf_info import parse_xmp, read_xmp
from stackroom.biblio.pdf_lines import MARK_CLOSE, MARK_OPEN
from stackroom.biblio.signals import collect_signals


def draw(path, pages, title=None, author=None):
    """Write a PDF; each page is a list of (x, y from top, size, font, text)."""
    canvas = Canvas(str(path), pagesize=A4)
    if title:
        canvas.setTitle(title)
    if author:
        canvas.setAuthor(author)
    for page in pages:
        for x, y, size, font, text in page:
            canvas.setFont(font, size)
            canvas.drawString(x, A4[1] - y, text)
        canvas.showPage()
    canvas.save()
    return path


def lines_of(path, page=0):
    return collect_signals(path, None, "pdf")["pdf"]["pages"][page]["lines"]


def test_lines_carry_place_size_and_weight(tmp_path):
    path = draw(
        tmp_path / "a.pdf", [[(72, 100, 18, "Helvetica-Bold", "A Title"), (72, 130, 10, "Times-Roman", "text")]]
    )
    first, second = lines_of(path)
    assert (first["text"], first["size"], first["bold"]) == ("A Title", 18.0, True)
    assert (second["text"], second["size"], "bold" in second) == ("text", 10.0, False)
    assert first["box"][0] == pytest.approx(72, abs=2)
    assert 80 < first["box"][1] < first["box"][3] < 110


def test_raised_marks_stay_in_their_line_and_are_marked(tmp_path):
    row = [
        (72, 100, 12, "Helvetica", "Ana Ruiz"),
        (121, 95, 7, "Helvetica", "1,2"),
        (133, 100, 12, "Helvetica", "and Ben Ito"),
        (195, 95, 7, "Helvetica", "2"),
    ]
    [line] = lines_of(draw(tmp_path / "a.pdf", [row]))
    assert line["marked"] == f"Ana Ruiz{MARK_OPEN}1,2{MARK_CLOSE} and Ben Ito{MARK_OPEN}2{MARK_CLOSE}"


def test_columns_are_not_joined_into_one_line(tmp_path):
    row = [(72, 100, 10, "Helvetica", "left column"), (320, 100, 10, "Helvetica", "right column")]
    assert [line["text"] for line in lines_of(draw(tmp_path / "a.pdf", [row]))] == ["left column", "right column"]


def test_line_numbers_of_drafts_are_left_out(tmp_path):
    page = []
    for number in range(1, 13):
        page += [
            (60, 100 + 14 * number, 5, "Helvetica", str(number)),
            (72, 100 + 14 * number, 11, "Helvetica", f"row {number} of text"),
        ]
    assert [line["text"] for line in lines_of(draw(tmp_path / "a.pdf", [page]))] == [
        f"row {n} of text" for n in range(1, 13)
    ]


def test_figures_at_line_starts_that_do_not_count_up_stay(tmp_path):
    page = [(60, 100 + 14 * n, 5, "Helvetica", str(year)) for n, year in enumerate((12, 7, 30, 2, 19, 5, 8))]
    page += [(72, 100 + 14 * n, 11, "Helvetica", "row") for n in range(7)]
    assert lines_of(draw(tmp_path / "a.pdf", [page]))[0]["text"].startswith("12")


def test_running_lines_are_recognised_whatever_their_page_number(tmp_path):
    pages = [
        [(72, 30, 8, "Helvetica", f"Ruiz et al. J Cable 2004, 1:2 page {n}"), (72, 300, 10, "Helvetica", f"body {n}")]
        for n in range(1, 5)
    ]
    [row] = collect_signals(draw(tmp_path / "a.pdf", pages), None, "pdf")["pdf"]["repeated"]
    assert (row["text"], row["where"], row["pages"]) == ("Ruiz et al. J Cable 2004, 1:2 page 1", "top", [1, 2, 3, 4])


def test_first_three_pages_and_the_last_are_kept(tmp_path):
    pages = [[(72, 300, 10, "Helvetica", f"body {n}")] for n in range(1, 9)]
    pdf = collect_signals(draw(tmp_path / "a.pdf", pages, "T", "Ana"), None, "pdf")["pdf"]
    assert [page["page"] for page in pdf["pages"]] == [1, 2, 3, 8]
    assert (pdf["page_count"], pdf["info"]["Title"], pdf["info"]["Author"]) == (8, "T", "Ana")


@pytest.mark.parametrize("content", [b"", b"%PDF-1.4 nothing more", b"\x00" * 1000, b"<html>"])
def test_a_file_that_is_no_pdf_gives_a_problem_and_no_error(tmp_path, content):
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    signals = collect_signals(path, None, "pdf")
    assert "PDFium cannot open the file" in signals["problems"][0]


def test_signals_are_json(tmp_path):
    path = draw(tmp_path / "a.pdf", [[(72, 100, 18, "Helvetica-Bold", "A Title")]])
    signals = collect_signals(path, None, "pdf")
    assert json.loads(json.dumps(signals)) == signals


XMP = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/"
 prism:doi="10.5555/a">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">A Title</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Ana Ruiz</rdf:li><rdf:li>Ben Ito</rdf:li></rdf:Seq></dc:creator>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""


def test_xmp_gives_attributes_and_lists(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4\n" + XMP.encode() + b"\n%%EOF")
    assert read_xmp(path) == [
        {"prism:doi": ["10.5555/a"], "dc:title": ["A Title"], "dc:creator": ["Ana Ruiz", "Ben Ito"]}
    ]


def test_xmp_of_pictures_is_left_out(tmp_path):
    picture = XMP.replace("</dc:creator>", "</dc:creator><dc:format>application/postscript</dc:format>")
    path = tmp_path / "a.pdf"
    path.write_bytes(picture.encode() + XMP.encode())
    assert len(read_xmp(path)) == 1


def test_an_xmp_packet_with_entities_is_refused():
    bomb = '<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z SYSTEM "file:///etc/passwd">]>' + XMP.replace("A Title", "&x;&z;")
    assert parse_xmp(bomb.encode()) == {}
    assert parse_xmp(b"<x:xmpmeta") == {}


def test_compressed_xmp_is_read(tmp_path):
    import zlib

    stream = zlib.compress(XMP.encode())
    path = tmp_path / "a.pdf"
    path.write_bytes(b"1 0 obj <</Type /Metadata /Filter /FlateDecode>>\nstream\n" + stream + b"\nendstream")
    assert read_xmp(path)[0]["dc:title"] == ["A Title"]
