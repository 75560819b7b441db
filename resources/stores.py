"""Where vectors and keywords are kept. Configuration only; ``create`` returns the library's objects."""

import re

import dagster as dg
from pydantic import Field

from resources.mirror import form_of, mirror, settings_of
from stackroom.config import Bm25Settings, Corpus, check_store_uri
from stackroom.stores.base import CollectionSpec, VectorStore, open_store

Bm25Form = mirror(Bm25Settings)


_SECRETS = (re.compile(r"(://[^/@:]*:)[^/]*(?=@)"), re.compile(r"([?&]password=)[^&]*"))


def shown_uri(uri: str) -> str:
    """Return a store's URI with ``***`` in place of a password: resources are shown and kept with every run."""
    for secret in _SECRETS:
        uri = secret.sub(r"\1***", uri)
    return uri


class VectorStoreResource(dg.ConfigurableResource):
    """The vector store of a corpus, by URI; ``***`` stands for the password in the settings."""

    uri: str = Field(
        description="chroma:/folder, chroma:http://host:port, qdrant:/folder, qdrant:http://host:port, "
        "pgvector:postgresql://…, sqlite:/file.db or memory:"
    )

    @classmethod
    def of(cls, uri: str) -> "VectorStoreResource":
        """Return the resource with the URI of the settings, its password hidden."""
        return cls(uri=shown_uri(uri))

    def checked_uri(self, configured: str) -> str:
        """Return the URI, with the password that the settings have for it.

        Args:
            configured: the URI of the settings.

        Raises:
            ValueError: its form is wrong; the message shows the rule.
        """
        return check_store_uri(configured if self.uri == shown_uri(configured) else self.uri)

    def create(self, uri: str, spec: CollectionSpec) -> VectorStore:
        """Return the opened collection; the caller closes it."""
        return open_store(uri, spec)


class Bm25StoreResource(dg.ConfigurableResource):
    """The keyword index of a corpus."""

    index: Bm25Form = Field(default=Bm25Form(), description="The keyword index.")

    @classmethod
    def of(cls, corpus: Corpus) -> "Bm25StoreResource":
        """Return the resource with the values of ``stackroom.yaml``."""
        return cls(index=form_of(Bm25Form, corpus.bm25))

    def apply(self, corpus: Corpus) -> Corpus:
        """Return the corpus with this resource's values."""
        return corpus.model_copy(update={"bm25": settings_of(Bm25Settings, self.index)})
