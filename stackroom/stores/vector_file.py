"""Vectors in a plain file, one row after the other, read through memory mapping: nothing is loaded to compare a few.

Reading 5,000 vectors out of 100,000 takes some milliseconds, from the first query on. The file knows neither versions
nor deletions; its owner keeps track of which rows mean something, and keeps writers and readers apart.
"""

import itertools
import os
from pathlib import Path

import numpy as np


class VectorFile:
    """float32 vectors of one dimension by row number."""

    def __init__(self, path: Path, dimension: int) -> None:
        self._path = path
        self._dimension = dimension
        self._map = np.zeros((0, dimension), dtype=np.float32)
        self._written = False

    def write(self, numbers: np.ndarray, vectors: np.ndarray) -> None:
        """Write vectors.

        Args:
            numbers: (n,) row numbers.
            vectors: (n, dimension) float32.
        """
        self._written = True
        size = 4 * self._dimension
        order = np.argsort(numbers)
        data = np.ascontiguousarray(vectors[order], dtype=np.float32)
        # Neighbouring rows, as a source gives them, go to the file in one piece.
        starts = [0, *(np.flatnonzero(np.diff(numbers[order]) != 1) + 1), len(order)]
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            for start, end in itertools.pairwise(starts):
                if end > start:
                    _write_at(descriptor, data[start:end].tobytes(), int(numbers[order[start]]) * size)
        finally:
            os.close(descriptor)

    def read(self, numbers: np.ndarray) -> np.ndarray:
        """Return the vectors of rows, (n, dimension) float32.

        Raises:
            OSError: the file is gone or too short.
        """
        if not len(numbers):
            return np.zeros((0, self._dimension), dtype=np.float32)
        if int(numbers.max()) >= len(self._map):
            rows = self.rows()
            if int(numbers.max()) >= rows:
                raise OSError(f"{self._path} has {rows} rows; row {numbers.max()} was asked for")
            self._map = np.memmap(self._path, np.float32, "r", shape=(rows, self._dimension))
        return np.asarray(self._map[numbers])

    def rows(self) -> int:
        """Return how many rows the file reaches."""
        return self._path.stat().st_size // (4 * self._dimension) if self._path.exists() else 0

    def look_again(self) -> None:
        """Forget what is mapped; somebody else may have made the file anew."""
        self._map = np.zeros((0, self._dimension), dtype=np.float32)

    def clear(self) -> None:
        """Delete the file."""
        self.look_again()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file; what was written is brought to the disk."""
        self.look_again()
        if self._written and self._path.exists():
            with self._path.open("rb+") as handle:
                os.fsync(handle.fileno())


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of the data; a single call may write less."""
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], offset + done)
