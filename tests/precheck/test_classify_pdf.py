"""Classification of PDFs made for the purpose: every kind of page, and every way in which a file cannot be read."""

import json
import threading
from pathlib import Path

import psutil
import pytest
from reportlab.lib.pdfencrypt import StandardEncryption

from stackroom.config import OcrSettings
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck import PdfClassification, classify_pdf, precheck_identity

LONG = "Every page of this paper is written by a person who knows what the words mean and where they stand. " * 12


def decisions(result):
    assert isinstance(result, PdfClassification), result
    return [page.decision for page in result.page_statistics]


def test_the_reference_vectors_of_thresholds_hold(shared, make_pdf):
    vectors = json.loads((shared / "vectors" / "stores.json").read_text(encoding="utf-8"))["vectors"]
    checked = 0
    for vector in vectors:
        if vector["function"] != "classify_pdf" or not vector["input"]["non_whitespace_chars_per_page"]:
            continue  # files without pages or unreadable are Failed with the true reason here
        counts = vector["input"]["non_whitespace_chars_per_page"]
        result = classify_pdf(make_pdf(*(make_pdf.words(count) for count in counts)))
        assert {key: getattr(result, key) for key in vector["expected"]} == vector["expected"], vector["id"]
        checked += 1
    assert checked == 5


def test_a_page_of_text_keeps_its_text_layer(make_pdf):
    result = classify_pdf(make_pdf(make_pdf.text(LONG)))
    page = result.page_statistics[0]
    assert decisions(result) == ["text"]
    assert page.characters == len("".join(LONG.split()))
    assert (page.garbled, page.image_page, page.rotation, page.image_coverage) == (False, False, 0, 0.0)
    assert page.reason == f"text layer of {page.characters} characters"
    assert not result.needs_ocr


def test_a_picture_over_the_page_is_read_by_ocr(make_pdf):
    result = classify_pdf(make_pdf(make_pdf.picture()))
    assert decisions(result) == ["ocr"]
    assert result.page_statistics[0].image_coverage == 1.0
    assert result.page_statistics[0].reason == "no text; a picture covers 100% of the page"
    assert result.needs_ocr


def test_pictures_inside_forms_are_measured_where_they_are_drawn(make_pdf):
    result = classify_pdf(make_pdf(make_pdf.picture(0, 421, 595, 421, inside_form=True)))
    assert result.page_statistics[0].image_coverage == pytest.approx(0.5, abs=0.01)


def test_overlapping_pictures_count_once_and_what_hangs_over_the_edge_does_not(make_pdf):
    left = make_pdf.picture(-200, 0, 200 + 595 / 2, 842)
    result = classify_pdf(make_pdf(make_pdf.all_of(left, left)))
    assert result.page_statistics[0].image_coverage == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    "stamp",
    [
        "Downloaded from library.example on 2020-01-01. For personal use only. Page 1",
        "This content downloaded from 192.0.2.1 on Mon, 01 Jan 2020 00:00:00 UTC. " * 5,
    ],
)
def test_a_scan_with_a_stamp_is_still_a_scan(make_pdf, stamp):
    result = classify_pdf(make_pdf(make_pdf.all_of(make_pdf.picture(), make_pdf.text(stamp, size=6))))
    assert decisions(result) == ["ocr"]
    assert result.image_pages == 1
    assert "(a stamp) on a picture over 100% of the page" in result.page_statistics[0].reason


def test_a_slide_with_a_background_picture_keeps_its_text(make_pdf):
    def lines(pdf):
        for number in range(9):
            pdf.drawString(60, 700 - 40 * number, "Point of this slide which is worth making")

    assert decisions(classify_pdf(make_pdf(make_pdf.all_of(make_pdf.picture(), lines)))) == ["text"]


def test_the_invisible_layer_of_an_ocr_program_is_kept(make_pdf):
    result = classify_pdf(make_pdf(make_pdf.all_of(make_pdf.picture(), make_pdf.text(LONG, mode=3))))
    assert decisions(result) == ["text"]
    assert result.page_statistics[0].invisible_share == 1.0
    assert "an OCR layer (not painted) that reads as language" in result.page_statistics[0].reason


def test_an_invisible_layer_that_is_gibberish_is_read_again(make_pdf):
    gibberish = "wqrt xzkpn bcdfg hjklmn pqrst vwxzb Ã©Â»t qzrtp " * 20
    page = make_pdf.all_of(make_pdf.picture(), make_pdf.text(gibberish, mode=3))
    result = classify_pdf(make_pdf(page))
    assert decisions(result) == ["ocr"]
    assert result.garbled_pages == 1


