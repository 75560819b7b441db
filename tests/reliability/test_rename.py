"""A folder of 200 files under another name, and the same file twice: nothing is converted or embedded again."""

import shutil

import pytest

from stackroom.stages.bench import FileWork
from stackroom.stages.source_document import run as describe
from tests.reliability.histories import Library, assert_same, fresh_build, picture, reconcile


def text(number: int) -> str:
    return f"# Note {number}\n\n" + "\n\n".join(f"Sentence {n} of note {number} speaks of herons." for n in range(20))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_renamed_folder_of_two_hundred_files_converts_and_embeds_nothing(tmp_path, engines):
    library = Library(tmp_path / "now", engines[0], "sqlite:{root}/a.db")
    for number in range(200):
        library.write(f"birds/part{number % 4}/note{number:03}.md", text(number))
    reconcile(library)
    rows = len(picture(library).rows)
    assert rows == 200
    before = len(engines[0].converted), engines[0].embedded

    (library.folder / "birds").rename(library.folder / "feathered friends")
    planned = reconcile(library)
    assert (len(planned.process), len(planned.delete)) == (200, 200)
    assert (len(engines[0].converted), engines[0].embedded) == before
    assert len(picture(library).rows) == rows
    (tmp_path / "fresh").mkdir()
    assert_same(picture(library), picture(fresh_build(library, tmp_path / "fresh", engines[1], "sqlite:{root}/a.db")))


def test_the_same_file_twice_is_converted_once_and_each_says_where_the_other_is(tmp_path, engines):
    library = Library(tmp_path, engines[0], "sqlite:{root}/a.db")
    library.write("heron.md", "# Twice\n\nThis very text lies in the folder twice, and once more below it.")
    for copy in ("copy.md", "below/heron.md"):
        (library.folder / copy).parent.mkdir(exist_ok=True)
        shutil.copy(library.folder / "heron.md", library.folder / copy)
    before = len(engines[0].converted), engines[0].embedded
    reconcile(library)
    assert (len(engines[0].converted) - before[0], engines[0].embedded - before[1]) == (1, 1)
    assert len(picture(library).rows) == 3
    with library.bench() as bench:
        assert describe(FileWork(bench, "heron.md")).summary["duplicates"] == ["below/heron.md", "copy.md"]
