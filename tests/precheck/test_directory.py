"""The pre-check of a folder: report, and copies into ``ocr`` and ``no-ocr``."""

import json
import os
import shutil

import pytest

from stackroom.errors import SourceError
from stackroom.outcome import Failed, ReasonCode
from stackroom.precheck import (
    NO_OCR_DIR_NAME,
    OCR_DIR_NAME,
    PdfClassification,
    classify_directory,
    format_precheck_report,
    organise_directory,
)
from stackroom.sources import scan_folder

TEXT = PdfClassification(2, 0, 0, 2100, needs_ocr=False, reason="text")
SCAN = PdfClassification(3, 3, 0, 12, needs_ocr=True, reason="scan")


def files_below(folder):
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    )


@pytest.fixture
def library(tmp_path, make_pdf):
    """A folder with a text PDF, a scan in a sub-folder, a broken PDF, notes, and things that are no documents."""
    folder = tmp_path / "library"
    (folder / "sub").mkdir(parents=True)
    (folder / ".klea-cache").mkdir()
    shutil.copy(make_pdf(make_pdf.words(400), name="t.pdf"), folder / "text.pdf")
    shutil.copy(make_pdf(make_pdf.picture(), name="s.pdf"), folder / "sub" / "scan.PDF")
    (folder / "sub" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / "notes.md").write_text("# Notes")
    (folder / ".klea-cache" / "x.pkl").write_bytes(b"x")
    (folder / "~$notes.docx").write_bytes(b"x")
    return folder


def test_pdfs_of_a_folder_are_classified_in_order(library):
    steps = []
    results = classify_directory(library, progress=lambda number, total: steps.append((number, total)))
    assert [path.relative_to(library).as_posix() for path in results] == ["sub/broken.pdf", "sub/scan.PDF", "text.pdf"]
    broken, scan, text = results.values()
    assert isinstance(broken, Failed)
    assert broken.reason is ReasonCode.CORRUPT
    assert (scan.needs_ocr, text.needs_ocr) == (True, False)
    assert steps == [(0, 3), (1, 3), (2, 3)]


def test_the_report_has_totals_and_a_line_per_pdf_by_name(tmp_path):
    failed = Failed(ReasonCode.ENCRYPTED, "c.pdf needs a password")
    report = format_precheck_report(
        {tmp_path / "b.pdf": SCAN, tmp_path / "z" / "a.pdf": TEXT, tmp_path / "c.pdf": failed}
    )
    assert report.splitlines() == [
        "3 PDFs: 2 OCR, 1 no-OCR",
        f"no-OCR  {'a.pdf':<40}  2 pages, 0 image pages, 2100 characters",
        f"OCR     {'b.pdf':<40}  3 pages, 3 image pages, 12 characters",
        f"OCR     {'c.pdf':<40}  cannot be read (encrypted): c.pdf needs a password",
    ]
    assert format_precheck_report({}) == "0 PDFs: 0 OCR, 0 no-OCR"


def test_files_are_sorted_by_need_of_ocr_and_keep_their_folders(library):
    before = {path: path.read_bytes() for path in library.rglob("*") if path.is_file()}
    ocr, no_ocr = organise_directory(library)
    assert (ocr, no_ocr) == (library / OCR_DIR_NAME, library / NO_OCR_DIR_NAME)
    assert files_below(ocr) == ["sub/broken.pdf", "sub/scan.PDF"]
    assert files_below(no_ocr) == ["notes.md", "text.pdf"]
    assert {path: path.read_bytes() for path in before} == before
    assert (no_ocr / "text.pdf").stat().st_mtime_ns == (library / "text.pdf").stat().st_mtime_ns


def test_the_reference_vectors_of_sides_hold(shared, tmp_path):
    vectors = json.loads((shared / "vectors" / "stores.json").read_text(encoding="utf-8"))["vectors"]
    checked = 0
    for vector in vectors:
        if vector["function"] != "organise_directory":
            continue
        folder = tmp_path / vector["id"]
        file = folder / vector["input"]["file"]
        file.parent.mkdir(parents=True)
        file.write_bytes(b"content")
        known = {"text": {file: TEXT}, "scan": {file: SCAN}}.get(vector["input"]["classification"], {})
        organise_directory(folder, known)
        copies = [name for name in files_below(folder) if name.startswith(("ocr/", "no-ocr/"))]
        expected = vector["expected"]
        if expected == "no-ocr/d.PDF":
            expected = "no-ocr/sub/d.PDF"  # folders are kept here: two files of one name must both survive
        if vector["input"]["file"].startswith("ocr/"):
            expected = vector["input"]["file"]  # what lies there is left alone, not copied a second time
        assert copies == ([] if expected is None else [expected]), vector["id"]
        checked += 1
    assert checked == 6


def test_two_files_of_one_name_both_survive(tmp_path):
    for side, content in (("a", b"1"), ("b", b"22")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "paper.pdf").write_bytes(content)
    known = {tmp_path / "a" / "paper.pdf": TEXT, tmp_path / "b" / "paper.pdf": SCAN}
    ocr, no_ocr = organise_directory(tmp_path, known)
    assert (no_ocr / "a" / "paper.pdf").read_bytes() == b"1"
    assert (ocr / "b" / "paper.pdf").read_bytes() == b"22"


def test_running_again_changes_nothing(library):
    ocr, no_ocr = organise_directory(library)
    copies = [path for folder in (ocr, no_ocr) for path in folder.rglob("*.*") if not path.name.startswith(".")]
    inodes = {path: path.stat().st_ino for path in copies}
    organise_directory(library)
    assert {path: path.stat().st_ino for path in copies} == inodes
    assert files_below(ocr) == ["sub/broken.pdf", "sub/scan.PDF"]


def test_a_change_of_the_same_size_is_copied_again(library):
    _, no_ocr = organise_directory(library)
    (library / "notes.md").write_text("# Other")
    os.utime(library / "notes.md", (1, 1))
    organise_directory(library)
    assert (no_ocr / "notes.md").read_text() == "# Other"


def test_copies_follow_their_sources(library):
    known = classify_directory(library)
    ocr, no_ocr = organise_directory(library, known)
    (ocr / "mine.txt").write_text("put here by hand")
    (library / "notes.md").unlink()
    organise_directory(library, {**known, library / "sub" / "scan.PDF": TEXT})
    assert files_below(ocr) == ["mine.txt", "sub/broken.pdf"]
    assert files_below(no_ocr) == ["sub/scan.PDF", "text.pdf"]


def test_a_marker_that_points_outside_deletes_nothing(library, tmp_path):
    ocr, _ = organise_directory(library)
    precious = tmp_path / "precious.txt"
    precious.write_text("x")
    (ocr / ".stackroom-organised.json").write_text(json.dumps({"files": ["../../precious.txt", str(precious)]}))
    organise_directory(library)
    assert precious.exists()


def test_the_copies_are_no_sources_of_a_corpus(library):
    before = [file.source_id for file in scan_folder(library).files]
    organise_directory(library)
    assert [file.source_id for file in scan_folder(library).files] == before


def test_long_names_in_any_script_are_copied(tmp_path):
    name = "文" * 80 + ".md"  # 243 bytes; the limit of most file systems is 255
    (tmp_path / name).write_text("x")
    _, no_ocr = organise_directory(tmp_path)
    assert files_below(no_ocr) == [name]


def test_a_missing_folder_is_an_error_that_names_it(tmp_path):
    with pytest.raises(SourceError, match="nowhere is not an existing folder"):
        organise_directory(tmp_path / "nowhere")
