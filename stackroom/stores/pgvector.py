"""``pgvector:postgresql://…``: collections in PostgreSQL with the pgvector extension (0.8 or newer), through psycopg 3.

One table per collection, because the dimension belongs to the type of its vector column. The HNSW index is scanned on
until enough rows satisfy the filter (``hnsw.iterative_scan``), filters are answered from a GIN index over the metadata
and from expression indexes on the declared filter fields.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import numpy as np

from stackroom.artefacts import StoredRow
from stackroom.errors import StoreError, StoreNotFoundError, StoreUnavailableError
from stackroom.stores.base import VectorStore
from stackroom.stores.collection import CollectionSpec, Found, Identity, missing
from stackroom.stores.filter_language import Canonical
from stackroom.stores.filter_pgvector import SqlCondition, pgvector_translation
from stackroom.stores.pgvector_tables import CATALOGUE, LOCK_CATALOGUE, index_statements, table_statements

try:
    import psycopg
except ImportError as problem:  # psycopg without its C library says so only here
    raise StoreError(f"pgvector needs psycopg 3 ({problem}); install `psycopg[binary]`") from problem

_MAX_EF_SEARCH = 1000
"""pgvector's own limit."""
_MIN_EF_SEARCH = 100
_CONNECT_SECONDS = 10
_SMALL = 5000
"""Rows up to which all are compared (some 10 ms): an HNSW index can lose rows among many equal ones."""


def open_collection(location: str, spec: CollectionSpec, create: bool, wait_seconds: float) -> "PgvectorStore":
    """Open a collection in a database; see :func:`stackroom.stores.base.open_store`."""
    server = _Server(location, wait_seconds)
    try:
        with server.transaction() as connection:
            stored = _prepare(connection, spec, create, server.where)
        identity = Identity.read(spec.name, stored)
        admitted = identity.admit(spec)
        with server.transaction() as connection:
            if create:
                for statement in index_statements(stored["table_name"], admitted):
                    connection.execute(statement)
        return PgvectorStore(admitted, server, identity, stored["table_name"])
    except BaseException:
        server.close()
        raise


def _prepare(
    connection: "psycopg.Connection[Any]", spec: CollectionSpec, create: bool, where: str
) -> Mapping[str, Any]:
    """Return the catalogue's entry of a collection, making catalogue, entry and table if need be."""
    if create:
        _check_extension(connection, where)
        connection.execute(LOCK_CATALOGUE)
        connection.execute(CATALOGUE)
    stored = _entry(connection, spec.name)
    if stored is None and not create:
        raise missing(spec.name, where)
    if stored is None:
        made = vars(Identity.new(spec))
        connection.execute(
            "INSERT INTO stackroom_collections (name, corpus, model, dimension, instance, schema) VALUES "
            "(%(name)s, %(corpus)s, %(model)s, %(dimension)s, %(instance)s, %(schema)s)",
            {"name": spec.name, **made},
        )
        stored = cast("Mapping[str, Any]", _entry(connection, spec.name))
        for statement in table_statements(stored["table_name"], spec.dimension):
            connection.execute(statement)
    return stored


def _check_extension(connection: "psycopg.Connection[Any]", where: str) -> None:
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error as error:
        raise StoreError(
            f"PostgreSQL at {where} has no pgvector ({_brief(error)}); install it and run `CREATE EXTENSION vector`"
        ) from error
    found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    version = str(found[0]) if found else "0"
    if tuple(int(part) for part in version.split(".")[:2]) < (0, 8):
        raise StoreError(f"PostgreSQL at {where} has pgvector {version}; 0.8 or newer is needed, please upgrade it")


def _entry(connection: "psycopg.Connection[Any]", name: str) -> Mapping[str, Any] | None:
    exists = connection.execute("SELECT to_regclass('stackroom_collections')").fetchone()
    if exists is None or exists[0] is None:
        return None
    cursor = connection.execute("SELECT * FROM stackroom_collections WHERE name = %s", (name,))
    row = cursor.fetchone()
    if row is None:
        return None
    entry = dict(zip([column.name for column in cursor.description or ()], row, strict=True))
    return {**entry, "table_name": f"stackroom_rows_{entry['collection']}"}


