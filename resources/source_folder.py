"""Where a corpus's documents lie. Configuration only; scanning is done by the library."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from stackroom.config import Corpus


class SourceFolderResource(dg.ConfigurableResource):
    """The folder of documents of a corpus."""

    folder: str = Field(description="Folder of documents; every file below it that matches is a source.")
    include: list[str] = Field(default=["**/*"], description="Glob patterns of files to take, relative to the folder.")
    exclude: list[str] = Field(default=[], description="Glob patterns of files to leave out.")

    @classmethod
    def of(cls, corpus: Corpus) -> "SourceFolderResource":
        """Return the resource with the values of ``stackroom.yaml``."""
        return cls(folder=str(corpus.folder), include=list(corpus.include), exclude=list(corpus.exclude))

    def apply(self, corpus: Corpus) -> Corpus:
        """Return the corpus with this resource's values."""
        update = {"folder": Path(self.folder), "include": tuple(self.include), "exclude": tuple(self.exclude)}
        return corpus.model_copy(update=update)
