"""Real papers, scans and hard files: every page as a person would decide it.

A page is ``t`` (text), ``o`` (OCR), ``b`` (blank) or ``x`` (cannot be loaded); ``t 5*o`` is a page of text and five
pages for OCR. A word is the reason why the file cannot be read.
"""

import itertools
import time

import pytest

from stackroom.outcome import Failed
from stackroom.precheck import classify_pdf

SCANS = {
    "cermine-image-page.pdf": "o",
    "docling-nemotron_multipage.pdf": "4*o",
    "docling-ocr_test.pdf": "o",
    "docling-ocr_test_rotated_180.pdf": "o",
    "docling-ocr_test_rotated_270.pdf": "o",
    "docling-ocr_test_rotated_90.pdf": "o",
    "jabref-scanned-image-only.pdf": "o",
    "mixed-textcover-scannedbody.pdf": "t 5*o",
    "ocrd-kant-1784-0017.pdf": "o",
    "ocrmypdf-2400dpi.pdf": "o",
    "ocrmypdf-cardinal.pdf": "4*o",
    "ocrmypdf-epson.pdf": "o",
    "ocrmypdf-graph_ocred.pdf": "t",  # has an OCR layer
    "ocrmypdf-jbig2.pdf": "o",
    "ocrmypdf-linn.pdf": "o",
    "ocrmypdf-multipage.pdf": "3*o t 2*o",  # the fourth has an OCR layer
    "ocrmypdf-palette.pdf": "o",
    "ocrmypdf-rotated_skew.pdf": "o",
    "ocrmypdf-skew.pdf": "o",
    "pikepdf-congress.pdf": "o",
    "pikepdf-sandwich.pdf": "t",  # has an OCR layer
    "pypdf-Seige_of_Vicksburg_OCR.pdf": "6*t",  # has an OCR layer
    "raster-bogner2019-100dpi.pdf": "4*o",
    "raster-iskandar2014-150dpi.pdf": "5*o",
    "tesseract-8087_054.3B.pdf": "o",
    "tesseract-phototest.pdf": "o",
    "unstructured-DA-1p.truth.pdf": "t",
    "unstructured-layout-parser-paper-fast.truth.pdf": "2*t",
}

HARD = {
    "UPPER.PDF": "4*t",
    "docx-named.pdf": "wrong_type",
    "enc-user-aes256.pdf": "encrypted",
    "exact-duplicate-of-datta2010.pdf": "4*t",
    "grobid-dehyphenation1.pdf": "t",
    "grobid-samplePdf.segmentation.pdf": "t",
    "no_extension": "4*t",
    "norma-html-saved-as.pdf": "wrong_type",
    "ocrmypdf-blank.pdf": "b",
    "ocrmypdf-enormous.pdf": "o",
    "ocrmypdf-livecycle.pdf": "b",
    "ocrmypdf-type3_font_nomapping.pdf": "o",  # two characters, both control characters
    "only-nul-bytes.pdf": "empty",
    "pages-5000.pdf": "5000*t",
    "pdf20-utf8.pdf": "t",
    "pdfium-control_characters.pdf": "t",
    "pdfium-trailer_unterminated.pdf": "corrupt",
    "pdfjs-ArabicCIDTrueType.pdf": "t",
    "pdfjs-GHOSTSCRIPT-698804-1-fuzzed.pdf": "b",
    "pdfjs-Pages-tree-refs.pdf": "t x",
    "pdfjs-french_diacritics.pdf": "t",  # half of the characters unmapped, all of them right
    "pdfjs-hello_world_rotated.pdf": "5*t",
    "pdfjs-issue11922_reduced.pdf": "b",  # text that PDFium cannot draw
    "pdfjs-issue15893_reduced.pdf": "encrypted",
    "pdfjs-js-buttons.pdf": "o",  # the buttons are labelled
    "pdfjs-mixedfonts.pdf": "t",
    "pdfjs-noembed-sjis.pdf": "t",
    "pdfjs-operator_list_cycle.pdf": "b",
    "pdfjs-poppler-395-0-fuzzed.pdf": "corrupt",  # opens with zero pages, but holds page objects
    "pdfjs-poppler-90-0-fuzzed.pdf": "2*b t 6*b t 3*b o 2*b",
    "pdfjs-print_protection.pdf": "encrypted",
    "pdfjs-stamps.pdf": "o",
    "pdfjs-xfa_issue14315.pdf": "t",
    "pdfjs-xref_command_missing.pdf": "t",
    "pdfminer-issue-598-cmap-other-fonts.pdf": "t",
    "pdfminer-issue-791-non-unicode-cmap.pdf": "o",  # garbled
    "pdfminer-rc4-40.pdf": "encrypted",
    "pdfminer-zen_of_python_corrupted.pdf": "t",
    "pdfplumber-empty.pdf": "empty",
    "pdfplumber-issue-336-example.pdf": "t",
    "pdfplumber-issue-71-duplicate-chars.pdf": "2*t",
    "pdfplumber-nics-background-checks-2015-11-rotated.pdf": "t",
    "pdfplumber-password-example.pdf": "encrypted",
    "portfolio-collection.pdf": "4*t",
    "pypdf-libreoffice-writer-password.pdf": "encrypted",
    "pypdf-multicolumn.pdf": "3*t",
    "pypdf-multilang.pdf": "t",
    "pypdf-output_with_metadata_pymupdf.pdf": "t",
    "pypdf-r6-owner-password.pdf": "t",  # owner password only
    "pypdf-test-Orient.pdf": "t",
    "qpdf-big-ostream.pdf": "t",
    "qpdf-broken-lzw.pdf": "b",
    "qpdf-enc-long-password.pdf": "encrypted",
    "qpdf-enc-owner-only-R3.pdf": "30*t",  # owner password only
    "qpdf-fuzz-16214.pdf": "corrupt",
    "qpdf-issue-146.pdf": "corrupt",
    "qpdf-issue-335a.pdf": "corrupt",
    "qpdf-leading-junk.pdf": "30*t",
    "qpdf-not-a-pdf-5-bytes.pdf": "wrong_type",
    "qpdf-outlines-with-loop.pdf": "30*t",
    "qpdf-pages-loop.pdf": "t",
    "qpdf-zero-pages.pdf": "no_pages",
    "scan-with-text-stamp.pdf": "3*o",
    "text-named.pdf": "wrong_type",
    "truncated-half.pdf": "corrupt",
    "unstructured-copy-protected.pdf": "2*t",  # owner restrictions
    "unstructured-failure-after-repair.pdf": "76*t",
    "unstructured-fake-bold-sample.pdf": "t",
    "unstructured-invalid-pdf-structure-pdfminer-one-page.pdf": "2*t",
    "unstructured-korean-text-with-tables.pdf": "t",
    "unstructured-password.pdf": "encrypted",
    "zero-byte.pdf": "empty",
}