@pytest.mark.parametrize("shift", [-29, 3, 100])
def test_text_shifted_by_a_missing_character_table_is_read_by_ocr(make_pdf, shift):
    shifted = "".join(chr(ord(char) + shift) if ord(char) + shift > 32 and char != " " else char for char in LONG)
    result = classify_pdf(make_pdf(make_pdf.text(shifted)))
    assert decisions(result) == ["ocr"]
    assert result.garbled_pages == 1
    assert "unreadable" in result.page_statistics[0].reason


def test_boxes_in_place_of_letters_are_read_by_ocr(make_pdf):
    boxes = "".join(" " if char == " " else "\x82" for char in LONG)  # reportlab draws a black box for it
    result = classify_pdf(make_pdf(make_pdf.text(boxes)))
    assert decisions(result) == ["ocr"]
    assert "100% of characters are signs, not letters or digits" in result.page_statistics[0].reason


def test_a_short_line_with_nothing_else_on_the_page_is_text(make_pdf):
    result = classify_pdf(make_pdf(make_pdf.text("Chapter Two")))
    assert decisions(result) == ["text"]
    assert result.page_statistics[0].reason == "10 characters and nothing else on the page"
    assert result.page_statistics[0].image_page  # it still counts towards the threshold of the reference
    assert result.needs_ocr
    assert result.ocr_pages == ()


def test_letters_drawn_as_lines_are_read_by_ocr(make_pdf):
    result = classify_pdf(make_pdf(make_pdf.strokes(40)))
    assert decisions(result) == ["ocr"]
    assert result.page_statistics[0].reason == "no text; the page shows something that is not text"


def test_pages_on_which_nothing_can_be_seen_are_blank(make_pdf):
    def white_rectangle(pdf):
        pdf.setFillGray(1)
        pdf.rect(0, 0, 595, 842, stroke=0, fill=1)

    result = classify_pdf(make_pdf(lambda pdf: None, white_rectangle, make_pdf.picture(blank=True)))
    assert decisions(result) == ["blank", "blank", "blank"]
    assert result.blank_pages == (1, 2, 3)


def test_fake_bold_is_noted(make_pdf):
    statistics = classify_pdf(make_pdf(make_pdf.text(LONG, copies=2))).page_statistics[0]
    assert statistics.decision == "text"
    assert statistics.characters == len("".join(LONG.split()))
    assert statistics.duplicated_share == pytest.approx(0.5, abs=0.05)
    assert "drawn twice" in statistics.reason


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rotation_is_recorded_and_does_not_disturb_coverage(make_pdf, rotation):
    def turned(pdf):
        pdf.setPageRotation(rotation)  # reportlab swaps the sides of the page for 90 and 270 degrees
        make_pdf.picture(0, 0, *((842, 595) if rotation % 180 else (595, 842)))(pdf)

    page = classify_pdf(make_pdf(turned)).page_statistics[0]
    assert (page.rotation, page.image_coverage, page.decision) == (rotation, 1.0, "ocr")


def test_pages_are_decided_one_by_one(make_pdf):
    path = make_pdf(make_pdf.text(LONG), make_pdf.picture(), lambda pdf: None, make_pdf.text(LONG))
    result = classify_pdf(path)
    assert (result.text_pages, result.ocr_pages, result.blank_pages) == ((1, 4), (2,), (3,))
    assert result.reason == "4 pages: 2 with text, 1 for OCR, 1 blank, 2 image pages"
    assert result.needs_ocr


def test_thresholds_are_settings(make_pdf):
    path = make_pdf(make_pdf.text(LONG), make_pdf.text(LONG), make_pdf.picture())
    assert not classify_pdf(path).needs_ocr
    assert classify_pdf(path, OcrSettings(image_page_fraction=0.3)).needs_ocr
    assert classify_pdf(path, OcrSettings(min_page_characters=5000)).image_pages == 3


def test_ocr_can_be_set_to_always_and_never(make_pdf):
    path = make_pdf(make_pdf.text(LONG), make_pdf.picture(), lambda pdf: None)
    always, never = classify_pdf(path, OcrSettings(mode="always")), classify_pdf(path, OcrSettings(mode="never"))
    assert (decisions(always), always.needs_ocr) == (["ocr", "ocr", "blank"], True)
    assert (decisions(never), never.needs_ocr) == (["text", "text", "blank"], False)


