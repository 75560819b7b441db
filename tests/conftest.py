"""Fixtures shared by all tests."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real papers, scans and hard files kept outside the repository."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "corpus").is_dir():
        pytest.skip("the collection of real documents (../shared/corpus) is not on this machine")
    return folder