class _Server:
    """A connection that is opened again when it was lost."""

    def __init__(self, location: str, wait_seconds: float) -> None:
        # SQLAlchemy's form names a driver (postgresql+psycopg2://); here there is one driver, whatever was named.
        self._uri = re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", location)
        self._wait_seconds = wait_seconds
        self._connection: psycopg.Connection[Any] | None = None
        try:
            parts = psycopg.conninfo.conninfo_to_dict(self._uri)
        except psycopg.Error as error:
            raise StoreError(
                f"that is not the address of a PostgreSQL database ({_brief(error)}); it looks like "
                "pgvector:postgresql://user:password@host:5432/database"
            ) from error
        self.where = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"

    @contextmanager
    def transaction(self) -> Iterator["psycopg.Connection[Any]"]:
        """Run a block in one transaction; one inside another is part of it.

        Raises:
            StoreUnavailableError: the server cannot be reached, or the connection was lost.
            StoreError: the server refused.
        """
        try:
            connection = self._connected()
            with connection.transaction():
                yield connection
        except psycopg.errors.UndefinedTable as error:
            raise StoreNotFoundError(f"the collection in PostgreSQL at {self.where} was dropped") from error
        except psycopg.OperationalError as error:
            raise StoreUnavailableError(
                f"PostgreSQL at {self.where} does not answer ({_brief(error)}); start it or check its address"
            ) from error
        except psycopg.Error as error:
            raise StoreError(f"PostgreSQL at {self.where} failed: {_brief(error)}") from error

    def _connected(self) -> "psycopg.Connection[Any]":
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._uri,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                options=f"-c lock_timeout={int(self._wait_seconds * 1000)} -c standard_conforming_strings=on",
            )
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()


