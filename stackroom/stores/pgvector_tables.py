"""The tables and indexes of the PostgreSQL backend."""

import hashlib
from collections.abc import Iterator

from stackroom.stores.collection import CollectionSpec
from stackroom.stores.filter_pgvector import kind_expression, number_expression

LOCK_CATALOGUE = "SELECT pg_advisory_xact_lock(731045126)"
"""Two processes that make the same thing at once would fail on one another; the number is arbitrary."""

CATALOGUE = """
CREATE TABLE IF NOT EXISTS stackroom_collections (
    collection bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, corpus text NOT NULL,
    model text NOT NULL, dimension integer NOT NULL, instance text NOT NULL, schema integer NOT NULL
)
"""

_MAX_INDEXED_DIMENSION = 2000
"""pgvector's limit for indexes on ``vector``; longer vectors are compared one by one."""


def table_statements(table: str, dimension: int) -> Iterator[str]:
    """Yield the statements that make the table of a collection, with the indexes that every collection has."""
    yield (
        f'CREATE TABLE {table} (chunk_id text COLLATE "C" PRIMARY KEY, source_id text NOT NULL, text text NOT NULL, '
        f"metadata jsonb NOT NULL, vector vector({dimension}) NOT NULL)"
    )
    yield f"CREATE INDEX {table}_source ON {table} (source_id)"
    yield f"CREATE INDEX {table}_metadata ON {table} USING gin (metadata jsonb_path_ops)"
    if dimension <= _MAX_INDEXED_DIMENSION:
        yield f"CREATE INDEX {table}_vector ON {table} USING hnsw (vector vector_cosine_ops)"


def index_statements(table: str, spec: CollectionSpec) -> Iterator[str]:
    """Yield the statements that make the indexes for the declared filter fields, where they are not there yet.

    Equality and ``$contains`` are answered by the index over all metadata. Numbers get an index for ranges; lists get
    one that tells quickly that no row has a text in their place, in which ``$contains`` would have to look.
    """
    for field in spec.filter_fields:
        name = f"{table}_f_{hashlib.sha256(field.name.encode()).hexdigest()[:12]}_{field.value_type}"
        if field.value_type in ("int", "float"):
            yield f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({number_expression(field.name)})"
        if field.value_type == "list":
            yield f"CREATE INDEX IF NOT EXISTS {name} ON {table} (({kind_expression(field.name)}))"
