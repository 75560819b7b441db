"""Opening a vector store by URI. Each backend is a module of its own, imported only when it is asked for."""

import importlib
from typing import TYPE_CHECKING

from stackroom.config import check_store_uri
from stackroom.errors import StoreError
from stackroom.stores.checks import check_collection_name
from stackroom.stores.collection import CollectionSpec

if TYPE_CHECKING:
    from stackroom.stores.base import VectorStore

WAIT_SECONDS = 30.0
"""How long a writer waits for another one; replacing the rows of one source takes a fraction of this."""


def open_store(
    uri: str, spec: CollectionSpec, create: bool = True, wait_seconds: float = WAIT_SECONDS
) -> "VectorStore":
    """Open a collection; the caller closes it.

    Args:
        uri: ``chroma:/folder``, ``chroma:http://host:port``, ``qdrant:/folder``, ``qdrant:http://host:port``,
            ``pgvector:postgresql://…``, ``sqlite:/file.db`` or ``memory:``.
        spec: what the collection is for. Without a model (``""``) the collection must exist, and model and dimension
            are taken from it.
        create: make the collection, and the folder or file it lies in, if it does not exist.
        wait_seconds: how long to wait for another process that is writing to the same embedded store.

    Raises:
        StoreError: the URI or the name breaks its rule, or the store cannot be used.
        StoreNotFoundError: the collection does not exist and ``create`` is off.
        StoreUnavailableError: the store does not answer, or is being written for longer than ``wait_seconds``.
        ModelMismatchError: the collection was written with another embedding model.
    """
    try:
        scheme, _, location = check_store_uri(uri).partition(":")
    except ValueError as error:
        raise StoreError(str(error)) from error
    check_collection_name(spec.name)
    opener = importlib.import_module(f"stackroom.stores.{scheme.lower()}")
    store: VectorStore = opener.open_collection(location, spec, create, wait_seconds)
    return store


def instantiate_vector_store(
    path: str, name: str, create: bool = False, spec: CollectionSpec | None = None
) -> "VectorStore":
    """Open a collection by URI and name, whatever model it was written with.

    Args:
        path: store URI.
        name: name of the collection.
        create: make it if it does not exist; ``spec`` must then say for which model.
        spec: what the collection is for; None to take that from the collection itself.

    Raises:
        StoreError: see :func:`open_store`.
    """
    return open_store(path, spec or CollectionSpec(name, corpus="", model="", dimension=0), create=create)
