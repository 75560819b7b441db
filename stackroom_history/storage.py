"""Dagster's SQLite storage with connections that stay open and packed events; named in ``dagster.yaml``.

The files, tables and rows are Dagster's own, so records of its plain SQLite storage are read and continued. Two things
differ. Dagster opens and closes a connection for every statement, which costs most of the ten milliseconds an event
takes; ours stay open. And serialised events are packed (:mod:`stackroom_history.packing`), to a fifth of their size.
"""

import fcntl
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as db
import yaml
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy.engine import Connection, Dialect, Engine
from sqlalchemy.pool import NullPool, QueuePool

from stackroom_history.packing import pack, unpack

OPEN_RUNS = 3
"""Runs whose files stay open; each run has a file of its own, and the web interface may look at any of them."""


NEEDLESS_INDEXES = ("idx_events_by_run_id", "idx_events_by_asset", "idx_events_by_asset_partition")
"""Indexes that select nothing in the file of one run, and take a quarter of it."""


_making = threading.RLock()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from making the same files.

    Two that begin on a new folder at the same moment would both note the version of the tables, and Dagster refuses a
    file with two versions for ever. The lock is released when its holder dies.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _making, (folder / ".records.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class PackedText(db.Text):
    """Text whose serialised events are packed on their way to the database and unpacked on their way back."""

    def bind_processor(self, dialect: Dialect) -> Callable[[str | None], str | bytes | None]:  # noqa: ARG002 - given by SQLAlchemy
        """Return what is applied to values that are written or compared."""
        return pack

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], str | None]:  # noqa: ARG002
        """Return what is applied to values that are read."""
        return unpack


class EventRecords(SqliteEventLogStorage):
    """Dagster's event log: one SQLite file per run, and one index for all."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Open the records below ``base_dir``; they are made if there are none."""
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._owner = os.getpid()
        self._seen: set[str] = set()
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> "EventRecords":
        """Return the storage that ``dagster.yaml`` describes."""
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            if shard not in self._initialized_dbs:
                self._make(shard)
            engine = self._engine(shard)
            with engine.connect() as connection, connection.begin():
                yield connection

    def _make(self, shard: str) -> None:
        """Make the tables of a file, unless they are there."""
        with _alone(Path(self._base_dir)):
            self._make_alone(shard)

    def _make_alone(self, shard: str) -> None:
        is_new = not Path(self.path_for_shard(shard)).exists()
        engine = db.create_engine(self.conn_string_for_shard(shard), poolclass=NullPool)
        self._initdb(engine)
        if is_new and shard != INDEX_SHARD_NAME:
            with engine.begin() as connection:
                for index in NEEDLESS_INDEXES:
                    connection.execute(db.text(f"DROP INDEX IF EXISTS {index}"))
        self._initialized_dbs.add(shard)

    def _engine(self, shard: str) -> Engine:
        if self._owner != os.getpid():  # a connection must not be used, nor closed, on the other side of a fork
            for engine in self._engines.values():
                engine.dispose(close=False)
            self._engines.clear()
            self._owner = os.getpid()
        if shard not in self._engines:
            self._engines[shard] = _open(self.conn_string_for_shard(shard))
        self._engines.move_to_end(shard)
        while len(self._engines) > OPEN_RUNS + 1:
            oldest = next(name for name in self._engines if name != INDEX_SHARD_NAME)
            self._engines.pop(oldest).dispose()
        return self._engines[shard]

    def has_table(self, table_name: str) -> bool:
        """Return whether the index has a table; asked for every event, and tables are only ever added."""
        if table_name not in self._seen:
            if not super().has_table(table_name):
                return False
            self._seen.add(table_name)
        return True

    def _has_asset_key_col_on_connection(self, conn: Connection, column_name: str) -> bool:
        if column_name not in self._seen:
            if not super()._has_asset_key_col_on_connection(conn, column_name):
                return False
            self._seen.add(column_name)
        return True

    def wipe(self) -> None:
        """Delete all events."""
        self._close()
        super().wipe()

    def dispose(self) -> None:
        """Close the files."""
        self._close()
        super().dispose()

    def _close(self) -> None:
        with self._db_lock:
            while self._engines:
                self._engines.popitem()[1].dispose()


def _open(address: str) -> Engine:
    # Dagster's own lock lets one thread in at a time, so one connection is enough.
    engine = db.create_engine(
        address,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
    )
    engine.dialect.colspecs = {**engine.dialect.colspecs, db.Text: PackedText}

    @db.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # With a write-ahead log a power cut may cost the last events, never the file; what they tell of is redone.
        connection.execute("PRAGMA synchronous=NORMAL")

    return engine


class History(DagsterSqliteStorage):
    """Dagster's storage: runs and schedules as Dagster keeps them in SQLite, events as :class:`EventRecords`."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Open the records below ``base_dir``; they are made if there are none."""
        with _alone(Path(base_dir)):
            super().__init__(base_dir, inst_data)
        self._event_log_storage = EventRecords(os.path.join(base_dir, "history", "runs", ""))  # noqa: PTH118 - Dagster's own spelling

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Any) -> "History":
        """Return the storage that ``dagster.yaml`` describes."""
        return cls.from_local(inst_data=inst_data, **config_value)

    @property
    def event_storage_data(self) -> ConfigurableClassData:
        """How the event log is opened by itself."""
        where = yaml.dump({"base_dir": self._event_log_storage._base_dir}, default_flow_style=False)
        return ConfigurableClassData(__name__, EventRecords.__name__, where)
