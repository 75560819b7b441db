"""Files through real worker processes, from the suffix that lies to the page that lies on its side."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psutil
import pytest

from stackroom.artefacts import embedded_text
from stackroom.conversion import Conversion, ConversionOptions, ConversionReport, open_converter
from stackroom.embedding.tokenizer import load_tokenizer
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck import PdfClassification

PROSE = (
    "The reading room keeps its lamps low in the evening, because the oldest bindings fade in bright light. "
    "Every shelf carries a number, and every number stands in the register beside the door. "
    "Whoever borrows a volume signs for it, and whoever returns one strikes the signature out."
)
SCANNED = "Snow fell on the harbour while the keeper counted seven lanterns along the northern pier"


def words(text):
    return re.findall(r"\w+", text.casefold())


def text_of(conversion):
    return "\n".join(chunk.text for chunk in conversion.chunks)


@pytest.fixture
def convert(request_for):
    def convert(converter, path, **values):
        conversion = converter.convert(request_for(path, **values))
        assert isinstance(conversion, Conversion), conversion
        return conversion

    return convert


@pytest.fixture
def failure(request_for):
    def failure(converter, path, **values):
        failed = converter.convert(request_for(path, **values))
        assert isinstance(failed, Failed), failed
        return failed

    return failure


def test_a_text_pdf_keeps_its_text_layer_and_says_where_it_stands(converter, tmp_path, convert, make_pdf):
    conversion = convert(converter, make_pdf(tmp_path / "register.pdf", [PROSE, PROSE[::-1].title()]))
    assert words(PROSE) == words(text_of(conversion))[: len(words(PROSE))]
    report = conversion.report
    assert (report.media, report.pages, report.pages_read, report.state) == ("pdf", 2, 2, "complete")
    assert report.converter["ranges"] == [{"first": 1, "last": 2, "backend": "docling-parse"}]
    assert report.converter["layout"] == "bundled"
    assert report.ocr_pages == report.missing_pages == ()
    assert report.lost_text_ratio == 0.0
    box = conversion.chunks[0].boxes[0]
    assert box.page == 1
    assert box.l == pytest.approx(60, abs=3)
    assert box.t == pytest.approx(842 - 790, abs=6)
    assert conversion.signals["media"] == "pdf"


def test_only_pages_that_need_it_are_read_by_ocr(converter, tmp_path, convert, make_pdf, scanned_page, request_for):
    path = make_pdf(tmp_path / "mixed.pdf", [PROSE, scanned_page(SCANNED), None, "A closing remark. " * 8])
    classified = converter.classify(request_for(path))
    assert isinstance(classified, PdfClassification)
    assert [page.decision for page in classified.page_statistics] == ["text", "ocr", "blank", "text"]
    conversion = convert(converter, path, classification=classified)
    assert conversion.report.ocr_pages == (2,)
    assert [(row["first"], row["last"], row["backend"]) for row in conversion.report.converter["ranges"]] == [
        (1, 1, "docling-parse"),
        (2, 2, "ocr"),
        (3, 4, "docling-parse"),
    ]
    text = words(text_of(conversion))
    assert text.index("register") < text.index("lanterns") < text.index("closing")
    pages = {page for chunk in conversion.chunks if "lanterns" in chunk.text for page in chunk.pages}
    assert 2 in pages


@pytest.mark.parametrize("turns", [1, 2])
def test_a_turned_scan_is_read_and_boxed_as_shown(converter, tmp_path, turns, convert, make_pdf, scanned_page):
    path = make_pdf(tmp_path / f"turned{turns}.pdf", [scanned_page(SCANNED, quarter_turns=turns)])
    conversion = convert(converter, path)
    found = words(text_of(conversion))
    assert sum(word in found for word in words(SCANNED)) >= 13
    assert conversion.report.converter["ranges"][0]["turned_degrees"] == {"1": 360 - 90 * turns}
    boxes = [box for chunk in conversion.chunks for box in chunk.boxes]
    left, top = min(box.l for box in boxes), min(box.t for box in boxes)
    right, bottom = max(box.r for box in boxes), max(box.b for box in boxes)
    width, height = (842, 595) if turns % 2 else (595, 842)
    # The print begins near one edge of the upright page and ends before its middle; turned, it keeps its place.
    near = {1: width - right, 2: height - bottom, 3: left}[turns]
    assert near == pytest.approx(98, abs=25)
    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height
    assert (right - left < bottom - top) == bool(turns % 2)


@pytest.mark.parametrize("classified", [False, True])
def test_an_image_file_is_read_classified_before_or_not(
    converter, tmp_path, convert, scanned_page, request_for, classified
):
    path = tmp_path / "pier.png"
    scanned_page(f"{SCANNED} {classified}", quarter_turns=1).save(path)
    conversion = convert(converter, path, classification=converter.classify(request_for(path)) if classified else None)
    assert "harbour" in words(text_of(conversion))
    assert (conversion.report.media, conversion.report.pages, conversion.report.ocr_pages) == ("image", 1, (1,))


def test_an_encrypted_pdf_needs_its_password(converter, tmp_path, convert, failure, make_pdf, request_for):
    path = make_pdf(tmp_path / "locked.pdf", [PROSE], password="geheim")
    assert failure(converter, path).reason is ReasonCode.ENCRYPTED
    assert failure(converter, path, password="wrong").reason is ReasonCode.ENCRYPTED
    assert words(text_of(convert(converter, path, password="geheim"))) == words(PROSE)
    assert converter.classify(request_for(path)).reason is ReasonCode.ENCRYPTED


def test_content_decides_and_a_wrong_suffix_is_noted(converter, tmp_path, convert):
    path = tmp_path / "page.pdf"
    path.write_text("<html><body><h1>Lamps</h1><p>Seven lanterns burn on the pier.</p></body></html>")
    conversion = convert(converter, path)
    assert conversion.report.media == "html"
    assert conversion.report.wrong_type == "named as pdf, but the content is html"
    assert "lanterns" in text_of(conversion)
    again = path.rename(tmp_path / "page.html")
    assert convert(converter, again).report.wrong_type is None


def test_files_that_cannot_be_read_say_why(converter, tmp_path, failure, make_pdf):
    empty, zip_of_nothing = tmp_path / "empty.pdf", tmp_path / "sheet.docx"
    empty.touch()
    zip_of_nothing.write_bytes(b"PK\x03\x04 but no archive")
    half = tmp_path / "half.pdf"
    half.write_bytes(make_pdf(tmp_path / "whole.pdf", [PROSE] * 3).read_bytes()[:900])
    blank = make_pdf(tmp_path / "blank.pdf", [None, None])
    found = {path.name: failure(converter, path).reason for path in (empty, zip_of_nothing, half, blank)}
    assert found == {
        "empty.pdf": ReasonCode.EMPTY,
        "sheet.docx": ReasonCode.CORRUPT,
        "half.pdf": ReasonCode.CORRUPT,
        "blank.pdf": ReasonCode.NO_TEXT,
    }


def test_long_files_are_converted_in_windows_with_the_right_page_numbers(tmp_path, options, convert, make_pdf):
    pages = [f"Chapter {number} tells of lamp number {number} and of nothing else at all." for number in range(1, 8)]
    windowed = replace(options, conversion=options.conversion.model_copy(update={"page_window": 3}))
    with open_converter(windowed, tmp_path / "cache") as converter:
        conversion = convert(converter, make_pdf(tmp_path / "long.pdf", pages))
    assert [(row["first"], row["last"]) for row in conversion.report.converter["ranges"]] == [(1, 3), (4, 6), (7, 7)]
    assert conversion.report.pages_read == 7
    assert sorted({page for chunk in conversion.chunks for page in chunk.pages}) == list(range(1, 8))


def test_a_page_that_nobody_can_read_makes_the_file_partial(converter, shared, convert):
    conversion = convert(converter, shared / "corpus" / "hard" / "pdfjs-Pages-tree-refs.pdf")
    assert conversion.report.state == "partial"
    assert conversion.report.missing_pages == (2,)
    assert (conversion.report.pages, conversion.report.pages_read) == (2, 1)
    assert {row["backend"] for row in conversion.report.converter["ranges"]} == {"pdfium", "ocr"}


def test_fonts_that_docling_parse_does_not_know_are_read_by_pdfium(converter, shared, convert):
    conversion = convert(converter, shared / "corpus" / "hard" / "pdfjs-french_diacritics.pdf")
    assert text_of(conversion).startswith("à À â Â ä Ä ç Ç é É è È")
    assert conversion.report.converter["ranges"] == [{"first": 1, "last": 1, "backend": "pdfium"}]


def test_a_file_that_eats_all_memory_in_one_parser_is_tried_with_the_other(shared, tmp_path, failure, make_options):
    with open_converter(make_options(worker_memory_mb=900, workers=1), tmp_path) as converter:
        failed = failure(converter, shared / "corpus" / "hard" / "pdfjs-operator_list_cycle.pdf")
    assert failed.reason is ReasonCode.NO_TEXT


def test_what_was_converted_once_is_not_converted_again(converter, cache_folder, tmp_path, convert, make_pdf):
    path = make_pdf(tmp_path / "once.pdf", [PROSE + " Once."])
    first = convert(converter, path)
    copy = tmp_path / "folder" / "renamed.pdf"
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    second = convert(converter, copy)
    assert (first.report.from_cache, second.report.from_cache) == (False, True)
    assert second.chunks == first.chunks
    assert second.signals == first.signals
    assert replace(second.report, from_cache=False) == first.report


def test_another_token_limit_cuts_the_same_document_again(options, tmp_path, convert, make_pdf):
    path = make_pdf(tmp_path / "limit.pdf", [PROSE])
    cache = tmp_path / "cache"
    with open_converter(options, cache) as converter:
        convert(converter, path)
    (document,) = cache.rglob("*.document.json.gz")
    written = document.stat().st_mtime_ns
    narrow = replace(options, max_tokens=32)
    with open_converter(narrow, cache) as converter:
        conversion = convert(converter, path)
    assert document.stat().st_mtime_ns == written
    assert len(list(cache.rglob("*.document.json.gz"))) == 1
    tokenizer = load_tokenizer(options.tokenizer_file, 256)
    counts = [tokenizer.count(embedded_text(chunk.headings, chunk.text)) for chunk in conversion.chunks]
    assert max(counts) <= 32
    assert counts == [chunk.token_count for chunk in conversion.chunks]
    assert words(text_of(conversion)) == words(PROSE)


def test_a_damaged_cache_file_is_made_again(options, tmp_path, convert, make_pdf):
    path = make_pdf(tmp_path / "damaged.pdf", [PROSE])
    cache = tmp_path / "cache"
    with open_converter(options, cache) as converter:
        first = convert(converter, path)
        for file in cache.rglob("*.json.gz"):
            file.write_bytes(file.read_bytes()[:50])
        second = convert(converter, path)
    assert second.chunks == first.chunks
    assert not second.report.from_cache


def test_several_threads_share_the_workers(converter, tmp_path, convert, make_pdf):
    paths = [make_pdf(tmp_path / f"{number}.pdf", [f"Lamp {number} burns. {PROSE}"]) for number in range(6)]
    with ThreadPoolExecutor(4) as executor:
        conversions = list(executor.map(lambda path: convert(converter, path), paths))
    assert [words(text_of(conversion))[1] for conversion in conversions] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.slow
def test_the_parents_memory_does_not_grow_with_the_number_of_files(options, tmp_path, make_pdf, request_for):
    path = make_pdf(tmp_path / "same.pdf", [PROSE])
    process = psutil.Process()
    with open_converter(options, tmp_path / "cache") as converter:
        request = request_for(path)
        sizes = []
        for number in range(100):
            # Another content hash each time, or the cache would answer.
            converter.convert(replace(request, content_hash=f"{number:064x}"))
            sizes.append(process.memory_info().rss)
    assert max(sizes[50:]) <= 1.05 * max(sizes[:10])


def test_reports_and_options_survive_the_trip_through_json(options):
    report = ConversionReport("pdf", 3, 2, (2,), (1, 3), {"layout": "bundled"}, 1.5, 0.01, {"ligatures": 2})
    assert ConversionReport.from_json(report.to_json()) == report
    assert ConversionOptions.from_json(options.to_json()) == options
