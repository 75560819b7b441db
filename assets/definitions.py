"""The code location named in workspace.yaml. Dagster loads this file under a bare name; nothing may import it."""

import gc
import warnings
from pathlib import Path

import dagster as dg

# Partitioned checks are in preview in Dagster 1.13; the warning would be printed for every check of every corpus.
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

from assets.build import build_defs  # noqa: E402 - the filter must stand before the definitions are built
from stackroom.config import load_config  # noqa: E402

defs = build_defs(load_config(Path(__file__).resolve().parent.parent))
gc.freeze()  # what is loaded by now stays as long as the process; each search for garbage in it takes 0.2 s
