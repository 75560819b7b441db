"""A file that is written while it is being read is never kept under the name of its former content."""

from stackroom.outcome import Failed
from stackroom.stages import chunks, ocr_classification, source_document
from stackroom.stages.bench import FileWork
from tests.reliability.histories import Library, picture, reconcile


def test_what_is_read_of_a_file_after_it_changed_is_not_kept_as_its_former_content(tmp_path, engines):
    library = Library(tmp_path, engines[0], "sqlite:{root}/a.db")
    former, latter = "# Lamp\n\nThe former text of the lamp.", "# Lamp\n\nThe latter text of the lamp, a longer one."
    library.write("lamp.md", former)
    with library.bench() as bench:
        bench.ledger.observe(bench.name, bench.scan)
        work = FileWork(bench, "lamp.md")
        source_document.run(work)
        ocr_classification.run(work)
        library.write("lamp.md", latter)
        failed = chunks.run(work)
    assert isinstance(failed, Failed)
    assert failed.retryable
    assert failed.message == "lamp.md changed while it was being read; the next run reads it again"

    reconcile(library)
    assert [text for _, text, _ in picture(library).rows.values()] == ["The latter text of the lamp, a longer one."]
    library.write("lamp.md", former)
    reconcile(library)
    assert [text for _, text, _ in picture(library).rows.values()] == ["The former text of the lamp."]
