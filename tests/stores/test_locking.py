"""One writer or many readers of a folder."""

import fcntl
import os
import stat
import time

import pytest

from stackroom.errors import StoreError, StoreLockedError
from stackroom.stores import locking
from stackroom.stores.locking import FolderLock


@pytest.fixture
def two(tmp_path):
    """Two locks of one folder, as two processes have them (a lock belongs to the open file, not the process)."""
    locks = FolderLock(tmp_path / "lock", "the folder"), FolderLock(tmp_path / "lock", "the folder")
    yield locks
    for lock in locks:
        lock.close()


def test_a_second_writer_is_refused_and_told_who_is_writing(two):
    with (
        two[0].writing(0),
        pytest.raises(StoreLockedError, match=rf"the folder is being written by process {os.getpid()} on"),
    ):
        two[1].writing(0).__enter__()
    with two[1].writing(0):
        pass


def test_a_writer_keeps_readers_out_and_readers_keep_a_writer_out(two, monkeypatch):
    monkeypatch.setattr(locking, "_READERS_WAIT_SECONDS", 0.1)
    with two[0].writing(0), pytest.raises(StoreLockedError, match="is being written"):
        two[1].reading(0).__enter__()
    with two[0].reading(0), two[1].reading(0):
        pass
    with two[0].reading(0), pytest.raises(StoreLockedError, match="is being read by another process"):
        two[1].writing(0).__enter__()


def test_a_writer_waits_for_readers_even_if_it_does_not_wait_for_writers(two):
    """Failing fast is meant for the other ingestion, not for a search that takes a few milliseconds."""
    with two[0].reading(0):
        fcntl.flock(two[0]._descriptor, fcntl.LOCK_UN)  # the reader ends while the writer waits
        began = time.monotonic()
        with two[1].writing(0):
            assert time.monotonic() - began < 1


def test_locks_nest_and_are_released_with_the_outermost(two):
    with two[0].reading(0), two[0].writing(0), two[0].reading(0), two[0].writing(0):
        pass
    with two[0].writing(0):
        with two[0].reading(0):
            pass
        with pytest.raises(StoreLockedError):
            two[1].reading(0).__enter__()
    with two[1].writing(0):
        pass


def test_a_failing_block_releases_the_lock(two):
    with pytest.raises(ZeroDivisionError), two[0].writing(0):
        raise ZeroDivisionError
    with two[1].writing(0):
        pass


def test_a_read_only_folder_can_be_read_and_not_written(tmp_path, monkeypatch):
    def refuse(*arguments, **more):
        raise PermissionError

    monkeypatch.setattr(locking.os, "open", refuse)
    lock = FolderLock(tmp_path / "lock", "the folder")
    with lock.reading(0):
        pass
    with pytest.raises(StoreError, match=r"the folder cannot be written: .*lock cannot be made; is it read-only\?"):
        lock.writing(0).__enter__()


def test_the_lock_file_is_readable_by_others(two, tmp_path):
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) & 0o444 == 0o444
