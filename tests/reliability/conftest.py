"""Engines and servers shared by the tests of reliability."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.histories import Engines
from tests.stores.conftest import chroma_address, postgres_address

__all__ = ["chroma_address", "postgres_address"]


@pytest.fixture(scope="session")
def engines() -> Iterator[tuple[Engines, Engines]]:
    """Engines for histories, and others for the fresh builds they are compared with."""
    with tempfile.TemporaryDirectory(prefix="stackroom-engines-") as folder:
        both = Engines(Path(folder) / "history"), Engines(Path(folder) / "fresh")
        yield both
        for one in both:
            one.close()