PASSWORDS = {
    "enc-user-aes256.pdf": ("secret", "4*t"),
    "pdfjs-issue15893_reduced.pdf": ("test", "t"),
    "pdfjs-print_protection.pdf": ("1234", "t"),
    "pdfminer-rc4-40.pdf": ("foo", "t"),
    "pdfplumber-password-example.pdf": ("test", "4*t"),
    "pypdf-libreoffice-writer-password.pdf": ("openpassword", "t"),
    "qpdf-enc-long-password.pdf": ("asdf asdf asdf asdf asdf asdf qwer", "30*t"),
    "unstructured-password.pdf": ("password", "t"),
}


def code(result):
    if isinstance(result, Failed):
        return result.reason.value
    letters = ["x" if not page.readable else page.decision[0] for page in result.page_statistics]
    runs = [(letter, len(list(group))) for letter, group in itertools.groupby(letters)]
    return " ".join(letter if length == 1 else f"{length}*{letter}" for letter, length in runs)


def pdfs(folder):
    return [path for path in sorted(folder.iterdir()) if path.suffix.lower() in (".pdf", "")]


@pytest.mark.parametrize(("folder", "expected"), [("scans", SCANS), ("hard", HARD)])
def test_every_page_is_decided_as_a_person_would(shared, folder, expected):
    found = {path.name: code(classify_pdf(path)) for path in pdfs(shared / "corpus" / folder)}
    assert found == expected


def test_all_papers_are_text_but_the_garbled_one(shared):
    results = {path.name: classify_pdf(path) for path in pdfs(shared / "corpus" / "papers")}
    assert len(results) == 27
    assert [name for name, result in results.items() if result.needs_ocr] == ["f1000-3-305-garbled-textlayer.pdf"]
    garbled = results.pop("f1000-3-305-garbled-textlayer.pdf")
    assert garbled.total_chars == 41177
    assert (garbled.garbled_pages, garbled.image_pages) == (7, 0)
    assert garbled.ocr_pages == (1, 2, 10, 11, 12, 13, 14)  # the others have fonts with a character table
    assert {page.unmapped_share > 0.9 for page in garbled.page_statistics if page.garbled} == {True}
    # Two pages of one paper are pictures; everything else keeps its text layer.
    ocr = {name: result.ocr_pages for name, result in results.items() if result.ocr_pages}
    assert ocr == {"dejong2014-critcare-s13054-014-0721-8-provisional.pdf": (15, 16)}
    assert sum(result.garbled_pages for result in results.values()) == 0


@pytest.mark.parametrize("name", PASSWORDS)
def test_the_right_password_opens_the_file(shared, name):
    password, expected = PASSWORDS[name]
    assert code(classify_pdf(shared / "corpus" / "hard" / name, password=password)) == expected


def test_reasons_say_what_a_person_would_see(shared):
    corpus = shared / "corpus"
    stamp = classify_pdf(corpus / "hard" / "scan-with-text-stamp.pdf").page_statistics[0]
    assert stamp.reason == "66 characters (a stamp) on a picture over 100% of the page"
    sandwich = classify_pdf(corpus / "scans" / "pikepdf-sandwich.pdf").page_statistics[0]
    assert "an OCR layer (not painted) that reads as language" in sandwich.reason
    bold = classify_pdf(corpus / "hard" / "unstructured-fake-bold-sample.pdf").page_statistics[0]
    assert "42% of it drawn twice (fake bold)" in bold.reason
    portfolio = classify_pdf(corpus / "hard" / "portfolio-collection.pdf")
    assert portfolio.reason == "4 pages: 4 with text, 0 for OCR; 1 attached document inside the PDF not read"


def test_five_thousand_pages_take_seconds(shared):
    start = time.monotonic()
    result = classify_pdf(shared / "corpus" / "hard" / "pages-5000.pdf")
    assert (result.pages, result.total_chars, result.ocr_pages) == (5000, 123_893, ())
    assert time.monotonic() - start < 10
