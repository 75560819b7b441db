"""All stages in the order in which a file goes through them, and what a stage depends on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackroom.outcome import Outcome
from stackroom.stages import (
    bm25_corpus,
    chunks,
    embeddings,
    lint_report,
    metadata_map,
    ocr_classification,
    source_document,
    vector_collection,
)
from stackroom.stages.bench import FileWork


@dataclass(frozen=True)
class Stage:
    """One stage: its name, what it reads, how to run it."""

    name: str
    run: Callable[[FileWork], Outcome]
    version: int
    needs: tuple[str, ...] = ()
    ahead: bool = False
    """True when the stage works in other processes and may run for the next files while this one is stored."""


STAGES: tuple[Stage, ...] = (
    Stage("source_document", source_document.run, source_document.VERSION, ahead=True),
    Stage("ocr_classification", ocr_classification.run, ocr_classification.VERSION, ("source_document",), ahead=True),
    Stage("chunks", chunks.run, chunks.VERSION, ("source_document", "ocr_classification"), ahead=True),
    Stage("metadata_map", metadata_map.run, metadata_map.VERSION, ("chunks",)),
    Stage("embeddings", embeddings.run, embeddings.VERSION, ("chunks",)),
    Stage(
        "vector_collection", vector_collection.run, vector_collection.VERSION, ("chunks", "embeddings", "metadata_map")
    ),
    Stage("bm25_corpus", bm25_corpus.run, bm25_corpus.VERSION, ("chunks", "metadata_map")),
    Stage("lint_report", lint_report.run, lint_report.VERSION, ("chunks", "metadata_map")),
)

BY_NAME: Mapping[str, Stage] = {stage.name: stage for stage in STAGES}
