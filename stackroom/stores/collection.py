"""What is said about a collection: what it is for, what it holds, what it answers; and whether that fits together."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from stackroom.artefacts import MetadataValue, StoredRow
from stackroom.config import FilterField
from stackroom.errors import ModelMismatchError, StoreError, StoreNotFoundError

SCHEMA = 1
"""Version of the way rows lie in stores; raised when older collections cannot be read any more."""


@dataclass(frozen=True)
class CollectionSpec:
    """What a collection is for; stored with it and enforced when it is opened again."""

    name: str
    corpus: str
    model: str
    """Key of the embedding model's identity (name and weights hash)."""
    dimension: int
    filter_fields: tuple[FilterField, ...] = ()


@dataclass(frozen=True)
class StoreHit:
    """One ranked row of a vector store or of a keyword index."""

    chunk_id: str
    source_id: str
    text: str
    metadata: Mapping[str, MetadataValue]
    score: float
    """Cosine similarity (1 = same) for vector stores, BM25 score (> 0) for keyword indexes."""


@dataclass(frozen=True)
class ReplaceResult:
    """What replacing the rows of a source did."""

    upserted: int
    deleted: int


@dataclass(frozen=True)
class StoreInfo:
    """What a collection says about itself."""

    backend: str
    collection: str
    model: str
    dimension: int
    rows: int
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What a backend found for a query."""

    rows: list[StoredRow]
    """Rows with their vectors; every row that is left out is less similar than each of these, or does not match."""
    complete: bool = False
    """Nothing was left out that could tie with the last one asked for, and the filter was answered exactly."""


@dataclass(frozen=True)
class Identity:
    """What is stored with a collection when it is made."""

    corpus: str
    model: str
    dimension: int
    instance: str
    schema: int = SCHEMA

    @classmethod
    def new(cls, spec: CollectionSpec) -> Self:
        """Return the identity of a collection that is about to be made.

        Raises:
            StoreError: the spec does not say for which model, or the dimension is below 1.
        """
        if not spec.model or spec.dimension < 1:
            raise StoreError(f"collection {spec.name} cannot be made without an embedding model and its dimension")
        return cls(spec.corpus, spec.model, spec.dimension, uuid.uuid4().hex)

    @classmethod
    def read(cls, name: str, stored: Mapping[str, Any] | None) -> Self:
        """Return the identity stored with a collection.

        Raises:
            StoreError: there is none: something else made the collection.
        """
        try:
            known = {key: (stored or {})[key] for key in ("corpus", "model", "dimension", "instance", "schema")}
        except KeyError as error:
            raise StoreError(
                f"collection {name} was not made by Stackroom ({error} is not noted with it); use another name, or "
                "drop it"
            ) from None
        return cls(
            str(known["corpus"]),
            str(known["model"]),
            int(known["dimension"]),
            str(known["instance"]),
            int(known["schema"]),
        )

    def admit(self, spec: CollectionSpec) -> CollectionSpec:
        """Return what a collection of this identity is opened as; a spec without a model takes what is stored.

        Raises:
            ModelMismatchError: the collection holds vectors of another model or dimension; both are named.
            StoreError: it was made by a version of Stackroom with another layout.
        """
        if self.schema != SCHEMA:
            raise StoreError(
                f"collection {spec.name} has layout {self.schema}, this version reads {SCHEMA}; drop it and "
                "materialize `vector_collection` again"
            )
        if not spec.model:
            return replace(spec, model=self.model, dimension=self.dimension, corpus=spec.corpus or self.corpus)
        if (self.model, self.dimension) != (spec.model, spec.dimension):
            raise ModelMismatchError(
                f"collection {spec.name} was written with {self.model} ({self.dimension} dimensions), not with "
                f"{spec.model} ({spec.dimension} dimensions); use that model, or a "
                "collection of its own for the new one"
            )
        return spec


def missing(name: str, where: str) -> StoreNotFoundError:
    """Return the error for a collection that is not there."""
    return StoreNotFoundError(f"there is no collection {name} in {where}; `stackroom ingest` makes it")
