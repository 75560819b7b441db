"""Cached conversions come back as they were, and only for what they were made for."""

from dataclasses import replace

from stackroom.artefacts import Box, ChunkBody
from stackroom.conversion import Conversion, ConversionReport
from stackroom.conversion.cache import ConversionCache, conversion_to_json, read_packed, write_packed

HASH = "ab" * 32
CONVERSION = Conversion(
    chunks=(
        ChunkBody("Lämpchen \ud835", ("A", "B"), (1, 2), (Box(1, 0.5, 1.0, 2.0, 3.25),), ("#/texts/1",), 7, "table"),
        ChunkBody("x"),
    ),
    report=ConversionReport(
        "pdf", 2, 1, (2,), (1,), {"ranges": [{"first": 1}]}, 0.25, 0.01, {"nfkc": 3}, None, "partial"
    ),
    signals={"version": 1, "pdf": {"info": {"Title": "Lamps"}}},
)


def test_a_conversion_comes_back_as_it_was(options, tmp_path):
    cache = ConversionCache(tmp_path, options)
    assert cache.read_conversion(HASH, "pdf") is None
    write_packed(cache.chunks_path(HASH, "pdf"), conversion_to_json(CONVERSION))
    assert cache.read_conversion(HASH, "pdf") == CONVERSION


def test_a_damaged_file_counts_as_absent(tmp_path):
    for number, content in enumerate((b"", b"\x1f\x8b broken", b"plain text")):
        path = tmp_path / str(number)
        path.write_bytes(content)
        assert read_packed(path) is None


def test_a_token_limit_changes_the_chunks_but_not_the_document(options, tmp_path):
    wide, narrow = ConversionCache(tmp_path, options), ConversionCache(tmp_path, replace(options, max_tokens=64))
    assert wide.document_path(HASH, "pdf") == narrow.document_path(HASH, "pdf")
    assert wide.chunks_path(HASH, "pdf") != narrow.chunks_path(HASH, "pdf")


def test_an_ocr_setting_changes_the_document(options, tmp_path):
    always = replace(options, ocr=options.ocr.model_copy(update={"mode": "always"}))
    assert ConversionCache(tmp_path, options).document_path(HASH, "pdf") != ConversionCache(
        tmp_path, always
    ).document_path(HASH, "pdf")


def test_limits_on_time_and_memory_change_nothing(options, tmp_path):
    patient = replace(options, limits=options.limits.model_copy(update={"deadline_seconds": 999.0, "workers": 1}))
    assert ConversionCache(tmp_path, options).chunks_path(HASH, "pdf") == ConversionCache(
        tmp_path, patient
    ).chunks_path(HASH, "pdf")


def test_the_same_bytes_read_as_another_kind_are_another_document(options, tmp_path):
    cache = ConversionCache(tmp_path, options)
    assert cache.document_path(HASH, "markdown") != cache.document_path(HASH, "text")
