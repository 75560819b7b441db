"""`stackroom classify` and `stackroom organise` on a folder that is no corpus."""

import json
import shutil
from pathlib import Path

import pytest

from stackroom.cli import main

LIBRARY = Path(__file__).resolve().parents[2] / "library"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A scan, a PDF of text in a folder below, an empty PDF, and a note; the current folder holds no project."""
    folder = tmp_path / "mixed"
    (folder / "below").mkdir(parents=True)
    shutil.copy(LIBRARY / "guides" / "damaged-files.pdf", folder)
    shutil.copy(LIBRARY / "guides" / "hybrid-retrieval.pdf", folder / "below")
    (folder / "empty.pdf").touch()
    (folder / "note.md").write_text("A note.")
    monkeypatch.delenv("STACKROOM_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


def test_every_pdf_is_judged_and_a_broken_one_gives_two(folder, capsys):
    assert main(["classify", str(folder), "--json"]) == 2
    files = {file["path"]: file for file in json.loads(capsys.readouterr().out)["files"]}
    assert list(files) == ["below/hybrid-retrieval.pdf", "damaged-files.pdf", "empty.pdf"]
    assert (files["below/hybrid-retrieval.pdf"]["needs_ocr"], files["damaged-files.pdf"]["needs_ocr"]) == (False, True)
    assert files["damaged-files.pdf"]["page_statistics"][0]["decision"] == "ocr"
    assert files["damaged-files.pdf"]["error"] is None
    assert files["empty.pdf"]["error"]["reason"] == "empty"
    assert files["empty.pdf"]["needs_ocr"] is None


def test_the_reason_for_every_page_is_shown_on_request(folder, capsys):
    main(["classify", str(folder), "--pages"])
    out = capsys.readouterr().out
    assert "3 PDFs: 2 OCR, 1 no-OCR" in out
    assert "1  ocr    no text; a picture covers 100% of the page" in out


def test_files_are_copied_to_the_side_they_belong_to_and_stay_where_they_are(folder, capsys):
    assert main(["organise", str(folder)]) == 2
    assert str(folder / "no-ocr") in capsys.readouterr().out
    copies = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert copies >= {
        "ocr/damaged-files.pdf",
        "ocr/empty.pdf",
        "no-ocr/below/hybrid-retrieval.pdf",
        "no-ocr/note.md",
        "damaged-files.pdf",
        "below/hybrid-retrieval.pdf",
    }


def test_a_folder_that_does_not_exist_could_not_be_looked_through(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["classify", "nowhere"]) == 1
    assert "nowhere is not an existing folder" in capsys.readouterr().err
