"""What the next ingestion tries again although file and settings are the same: lost stores, files with a password."""

import io

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from stackroom.stages.reconcile import plan_corpus

PASSWORDS = "    passwords: {'*.pdf': NOTES_PASSWORD}\n"


def locked_pdf() -> bytes:
    made = io.BytesIO()
    canvas = Canvas(made, encrypt=StandardEncryption("swallow"))
    canvas.drawString(72, 720, "The heron stands in the shallow water and waits for a fish to pass.")
    canvas.save()
    return made.getvalue()


@pytest.fixture
def locked(project, monkeypatch):
    monkeypatch.delenv("NOTES_PASSWORD", raising=False)
    project.settings(PASSWORDS)
    (project.folder / "locked.pdf").write_bytes(locked_pdf())
    return project


def to_do(project, **options):
    with project.bench() as bench:
        return plan_corpus(bench, **options).process


def test_a_store_that_was_lost_is_filled_by_the_next_ingestion(project):
    project.write("a.md", "# A\n\nThe note speaks of herons.")
    project.ingest()
    assert to_do(project, ask_again=True) == ()
    for path in (project.root / "state").glob("vectors.db*"):
        path.unlink()
    assert to_do(project) == ()  # the sensor opens no store
    project.ingest(ask_again=True)
    with project.bench() as bench:
        assert [row.source_id for row in bench.store.scan()] == ["a.md"]
    assert to_do(project, ask_again=True) == ()


def test_a_password_is_tried_as_soon_as_there_is_one(locked, monkeypatch):
    locked.ingest()
    assert locked.states() == {"locked.pdf": ("quarantined", "encrypted")}
    with locked.bench() as bench:
        assert "set the environment variable NOTES_PASSWORD" in bench.ledger.sources("notes")[0].remedy
    assert to_do(locked, ask_again=True) == ()

    monkeypatch.setenv("NOTES_PASSWORD", "starling")
    locked.ingest(ask_again=True)
    with locked.bench() as bench:
        assert "in the environment variable NOTES_PASSWORD does not open it" in bench.ledger.sources("notes")[0].remedy

    monkeypatch.setenv("NOTES_PASSWORD", "swallow")
    locked.ingest(ask_again=True)
    assert locked.states() == {"locked.pdf": ("searchable", None)}
    assert to_do(locked, ask_again=True) == ()


def test_a_shell_without_the_password_does_not_withdraw_what_was_opened_before(locked, monkeypatch):
    monkeypatch.setenv("NOTES_PASSWORD", "swallow")
    locked.ingest()
    monkeypatch.delenv("NOTES_PASSWORD")
    assert to_do(locked, ask_again=True) == ()
    with locked.bench() as bench:
        assert bench.store.count("locked.pdf") == 1
