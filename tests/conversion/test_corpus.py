"""Real hard cases: each ends as it should, and none takes another file with it. Minutes long."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from stackroom.conversion import Conversion

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

HARD = {
    "encrypted": {
        "enc-user-aes256.pdf",
        "pdfjs-issue15893_reduced.pdf",
        "pdfjs-print_protection.pdf",
        "pdfminer-rc4-40.pdf",
        "pdfplumber-password-example.pdf",
        "pypdf-libreoffice-writer-password.pdf",
        "qpdf-enc-long-password.pdf",
        "unstructured-password.pdf",
    },
    "corrupt": {
        "pdfium-trailer_unterminated.pdf",
        "pdfjs-poppler-395-0-fuzzed.pdf",
        "qpdf-fuzz-16214.pdf",
        "qpdf-issue-146.pdf",
        "qpdf-issue-335a.pdf",
        "truncated-half.pdf",
    },
    "empty": {"only-nul-bytes.pdf", "pdfplumber-empty.pdf", "zero-byte.pdf"},
    "no_pages": {"qpdf-zero-pages.pdf"},
    "no_text": {
        "ocrmypdf-blank.pdf",
        "ocrmypdf-livecycle.pdf",
        "ocrmypdf-type3_font_nomapping.pdf",
        "pdfjs-GHOSTSCRIPT-698804-1-fuzzed.pdf",
        "pdfjs-issue11922_reduced.pdf",
        "pdfjs-operator_list_cycle.pdf",
        "qpdf-broken-lzw.pdf",
    },
    "partial": {"pdfjs-Pages-tree-refs.pdf"},
}


def convert_all(converter, request_for, folder):
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    with ThreadPoolExecutor(converter.workers) as executor:
        outcomes = executor.map(lambda path: converter.convert(request_for(path)), paths)
        return {path.name: outcome for path, outcome in zip(paths, outcomes, strict=True)}


def test_every_hard_file_ends_as_it_should(converter, request_for, shared):
    outcomes = convert_all(converter, request_for, shared / "corpus" / "hard")
    found = {}
    for name, outcome in outcomes.items():
        end = outcome.report.state if isinstance(outcome, Conversion) else outcome.reason.value
        found.setdefault(end, set()).add(name)
    searchable = found.pop("complete")
    assert found == HARD
    assert len(searchable) == 72 - sum(map(len, HARD.values()))
    assert outcomes["pages-5000.pdf"].report.pages_read == 5000


def test_all_papers_are_read_and_hardly_a_word_is_lost(converter, request_for, shared):
    outcomes = convert_all(converter, request_for, shared / "corpus" / "papers")
    assert len(outcomes) == 27
    lost = sorted(outcome.report.lost_text_ratio for outcome in outcomes.values())
    assert lost[13] <= 0.01
    assert lost[-1] <= 0.05
    assert {outcome.report.state for outcome in outcomes.values()} == {"complete"}
    assert 1 in outcomes["f1000-3-305-garbled-textlayer.pdf"].report.ocr_pages
