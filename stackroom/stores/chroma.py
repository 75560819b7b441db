"""``chroma:/folder`` and ``chroma:http://host:port``: opening collections of Chroma, in a folder or on a server."""

from pathlib import Path
from typing import TYPE_CHECKING

from stackroom.errors import StoreNotFoundError
from stackroom.stores.chroma_access import ChromaAccess, ChromaFolder, ChromaServer
from stackroom.stores.chroma_mirror import ChromaMirror
from stackroom.stores.chroma_mirrored import MirroredChromaStore
from stackroom.stores.chroma_store import PREFIX, ChromaStore, notes_of
from stackroom.stores.collection import CollectionSpec, Identity, missing

if TYPE_CHECKING:
    from chromadb import Collection


def open_collection(location: str, spec: CollectionSpec, create: bool, wait_seconds: float) -> "ChromaStore":
    """Open a collection in a folder or on a server; see :func:`stackroom.stores.base.open_store`."""
    access: ChromaAccess
    if location.startswith(("http://", "https://")):
        access = ChromaServer(location)
    else:
        access = ChromaFolder.enter(Path(location), create, wait_seconds)
    try:
        collection = _find(access, spec.name) or _make(access, spec, create)
        identity = Identity.read(spec.name, notes_of(collection))
        admitted = identity.admit(spec)
        mirror = ChromaMirror.open(access.folder, spec.name, identity, wait_seconds) if access.folder else None
        if mirror is None:
            return ChromaStore(admitted, access, identity)
        return MirroredChromaStore(admitted, access, identity, mirror)
    except BaseException:
        access.close()
        raise


def _find(access: ChromaAccess, name: str) -> "Collection | None":
    if isinstance(access, ChromaFolder) and not access.is_made:
        return None  # opening a client would make it, which only a writer may do
    try:
        with access.reading():
            return access.client.get_collection(name, embedding_function=None)
    except StoreNotFoundError:
        return None


def _make(access: ChromaAccess, spec: CollectionSpec, create: bool) -> "Collection":
    if not create:
        raise missing(spec.name, access.where)
    notes = {PREFIX + key: value for key, value in vars(Identity.new(spec)).items()}
    with access.writing():
        return access.client.get_or_create_collection(
            spec.name, embedding_function=None, metadata=notes, configuration={"hnsw": {"space": "cosine"}}
        )
