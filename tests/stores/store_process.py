"""What other processes do in the tests: run as a script with the name of a part and its arguments."""

import sys
import time
from pathlib import Path

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreLockedError
from stackroom.stores.base import CollectionSpec, open_store
from stackroom.stores.locking import FolderLock

DIMENSION = 8


def vector_of(number):
    return np.random.default_rng(number).normal(size=DIMENSION)


def spec(name="papers-m"):
    return CollectionSpec(name, "papers", "model-1", DIMENSION)


def rows_of(source, numbers):
    return [StoredRow(f"{source}#{n}", source, f"text {n}", {"number": n}, vector_of(n)) for n in numbers]


def write(uri, source, first, count, wait_seconds="30"):
    """Write a source's rows in several replacements, growing it."""
    with open_store(uri, spec(), wait_seconds=float(wait_seconds)) as store:
        for size in range(int(count) // 4, int(count) + 1, int(count) // 4):
            store.replace_source(source, rows_of(source, range(int(first), int(first) + size)))
    print("written")


def write_once(uri, source, first, count):
    with open_store(uri, spec()) as store:
        store.replace_source(source, rows_of(source, range(int(first), int(first) + int(count))))


def write_or_refuse(uri, source):
    """Try to write without waiting."""
    try:
        with open_store(uri, spec(), wait_seconds=0) as store:
            store.replace_source(source, rows_of(source, range(3)))
    except StoreLockedError as error:
        print(f"refused: {error}")


def hold(lock, seconds):
    """Hold the lock of a folder."""
    with FolderLock(Path(lock), "the folder").writing(5):
        print("held", flush=True)
        time.sleep(float(seconds))


def write_forever(uri, source):
    """Write until killed."""
    with open_store(uri, spec()) as store:
        print("writing", flush=True)
        for turn in range(10**6):
            store.replace_source(source, rows_of(source, range(turn % 7, 300 + turn % 7)))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