def test_a_classification_survives_json(make_pdf):
    result = classify_pdf(make_pdf(make_pdf.text(LONG), make_pdf.picture()))
    assert PdfClassification.from_json(json.loads(json.dumps(result.to_json(), allow_nan=False))) == result


def test_a_user_password_is_needed_and_can_be_given(make_pdf):
    locked = make_pdf(make_pdf.text(LONG), encrypt=StandardEncryption("open sesame", ownerPassword="owner"))
    without, wrong = classify_pdf(locked), classify_pdf(locked, password="guess")
    assert isinstance(without, Failed)
    assert (without.reason, without.message) == (ReasonCode.ENCRYPTED, "made.pdf needs a password")
    assert isinstance(wrong, Failed)
    assert wrong.message == "made.pdf does not open with the given password"
    assert decisions(classify_pdf(locked, password="open sesame")) == ["text"]


def test_an_owner_password_alone_hinders_nobody(make_pdf):
    restricted = make_pdf(make_pdf.text(LONG), encrypt=StandardEncryption("", ownerPassword="owner", canCopy=0))
    assert decisions(classify_pdf(restricted)) == ["text"]


def broken_files(folder: Path, whole: bytes):
    yield "zero.pdf", b"", ReasonCode.EMPTY
    yield "nul.pdf", bytes(5000), ReasonCode.EMPTY
    yield "half.pdf", whole[: len(whole) // 2], ReasonCode.CORRUPT
    yield "page.pdf", b"<!doctype html><title>Not found</title>", ReasonCode.WRONG_TYPE
    yield "none.pdf", EMPTY_TREE, ReasonCode.NO_PAGES
    lost = EMPTY_TREE.replace(b"%%EOF", b"4 0 obj\n<< /Type /Page /Parent 2 0 R >>\nendobj\n%%EOF")
    yield "lost.pdf", lost, ReasonCode.CORRUPT
    yield "headless.pdf", whole[: len(whole) // 2].replace(b"%PDF-", b"%QQQ-"), ReasonCode.CORRUPT


EMPTY_TREE = b"""%PDF-1.4
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [ ] /Count 0 >>
endobj
xref
0 3
0000000000 65535 f 
0000000009 00000 n 
0000000058 00000 n 
trailer
<< /Size 3 /Root 1 0 R >>
startxref
111
%%EOF
"""  # noqa: W291 - the blanks belong to the format


def test_every_way_of_being_unreadable_has_its_reason(tmp_path, make_pdf):
    whole = make_pdf(make_pdf.text(LONG), make_pdf.picture()).read_bytes()
    for name, content, reason in broken_files(tmp_path, whole):
        (tmp_path / name).write_bytes(content)
        result = classify_pdf(tmp_path / name)
        assert isinstance(result, Failed), name
        assert result.reason is reason, name
        assert name in result.message
    gone = classify_pdf(tmp_path / "gone.pdf")
    assert isinstance(gone, Failed)
    assert (gone.reason, gone.retryable) == (ReasonCode.MISSING_INPUT, True)


def test_too_many_pages_are_refused_before_any_is_read(make_pdf):
    path = make_pdf(*[make_pdf.words(60)] * 3)
    result = classify_pdf(path, max_pages=2)
    assert isinstance(result, Failed)
    assert (result.reason, result.message) == (ReasonCode.TOO_LARGE, "made.pdf has 3 pages; the limit is 2")
    assert decisions(classify_pdf(path, max_pages=3)) == ["text"] * 3


def test_no_file_is_left_open(make_pdf, tmp_path):
    good, bad = make_pdf(make_pdf.text(LONG)), tmp_path / "bad.pdf"
    bad.write_bytes(EMPTY_TREE)
    for _ in range(3):
        classify_pdf(good)
        classify_pdf(bad)
        classify_pdf(good, max_pages=0)
    still_open = {file.path for file in psutil.Process().open_files()}
    assert still_open.isdisjoint({str(good), str(bad)})


def test_threads_do_not_enter_pdfium_at_once(make_pdf):
    path = make_pdf(*[make_pdf.text(LONG)] * 4)
    results = []
    threads = [threading.Thread(target=lambda: results.append(classify_pdf(path))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [decisions(result) for result in results] == [["text"] * 4] * 6


def test_the_identity_names_what_the_outcome_depends_on():
    identity = precheck_identity(OcrSettings(min_page_characters=7))
    assert identity["min_page_characters"] == 7
    assert "render_dpi" not in identity
    assert identity["pypdfium2"]
