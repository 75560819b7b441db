"""Values worked out from many small files, remembered until a file changes.

What is made of all files of a corpus needs a little of each: opening ten thousand files takes seconds, asking for their
size, time stamp and inode takes a twentieth of one. Artefacts are replaced by renaming, so a changed one has another
inode. Every row has a checksum: one that was damaged is worked out again.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from stackroom.errors import StoreError
from stackroom.stores.sqlite_file import connect, transaction

_WAIT_SECONDS = 60.0
_TABLE = """
CREATE TABLE IF NOT EXISTS memo (
    kind TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    value TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (kind, file)
) WITHOUT ROWID
"""

Stamp = tuple[int, int, int]
"""Size, modification time in ns, inode."""


class FileMemo:
    """Remembered values in a SQLite file. It is a cache: without it, every file is read once more."""

    def __init__(self, path: Path) -> None:
        """Remember in ``path``, which is made when it is first needed."""
        self._path = path

    def values(
        self, kind: str, files: Iterable[str], work_out: Callable[[Path], Any], *, anew: bool = False
    ) -> dict[str, Any]:
        """Return the value of every file that is there, in the order given.

        Args:
            kind: what the values are, with a version; those of other files of the kind are forgotten.
            files: paths of the files, in one folder; as text, because making a path takes longer than all the rest.
            work_out: reads a file and returns what JSON can hold; None is left out, and asked for again the next time.
            anew: work out every value, because what is remembered may be wrong.

        Raises:
            StoreError: the memo cannot be read or written.
        """
        stamps = {file: stamp for file in files if (stamp := _stamp(file)) is not None}
        try:
            return self._values(kind, stamps, work_out, anew)
        except StoreError as error:
            cause = error.__cause__
            if not isinstance(cause, sqlite3.DatabaseError) or isinstance(cause, sqlite3.OperationalError):
                raise  # a full disk, or others at work; anything else is a damaged file
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        return self._values(kind, stamps, work_out, anew)

    def _values(
        self, kind: str, stamps: dict[str, Stamp], work_out: Callable[[Path], Any], anew: bool
    ) -> dict[str, Any]:
        with closing(connect(self._path, _TABLE, _WAIT_SECONDS)) as connection:
            stored = _read(connection, self._path, kind)
            unchanged = {} if anew else _unchanged(stored, stamps)
            values: dict[str, Any] = {}
            fresh: list[tuple[Any, ...]] = []
            for file, stamp in stamps.items():
                if file in unchanged:
                    values[file] = unchanged[file]
                elif (value := work_out(Path(file))) is not None:
                    values[file] = value
                    row = (kind, _name(file), *stamp, json.dumps(value))
                    fresh.append((*row, _crc(row)))
            gone = [(kind, name) for name in stored.keys() - set(map(_name, values))]
            if fresh or gone:
                with transaction(connection, self._path, write=True):
                    connection.executemany("INSERT OR REPLACE INTO memo VALUES (?, ?, ?, ?, ?, ?, ?)", fresh)
                    connection.executemany("DELETE FROM memo WHERE kind = ? AND file = ?", gone)
        return values


def _read(connection: sqlite3.Connection, path: Path, kind: str) -> dict[str, tuple[Stamp, str]]:
    """Return stamp and value of every file of a kind; rows that are not as they were written do not count."""
    query = "SELECT file, size, mtime_ns, inode, value, crc FROM memo WHERE kind = ?"
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    with transaction(connection, path, write=False):
        rows = connection.execute(query, (kind,)).fetchall()
    return {row[0]: (row[1:4], row[4]) for row in rows if _crc((kind, *row[:5])) == row[5]}


def _crc(row: tuple[Any, ...]) -> int:
    return zlib.crc32("\0".join(map(str, row)).encode("utf-8", "replace"))


def _unchanged(stored: dict[str, tuple[Stamp, str]], stamps: dict[str, Stamp]) -> dict[str, Any]:
    """Return what is remembered of the files that have not changed."""
    nothing: tuple[Stamp | None, str] = (None, "")
    texts = {
        file: text for file, stamp in stamps.items() for at, text in [stored.get(_name(file), nothing)] if at == stamp
    }
    values = json.loads(f"[{','.join(texts.values())}]")  # one text is read in half the time of ten thousand
    return dict(zip(texts, values, strict=True))


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _stamp(file: str) -> Stamp | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - for every file of a corpus
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
