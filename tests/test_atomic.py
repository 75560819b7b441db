"""A crash leaves the old or the new content; a lock names its holder."""

import os
import subprocess
import sys

import pytest

from stackroom.atomic import atomic_write, write_text, writer_lock
from stackroom.errors import StoreLockedError


def test_an_interrupted_write_leaves_the_old_content_and_no_temporary_file(tmp_path):
    target = tmp_path / "a.json"
    write_text(target, "old")

    def write_half() -> None:
        with atomic_write(target) as handle:
            handle.write(b"half of the new con")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_finished_write_replaces_the_content(tmp_path):
    target = tmp_path / "deep" / "a.json"
    write_text(target, "old")
    write_text(target, "new")
    assert target.read_text() == "new"


def test_a_new_file_has_the_permissions_of_any_other_and_a_replaced_one_keeps_its_own(tmp_path):
    """A map that only its writer can read is of no use to the colleagues who curate it too."""
    before = os.umask(0o027)
    try:
        for name, private in (("map.json", False), ("stores.json", True)):
            write_text(tmp_path / name, "{}", private=private)
        (tmp_path / "shared.json").touch(mode=0o666)
        (tmp_path / "shared.json").chmod(0o664)
        (tmp_path / "link.json").symlink_to("shared.json")
        write_text(tmp_path / "link.json", "new")
    finally:
        os.umask(before)
    modes = {path.name: oct(path.lstat().st_mode & 0o777) for path in tmp_path.iterdir() if not path.is_symlink()}
    assert modes == {"map.json": "0o640", "stores.json": "0o600", "shared.json": "0o664"}
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "shared.json").read_text() == "new"


def test_a_held_lock_names_its_holder(tmp_path):
    lock = tmp_path / "writer.lock"
    code = (
        "import sys, pathlib\n"
        "from stackroom.atomic import writer_lock\n"
        "with writer_lock(pathlib.Path(sys.argv[1]), 'the store'):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        named = rf"the store is being written by process {holder.pid} on "
        with pytest.raises(StoreLockedError, match=named), writer_lock(lock, "the store"):
            pass
        holder.kill()
        holder.wait()
        with writer_lock(lock, "the store", wait_seconds=5):
            pass
    finally:
        holder.kill()
        holder.communicate()
