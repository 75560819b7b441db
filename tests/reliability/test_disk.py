"""A disk that is full, or that may not be written, costs nothing but the time until it can be written again."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackroom.space import RESERVE_MB
from tests.reliability.histories import assert_same
from tests.reliability.processes import LAUNCH, Checkout

TEXT = "# Note {number}\n\nThe note {number} speaks of herons. " + "Herons wait in shallow water. " * 20


def mount(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["mount", *arguments], capture_output=True, text=True)


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """Mount a disk of 100 MB for the state folder."""
    folder = tmp_path / "checkout" / "state"
    folder.mkdir(parents=True)
    mounted = mount("-t", "tmpfs", "-o", "size=100m", "tmpfs", str(folder))
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def checkout(small_disk) -> Checkout:
    """Four notes, ingested into a SQLite store on the small disk."""
    made = Checkout.make(small_disk.parent, store=f"sqlite:{small_disk}/vectors.db")
    write(made, range(4))
    assert made.run("ingest").returncode == 0
    return made


def write(checkout: Checkout, numbers) -> None:
    for number in numbers:
        (checkout.folder / f"note{number:02}.md").write_text(TEXT.format(number=number))


def leave_free(folder: Path, megabytes: float) -> Path:
    """Fill a disk up to so much."""
    ballast = folder / "ballast"
    ballast.unlink(missing_ok=True)
    wanted = int(shutil.disk_usage(folder).free - megabytes * 2**20)
    with ballast.open("wb") as file:
        try:
            while wanted > 0:
                wanted -= file.write(b"\0" * min(1 << 16, wanted))
        except OSError:
            assert megabytes == 0
    return ballast


def searchable(checkout: Checkout) -> None:
    """Fail unless both sides of the search answer from what was stored before."""
    found = checkout.run("search", "herons", "--json")
    assert found.returncode == 0, found.stderr
    assert "left out" not in found.stderr
    assert all(f"note{number:02}.md" in found.stdout for number in range(4))


def fresh(checkout: Checkout, root: Path) -> Checkout:
    """Return the same documents in a project whose disk never was full."""
    made = Checkout.make(root, store=f"sqlite:{root}/state/vectors.db")
    for path in checkout.folder.iterdir():
        (made.folder / path.name).write_bytes(path.read_bytes())
    assert made.run("ingest").returncode == 0
    return made


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_disk_that_fills_up_is_named_and_what_is_missing_is_done_once_there_is_space(checkout, tmp_path):
    before = checkout.picture()
    write(checkout, range(4, 40))
    ballast = leave_free(checkout.state, 0)
    said = checkout.run("ingest")
    assert said.returncode == 1
    assert f"{checkout.state} cannot be written: only 0 MB are free on its disk" in said.stderr.replace("\n", " ")
    assert "free some space and ingest again" in said.stderr.replace("\n", " ")
    assert "Traceback" not in said.stderr
    searchable(checkout)
    status = checkout.run("status")
    assert "4 searchable" in status.stdout, status.stderr

    # A little more than the reserve: the run begins, and stops before the disk is full.
    leave_free(checkout.state, RESERVE_MB + 3)
    events = checkout.ingest()
    done = next(event for event in events if event["event"] == "done")
    assert 4 <= done["searchable"] < 40
    assert done["pending"] == 40 - done["searchable"]
    assert done["quarantined"] == 0
    assert {(file["state"], file["reason"]) for file in done["failed"]} == {("pending", "cannot_write")}
    assert all(str(checkout.state) in file["message"] for file in done["failed"])
    searchable(checkout)
    assert set(before.rows) <= set(checkout.picture().rows)

    ballast.unlink()
    assert checkout.run("ingest").returncode == 0
    assert_same(checkout.picture(), fresh(checkout, tmp_path / "fresh").picture())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_disk_filled_by_somebody_else_in_the_middle_of_a_run_leaves_no_file_quarantined(checkout, tmp_path):
    write(checkout, range(4, 16))
    process = checkout.start(LAUNCH)
    for line in process.stdout:
        if b'"file"' in line:
            break
    ballast = leave_free(checkout.state, 0)
    rest = process.stdout.read().decode()
    process.wait()
    assert process.returncode in (1, 2)
    assert "cannot be written" in rest
    searchable(checkout)
    ballast.unlink()
    assert checkout.run("ingest").returncode == 0
    assert_same(checkout.picture(), fresh(checkout, tmp_path / "fresh").picture())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_read_only_state_folder_is_named_and_still_searched(checkout):
    write(checkout, range(4, 6))
    assert mount("-o", "remount,ro", str(checkout.state)).returncode == 0
    said = checkout.run("ingest")
    assert said.returncode == 1
    message = said.stderr.replace("\n", " ")
    assert f"{checkout.state} cannot be written (Read-only file system)" in message
    assert "make it writable for this user, or name another state folder in STACKROOM_STATE" in message
    assert "Traceback" not in said.stderr
    searchable(checkout)
    assert "4 searchable" in checkout.run("status").stdout
    assert mount("-o", "remount,rw", str(checkout.state)).returncode == 0
    assert checkout.run("ingest").returncode == 0
    assert len(checkout.picture().states) == 6


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_documents_are_only_read_so_their_folder_may_be_read_only(checkout):
    """The folder of documents is a mount that refuses every write."""
    assert mount("--bind", str(checkout.folder), str(checkout.folder)).returncode == 0
    try:
        write(checkout, range(4, 6))
        assert mount("-o", "remount,ro,bind", str(checkout.folder)).returncode == 0
        assert checkout.run("ingest").returncode == 0
        assert len(checkout.picture().states) == 6
    finally:
        subprocess.run(["umount", "--lazy", str(checkout.folder)], check=True)
