"""Where artefacts, caches and stores live. Configuration only."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from stackroom.state import StateFolder


class ArtefactStorageResource(dg.ConfigurableResource):
    """The state folder."""

    state_folder: str = Field(description="Folder of artefacts, caches, stores and ledgers.")

    def create(self) -> StateFolder:
        """Return the state folder."""
        return StateFolder(Path(self.state_folder))
