"""Nothing a document asks for is fetched, and no entity reads a file: a loopback server must see no request."""

import shutil
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import docx
import pptx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE

from stackroom.conversion import Conversion

BODY = "Seven lanterns burn on the northern pier"
SECRET = "the-key-to-the-strongroom"


@pytest.fixture
def server():
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(404)
            self.end_headers()

        do_HEAD = do_POST = do_GET

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    return path


def replace_member(path, member, change):
    """Rewrite one file of an archive."""
    changed = path.with_suffix(".changed")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data.decode()).encode() if name == member else data)
    shutil.move(changed, path)


def html(folder, url):
    path = folder / "page.html"
    path.write_text(
        f'<html><head><base href="{url}/"><link rel="stylesheet" href="{url}/style.css">'
        f'<script src="{url}/run.js"></script></head><body><h1>Pier</h1><p>{BODY}</p>'
        f'<img src="{url}/a.png"><img src="relative.png"><iframe src="{url}/frame"></iframe>'
        f'<object data="{url}/o"></object><table background="{url}/t.png"><tr><td>1</td></tr></table></body></html>'
    )
    return path


def markdown(folder, url):
    path = folder / "page.md"
    path.write_text(f'# Pier\n\n{BODY}\n\n![lamp]({url}/a.png)\n\n<img src="{url}/b.png">\n\n[link]({url}/c)\n')
    return path


def asciidoc(folder, url):
    path = folder / "page.adoc"
    path.write_text(f"= Pier\n\n{BODY}\n\nimage::{url}/a.png[lamp]\n\ninclude::{url}/more.adoc[]\n")
    return path


def latex(folder, url):
    path = folder / "page.tex"
    path.write_text(
        "\\documentclass{article}\\usepackage{graphicx}\\begin{document}\\section{Pier}\n"
        f"{BODY}\n\n\\includegraphics{{{url}/a.png}}\n\\input{{{url}/more.tex}}\n\\end{{document}}\n"
    )
    return path


def word(folder, url):
    path = folder / "page.docx"
    document = docx.Document()
    document.add_paragraph(BODY)
    document.part.relate_to(f"{url}/template.dotm", f"{RELATIONSHIP_TYPE.STYLES}/attachedTemplate", is_external=True)
    picture = document.part.relate_to(f"{url}/a.png", RELATIONSHIP_TYPE.IMAGE, is_external=True)
    document.save(path)
    drawing = (
        '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/'
        'wordprocessingDrawing"><wp:extent cx="9" cy="9"/><a:graphic xmlns:a="http://schemas.openxmlformats.org/'
        'drawingml/2006/main"><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture">'
        '<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill>'
        f'<a:blip xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:link="{picture}"/>'
        "</pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>"
    )
    replace_member(path, "word/document.xml", lambda xml: xml.replace("<w:sectPr", drawing + "<w:sectPr", 1))
    return path


def slides(folder, url):
    path = folder / "page.pptx"
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = BODY
    slide.part.relate_to(f"{url}/a.png", RELATIONSHIP_TYPE.IMAGE, is_external=True)
    presentation.save(path)
    return path


def jats(folder, url):
    path = folder / "page.nxml"
    path.write_text(
        f'<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2//EN" "{url}/JATS.dtd">'
        '<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta><title-group><article-title>Pier'
        f"</article-title></title-group></article-meta></front><body><sec><title>Lamps</title><p>{BODY}</p>"
        f'<fig><graphic xlink:href="{url}/a.png"/></fig></sec></body></article>'
    )
    return path


def epub(folder, url):
    path = folder / "page.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
            '<rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr(
            "b.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Pier</dc:title><dc:identifier id="i">1'
            "</dc:identifier><dc:language>en</dc:language></metadata><manifest><item id='c' href='c.xhtml' "
            "media-type='application/xhtml+xml'/></manifest><spine><itemref idref='c'/></spine></package>",
        )
        archive.writestr(
            "c.xhtml",
            f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{BODY}</p><img src="{url}/a.png"/></body></html>',
        )
    return path


@pytest.mark.parametrize("make", [html, markdown, asciidoc, latex, word, slides, jats, epub])
def test_nothing_remote_is_fetched(make, converter, server, tmp_path, request_for):
    url, requests = server
    conversion = converter.convert(request_for(make(tmp_path, url)))
    assert isinstance(conversion, Conversion), conversion
    assert BODY in " ".join("\n".join([*chunk.headings, chunk.text]) for chunk in conversion.chunks)
    assert requests == []


ENTITY = '<!DOCTYPE {root} [<!ENTITY key SYSTEM "file://{path}"><!ENTITY net SYSTEM "{url}/entity">]>'


def with_entity(root, xml, path, url):
    """Declare external entities in front of a document's root and use them in its body."""
    start = xml.index(f"<{root}")
    used = xml.replace(BODY, f"{BODY} &key; &net;")
    return used[:start] + ENTITY.format(root=root, path=path, url=url) + used[start:]


def hostile_word(folder, url, secret):
    path = folder / "page.docx"
    document = docx.Document()
    document.add_paragraph(BODY)
    document.save(path)
    replace_member(path, "word/document.xml", lambda xml: with_entity("w:document", xml, secret, url))
    return path


def hostile_jats(folder, url, secret):
    path = jats(folder, url)
    xml = path.read_text()
    path.write_text(with_entity("article", xml[xml.index("<article") :], secret, url))
    return path


def hostile_html(folder, url, secret):
    path = folder / "page.xhtml"
    xml = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{BODY}</p></body></html>'
    path.write_text(with_entity("html", xml, secret, url))
    return path


def hostile_latex(folder, url, secret):
    path = folder / "page.tex"
    path.write_text(
        "\\documentclass{article}\\begin{document}\n"
        f"{BODY}\n\n\\input{{{secret}}}\n\\input{{secret.txt}}\\include{{{secret.with_suffix('')}}}\n\\end{{document}}\n"
    )
    return path


def hostile_markdown(folder, url, secret):
    path = folder / "page.md"
    path.write_text(f'{BODY}\n\n![a](file://{secret})\n\n<object data="file://{secret}"></object>\n')
    return path


@pytest.mark.parametrize("make", [hostile_word, hostile_jats, hostile_html, hostile_latex, hostile_markdown])
def test_no_document_reads_another_file(make, converter, server, secret, tmp_path, request_for):
    url, requests = server
    outcome = converter.convert(request_for(make(tmp_path, url, secret)))
    assert SECRET not in repr(outcome)
    assert requests == []
