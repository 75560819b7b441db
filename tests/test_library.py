"""The sample library: what it must contain so that a newcomer, and our own tests, meet every kind of document."""

import json
import subprocess
import sys
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from stackroom.metadata_map import load_curated

REPOSITORY = Path(__file__).resolve().parent.parent
LIBRARY = REPOSITORY / "library"
BUILD = REPOSITORY / "tools" / "library" / "build.py"
QUERIES = json.loads((REPOSITORY / "tests" / "library_queries.json").read_text(encoding="utf-8"))
CURATED = "metadata-map.json"
FILES = sorted(path.relative_to(LIBRARY).as_posix() for path in LIBRARY.rglob("*.*") if path.name != CURATED)


def characters(path: Path) -> list[int]:
    """Return the number of characters in the text layer of each page."""
    with pdfium.PdfDocument(path) as document:
        return [len(page.get_textpage().get_text_range()) for page in document]


def test_the_library_is_small_and_of_many_kinds():
    assert len(FILES) >= 8
    assert {Path(name).suffix for name in FILES} == {".pdf", ".docx", ".html", ".md", ".pptx", ".xlsx"}
    assert sum((LIBRARY / name).stat().st_size for name in FILES) < 3_000_000


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".pdf")])
def test_every_pdf_names_its_title_and_its_author(name):
    with pdfium.PdfDocument(LIBRARY / name) as document:
        about = document.get_metadata_dict()
    assert len(about["Title"]) > 10
    assert " " in about["Author"]
    assert about["CreationDate"].startswith(("D:2025", "D:2026"))


def test_one_pdf_is_a_scan_and_one_mixes_text_with_a_scanned_page():
    assert characters(LIBRARY / "guides/damaged-files.pdf") == [0]
    *text, scanned = characters(LIBRARY / "guides/reading-pages-by-eye.pdf")
    assert min(text) > 100
    assert scanned == 0


def test_the_two_column_paper_has_a_table_and_a_figure():
    with pdfium.PdfDocument(LIBRARY / "keeping-stores-in-step.pdf") as document:
        text = "".join(page.get_textpage().get_text_range() for page in document)
    assert "Table 1." in text
    assert "Figure 1." in text


def test_the_curated_map_speaks_of_documents_that_exist():
    curated = load_curated(LIBRARY)
    assert curated.problems == ()
    assert set(curated.entries) == {
        "guides/chunking.md",
        "guides/damaged-files.pdf",
        "reference/filters.html",
        "reference/troubleshooting.md",
    }


def test_every_query_names_a_document_of_the_library():
    assert len(QUERIES) >= 5
    assert {entry["source_id"] for entry in QUERIES} <= set(FILES)
    assert len({entry["query"] for entry in QUERIES}) == len(QUERIES)


def test_the_generator_writes_the_committed_files_and_the_same_bytes_twice(tmp_path):
    """Otherwise nobody could correct a text without every file changing."""
    for copy in ("one", "two"):
        subprocess.run([sys.executable, str(BUILD), str(tmp_path / copy)], check=True, capture_output=True)
    made = sorted(path.relative_to(tmp_path / "one").as_posix() for path in (tmp_path / "one").rglob("*.*"))
    assert made == sorted([*FILES, CURATED])
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
        if name.endswith((".md", ".html")):
            assert (tmp_path / "one" / name).read_bytes() == (LIBRARY / name).read_bytes(), name
        if name.endswith(".pdf"):
            assert characters(tmp_path / "one" / name) == characters(LIBRARY / name), name
