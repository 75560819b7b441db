"""Pages and boxes: origin top left, the parts of a paragraph apart."""

import pytest
from docling_core.types.doc import DocItemLabel
from rapidfuzz import fuzz
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from stackroom.artefacts import Box
from stackroom.chunking import PdfLines, chunk_document
from stackroom.chunking.lines import fold


def test_boxes_are_in_points_from_the_top_left_corner(document, tokenizer, at):
    document.add_text(DocItemLabel.TEXT, "A line.", prov=at(2, (50, 100, 550, 112)))

    (chunk,) = chunk_document(document, tokenizer, 256).chunks

    assert chunk.boxes == (Box(2, 50, 100, 550, 112),)
    assert chunk.pages == (2,)


def test_a_paragraph_over_two_pages_has_a_box_on_each(document, tokenizer, at):
    item = document.add_text(
        DocItemLabel.TEXT, "It begins here and ends there.", prov=at(1, (50, 700, 550, 712), (0, 15))
    )
    item.prov.append(at(2, (50, 60, 550, 72), (16, 30)))

    (chunk,) = chunk_document(document, tokenizer, 256).chunks

    assert chunk.boxes == (Box(1, 50, 700, 550, 712), Box(2, 50, 60, 550, 72))
    assert chunk.pages == (1, 2)


def test_the_parts_of_a_long_paragraph_get_the_lines_they_must_stand_in(document, tokenizer, at):
    text = "Sentences of fifty characters fill one line each. " * 40  # 40 lines of 50 characters
    document.add_text(DocItemLabel.TEXT, text.strip(), prov=at(1, (50, 100, 300, 580)))

    chunks = chunk_document(document, tokenizer, 128).chunks

    tops = [chunk.boxes[0].t for chunk in chunks]
    bottoms = [chunk.boxes[0].b for chunk in chunks]
    assert len(chunks) > 2
    assert tops[0] == 100
    assert bottoms[-1] == pytest.approx(580)
    assert tops[1:] == pytest.approx(bottoms[:-1])
    heights = [(bottom - top) / len(chunk.text) for chunk, top, bottom in zip(chunks, tops, bottoms, strict=True)]
    assert heights == pytest.approx([480 / len(text)] * len(chunks), rel=0.15)


def test_a_part_on_one_page_does_not_claim_the_other(document, tokenizer, at):
    first, second = "Frogs croak. " * 40, "Toads walk. " * 40
    item = document.add_text(DocItemLabel.TEXT, first + second, prov=at(1, (50, 100, 550, 300), (0, len(first))))
    item.prov.append(at(2, (50, 100, 550, 300), (len(first), len(first + second))))

    chunks = chunk_document(document, tokenizer, 64).chunks

    assert chunks[0].pages == (1,)
    assert chunks[-1].pages == (2,)


def test_items_without_provenance_have_no_boxes(document, tokenizer):
    document.add_text(DocItemLabel.TEXT, "From a web page.")

    (chunk,) = chunk_document(document, tokenizer, 256).chunks

    assert (chunk.pages, chunk.boxes, chunk.doc_items) == ((), (), ("#/texts/0",))


@pytest.fixture
def pdf(tmp_path):
    """A column of references of uneven length on one page of 800 points, and their text."""
    references = [
        f"[{number}] Author {number}. " + "On frogs and ponds. " * (number % 4 + 1) for number in range(1, 19)
    ]
    path = tmp_path / "references.pdf"
    canvas = Canvas(str(path), pagesize=(A4[0], 800))
    canvas.setFont("Helvetica", 10)
    top = 100
    for reference in references:
        words, line = reference.split(), ""
        for word in [*words, ""]:
            if not word or len(line) + len(word) > 60:
                canvas.drawString(50, 800 - top, line)
                top, line = top + 12, ""
            line = f"{line} {word}".strip()
    canvas.save()
    return path, references, top


def test_with_the_lines_of_the_pdf_each_chunk_gets_exactly_its_lines(document, tokenizer, at, pdf):
    path, references, bottom = pdf
    document.add_text(DocItemLabel.LIST_ITEM, " ".join(references), prov=at(1, (48, 85, 560, bottom)))

    with PdfLines(path) as lines:
        chunks = chunk_document(document, tokenizer, 100, lines=lines).chunks
        known = lines.lines(1)

    assert len(chunks) > 3
    for chunk in chunks:
        (box,) = chunk.boxes
        found = "".join(line.letters for line in known if box.t - 1 <= line.box.t and line.box.b <= box.b + 1)
        assert fuzz.ratio(found, fold(chunk.text)) > 90


def test_a_page_without_text_layer_leaves_the_estimate(document, tokenizer, at, tmp_path):
    path = tmp_path / "empty.pdf"
    canvas = Canvas(str(path), pagesize=(600, 800))
    canvas.showPage()
    canvas.save()
    document.add_text(DocItemLabel.TEXT, "Read by OCR.", prov=at(1, (50, 100, 550, 112)))

    with PdfLines(path) as lines:
        (chunk,) = chunk_document(document, tokenizer, 256, lines=lines).chunks
        assert lines.lines(7) == ()

    assert chunk.boxes == (Box(1, 50, 100, 550, 112),)