class PgvectorStore(VectorStore):
    """A collection in PostgreSQL."""

    backend = "pgvector"
    tolerated_misses = 0.1

    def __init__(self, spec: CollectionSpec, server: _Server, identity: Identity, table: str) -> None:
        super().__init__(spec)
        self._server = server
        self._identity = identity
        self._table = table
        self._was_large = False

    @property
    def instance(self) -> str:
        """Identity of this very collection."""
        return self._identity.instance

    def _writing(self) -> AbstractContextManager[Any]:
        return self._server.transaction()

    def _reading(self) -> AbstractContextManager[Any]:
        return self._server.transaction()

    def _run(self, statement: str, values: Sequence[Any] = ()) -> "psycopg.Cursor[Any]":
        with self._server.transaction() as connection:
            return connection.execute(statement, values)

    def _run_many(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        with self._server.transaction() as connection, connection.cursor() as cursor:
            cursor.executemany(statement, values)

    def _write(self, rows: Sequence[StoredRow]) -> None:
        ordered = sorted(rows, key=lambda row: row.chunk_id)  # two writers lock rows in the same order
        self._run_many(
            f"INSERT INTO {self._table} (chunk_id, source_id, text, metadata, vector) "  # noqa: S608
            "VALUES (%s, %s, %s, %s::jsonb, %s::vector) ON CONFLICT (chunk_id) DO UPDATE SET source_id = "
            "excluded.source_id, text = excluded.text, metadata = excluded.metadata, vector = excluded.vector",
            [(r.chunk_id, r.source_id, r.text, _json(r.metadata), _vector_text(r.vector)) for r in ordered],
        )

    def _rewrite(self, rows: Sequence[StoredRow]) -> None:
        self._run_many(
            f"UPDATE {self._table} SET text = %s, metadata = %s::jsonb WHERE chunk_id = %s",  # noqa: S608
            [(row.text, _json(row.metadata), row.chunk_id) for row in rows],
        )

    def _delete(self, ids: Sequence[str]) -> None:
        self._run(f"DELETE FROM {self._table} WHERE chunk_id = ANY(%s)", (list(ids),))  # noqa: S608

    def _search(self, unit: np.ndarray, n: int, canonical: Canonical | None) -> Found:
        condition = _condition(canonical)
        exact = self._is_small()
        self._run(
            "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), "
            "set_config('hnsw.max_scan_tuples', '2147483647', true), set_config('hnsw.ef_search', %s, true), "
            "set_config('enable_indexscan', %s, true)",
            (str(min(max(n, _MIN_EF_SEARCH), _MAX_EF_SEARCH)), "off" if exact else "on"),
        )
        found = self._run(
            f"{self._select} WHERE {condition.sql} ORDER BY vector <=> %s::vector LIMIT %s",
            (*condition.values, _vector_text(unit), n),
        )
        return Found(_rows(found))

    def _scan(self, canonical: Canonical | None, batch_size: int) -> Iterator[list[StoredRow]]:
        condition = _condition(canonical)
        last = ""
        while True:
            statement = f"{self._select} WHERE chunk_id > %s AND {condition.sql} ORDER BY chunk_id LIMIT %s"
            rows = _rows(self._run(statement, (last, *condition.values, batch_size)))
            if not rows:
                return
            yield rows
            last = rows[-1].chunk_id

    def _is_small(self) -> bool:
        """Say whether comparing all rows is quick; a collection that was large once is not asked again."""
        if not self._was_large:
            found = self._run(f"SELECT count(*) FROM (SELECT 1 FROM {self._table} LIMIT {_SMALL + 1}) few")  # noqa: S608
            self._was_large = int((found.fetchone() or (0,))[0]) > _SMALL
        return not self._was_large

    @property
    def _select(self) -> str:
        return f"SELECT chunk_id, source_id, text, metadata, vector_send(vector) FROM {self._table}"  # noqa: S608

    def _count(self, source_id: str | None) -> int:
        clause, values = ("", ()) if source_id is None else (" WHERE source_id = %s", (source_id,))
        found = self._run(f"SELECT count(*) FROM {self._table}{clause}", values).fetchone()  # noqa: S608
        return int(found[0]) if found else 0

    def _ids(self, source_id: str) -> set[str]:
        return {row[0] for row in self._run(f"SELECT chunk_id FROM {self._table} WHERE source_id = %s", (source_id,))}  # noqa: S608

    def _source_ids(self) -> set[str]:
        return {row[0] for row in self._run(f"SELECT DISTINCT source_id FROM {self._table}")}  # noqa: S608

    def _sample(self, n: int) -> Iterator[StoredRow]:
        yield from _rows(self._run(f"{self._select} ORDER BY hashtext(chunk_id) LIMIT %s", (n,)))

    def _drop(self) -> None:
        self._run(f"DROP TABLE {self._table}")
        self._run("DELETE FROM stackroom_collections WHERE instance = %s", (self.instance,))

    def _details(self) -> Mapping[str, Any]:
        return {"at": self._server.where, "table": self._table}

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._server.close()


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())


def _condition(canonical: Canonical | None) -> SqlCondition:
    translated = None if canonical is None else pgvector_translation(canonical).condition
    return translated or SqlCondition("true")


def _json(metadata: Mapping[str, Any]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False)


def _vector_text(vector: np.ndarray | None) -> str:
    return json.dumps(np.asarray(vector).tolist())


def _rows(cursor: "psycopg.Cursor[Any]") -> list[StoredRow]:
    """Read rows; ``vector_send`` gives two 16-bit numbers (dimension, nothing) and big-endian float32 values."""
    return [
        StoredRow(
            chunk_id,
            source_id,
            text,
            dict(sorted(metadata.items())),
            np.frombuffer(vector, dtype=">f4", offset=4).astype(np.float32),
        )
        for chunk_id, source_id, text, metadata, vector in cursor
    ]
