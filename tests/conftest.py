"""Fixtures shared by all tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.project import Project

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real papers, scans and hard files kept outside the repository."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "corpus").is_dir():
        pytest.skip("the collection of real documents (../shared/corpus) is not on this machine")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Iterator["Project"]:
    """Return an empty project with one corpus, `notes`, and a Dagster instance that keeps what happened."""
    # Dagster takes seconds to import; only tests that use a project pay for it.
    import dagster as dg

    from tests.project import Project

    (tmp_path / "docs").mkdir()
    (tmp_path / "home").mkdir()
    with dg.instance_for_test(temp_dir=str(tmp_path / "home")) as instance:
        made = Project(tmp_path, instance)
        made.settings()
        yield made
