"""Arrays and Arrow files of an index: written whole, opened memory-mapped."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array as ``.npy`` and sync it."""
    with path.open("wb") as handle:
        np.save(handle, array, allow_pickle=False)
        handle.flush()
        os.fsync(handle.fileno())


def open_array(path: Path) -> np.ndarray:
    """Open an ``.npy`` file memory-mapped, as a plain array (indexing a ``numpy.memmap`` itself is slower)."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def create_array(path: Path, dtype: str, size: int) -> np.ndarray:
    """Create an ``.npy`` file of ``size`` elements to be filled in place; flush it with :func:`sync_array`."""
    if size == 0:
        save_array(path, np.zeros(0, dtype=dtype))
        return np.zeros(0, dtype=dtype)
    return np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=(size,))


def sync_array(array: np.ndarray) -> None:
    """Write what :func:`create_array` gave through to the disk."""
    if isinstance(array, np.memmap):
        array.flush()


def open_arrow(path: Path) -> pa.ipc.RecordBatchFileReader:
    """Open an Arrow IPC file memory-mapped: only its footer is read."""
    return pa.ipc.open_file(pa.memory_map(str(path), "r"))


def sync_file(path: Path) -> None:
    """Write a closed file through to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
