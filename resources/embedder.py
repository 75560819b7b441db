"""Which model embeds. Configuration only; ``create`` returns the library's object."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from resources.mirror import form_of, mirror, settings_of
from stackroom.config import Corpus, EmbedderSettings
from stackroom.embedding import open_embedder
from stackroom.embedding.cached import CachedEmbedder

EmbedderForm = mirror(EmbedderSettings)


class EmbedderResource(dg.ConfigurableResource):
    """The embedding model."""

    model: EmbedderForm = Field(default=EmbedderForm(), description="Which model turns text into vectors.")

    @classmethod
    def of(cls, corpus: Corpus) -> "EmbedderResource":
        """Return the resource with the values of ``stackroom.yaml``."""
        return cls(model=form_of(EmbedderForm, corpus.embedder))

    def apply(self, corpus: Corpus) -> Corpus:
        """Return the corpus with this resource's values."""
        return corpus.model_copy(update={"embedder": self.settings()})

    def settings(self) -> EmbedderSettings:
        """Return the validated settings."""
        return settings_of(EmbedderSettings, self.model)

    def create(self, cache: Path) -> CachedEmbedder:
        """Return the embedder, with its cache of vectors at ``cache``; the caller closes it."""
        return open_embedder(self.settings(), cache=cache)
