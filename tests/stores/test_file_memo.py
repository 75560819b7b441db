import contextlib
import os
import sqlite3
from pathlib import Path

import pytest

from stackroom.errors import StoreError
from stackroom.stores.file_memo import FileMemo


@pytest.fixture
def files(tmp_path) -> list[str]:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("one", "two", "three"):
        (folder / name).write_text(name)
    return [str(folder / name) for name in ("two", "one", "three")]


class Reader:
    """Reads files and remembers which."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, path: Path) -> dict[str, str] | None:
        self.read.append(path.name)
        text = path.read_text()
        return {"text": text} if text else None


def replace(file: str, text: str) -> None:
    """Replace a file as artefacts are replaced, with the same size and time stamp."""
    path, seen = Path(file), Path(file).stat()
    path.with_name("new").write_text(text)
    os.utime(path.with_name("new"), ns=(seen.st_atime_ns, seen.st_mtime_ns))
    path.with_name("new").replace(path)


def test_values_come_in_the_order_of_the_files_and_are_worked_out_once(tmp_path, files):
    memo, reader = FileMemo(tmp_path / "deep" / "memo.sqlite"), Reader()
    wanted = [(file, {"text": Path(file).name}) for file in files]
    assert list(memo.values("text/1", files, reader).items()) == wanted
    assert list(FileMemo(tmp_path / "deep" / "memo.sqlite").values("text/1", files, reader).items()) == wanted
    assert reader.read == ["two", "one", "three"]


def test_a_replaced_file_is_read_again_even_with_the_same_size_and_time_stamp(tmp_path, files):
    memo, reader = FileMemo(tmp_path / "memo.sqlite"), Reader()
    memo.values("text/1", files, reader)
    replace(files[1], "eno")
    assert memo.values("text/1", files, reader)[files[1]] == {"text": "eno"}
    assert reader.read[3:] == ["one"]


def test_files_that_are_gone_or_say_nothing_are_left_out_and_looked_at_again(tmp_path, files):
    memo, reader = FileMemo(tmp_path / "memo.sqlite"), Reader()
    memo.values("text/1", files, reader)
    Path(files[0]).unlink()
    replace(files[1], "")
    assert memo.values("text/1", files, reader) == {files[2]: {"text": "three"}}
    Path(files[0]).write_text("two")
    assert memo.values("text/1", files, reader) == {files[0]: {"text": "two"}, files[2]: {"text": "three"}}
    assert reader.read[3:] == ["one", "two", "one"]


def test_kinds_are_remembered_beside_each_other(tmp_path, files):
    memo, reader = FileMemo(tmp_path / "memo.sqlite"), Reader()
    memo.values("text/1", files, reader)
    assert memo.values("length/1", files, lambda path: len(path.read_text())) == dict(
        zip(files, [3, 3, 5], strict=True)
    )
    memo.values("text/1", files, reader)
    memo.values("text/2", files, reader)
    assert reader.read == ["two", "one", "three"] * 2


def test_made_anew_nothing_remembered_counts(tmp_path, files):
    memo = FileMemo(tmp_path / "memo.sqlite")
    memo.values("text/1", files, lambda _: "wrong")
    reader = Reader()
    assert memo.values("text/1", files, reader, anew=True)[files[2]] == {"text": "three"}
    assert memo.values("text/1", files, reader)[files[2]] == {"text": "three"}
    assert reader.read == ["two", "one", "three"]


@pytest.mark.parametrize("damage", [b"not a database, but a text of some length" * 40, b"SQLite format 3\x00rest"])
def test_a_damaged_memo_is_made_anew(tmp_path, files, damage):
    path = tmp_path / "memo.sqlite"
    FileMemo(path).values("text/1", files, Reader())
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(damage)
    reader = Reader()
    assert FileMemo(path).values("text/1", files, reader)[files[0]] == {"text": "two"}
    assert reader.read == ["two", "one", "three"]


def test_a_memo_that_cannot_be_written_is_an_error_that_names_it(tmp_path, files):
    (tmp_path / "memo.sqlite").mkdir()
    with pytest.raises(StoreError, match=r"memo\.sqlite cannot be opened"):
        FileMemo(tmp_path / "memo.sqlite").values("text/1", files, Reader())


@pytest.mark.parametrize(
    "change",
    ["value = '{'", "value = x'ff'", "value = CAST(x'22ff22' AS TEXT)", 'value = \'{"text": "won"}\'', "crc = 0"],
)
def test_rows_that_were_altered_are_worked_out_again(tmp_path, files, change):
    memo, reader = FileMemo(tmp_path / "memo.sqlite"), Reader()
    memo.values("text/1", files, reader)
    with contextlib.closing(sqlite3.connect(tmp_path / "memo.sqlite")) as connection, connection:
        connection.execute(f"UPDATE memo SET {change} WHERE file = 'one'")
    for _ in range(2):
        assert memo.values("text/1", files, reader) == {file: {"text": Path(file).name} for file in files}
    assert reader.read[3:] == ["one"]


def test_any_text_is_remembered(tmp_path, files):
    memo = FileMemo(tmp_path / "memo.sqlite")
    wanted = dict.fromkeys(files, "lone �, nul \x00, ünï")
    assert memo.values("odd/1", files, wanted.get) == {}
    assert memo.values("odd/1", files, lambda path: wanted[str(path)]) == wanted
    assert memo.values("odd/1", files, Reader()) == wanted
