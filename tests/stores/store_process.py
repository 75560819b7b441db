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


def write_as_a_foreign_client(folder):
    """Open the folder as any program does, wait, and write with what the client still has in memory."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
    collection = client.get_collection("papers-m")
    collection.query(query_embeddings=[vector_of(1).tolist()], n_results=1)
    print("open", flush=True)
    sys.stdin.readline()
    vectors = [vector_of(number).tolist() for number in range(10_000, 11_200)]
    names = [f"foreign{number}" for number in range(1200)]
    collection.upsert(ids=names, embeddings=vectors, documents=names, metadatas=[{"_source_id": "foreign.pdf"}] * 1200)
    print("written", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
