"""DOI services, off by default. Configuration only."""

import dagster as dg
from pydantic import Field

from resources.mirror import form_of, mirror, settings_of
from stackroom.config import Corpus, MetadataSettings

MetadataForm = mirror(MetadataSettings)


class DoiServicesResource(dg.ConfigurableResource):
    """How bibliographic metadata is looked up."""

    metadata: MetadataForm = Field(default=MetadataForm(), description="How bibliographic metadata is found.")

    @classmethod
    def of(cls, corpus: Corpus) -> "DoiServicesResource":
        """Return the resource with the values of ``stackroom.yaml``."""
        return cls(metadata=form_of(MetadataForm, corpus.metadata))

    def apply(self, corpus: Corpus) -> Corpus:
        """Return the corpus with this resource's values."""
        return corpus.model_copy(update={"metadata": settings_of(MetadataSettings, self.metadata)})
