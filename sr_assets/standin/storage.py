"""The one place that changes data or catalog: DuckDB below, a catalog of Python values above.

Every change is one short DuckDB transaction under one lock: rows, catalog rows and the load job's row
together. The values in memory follow after COMMIT, so a reader or a killed process never sees a half.
Readers take no lock: a query is one DuckDB statement, and partitions are looked up inside of it.
"""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

import itertools
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from sr_assets.standin import bounds
from sr_assets.standin.errors import StorageInUse, unknown_database, unknown_table
from sr_assets.standin.functions import MACROS
from sr_assets.standin.model import Bound, Definition, ListValue, Partition, Table, View

Row = Sequence[Any]

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS meta;
CREATE SCHEMA IF NOT EXISTS data;
CREATE SCHEMA IF NOT EXISTS info;
CREATE TABLE IF NOT EXISTS meta.counter (reserved BIGINT);
CREATE TABLE IF NOT EXISTS meta.databases (id BIGINT, name VARCHAR);
CREATE TABLE IF NOT EXISTS meta.tables (
    id BIGINT, db VARCHAR, name VARCHAR, definition VARCHAR, key_model VARCHAR, comment VARCHAR,
    partition_key VARCHAR, distribution_key VARCHAR, buckets INTEGER, replication INTEGER, created TIMESTAMP);
CREATE TABLE IF NOT EXISTS meta.columns (
    table_id BIGINT, position INTEGER, name VARCHAR, data_type VARCHAR, column_type VARCHAR, field_type VARCHAR,
    nullable BOOLEAN, is_key BOOLEAN, column_default VARCHAR, comment VARCHAR, length BIGINT,
    numeric_precision INTEGER, numeric_scale INTEGER, extra VARCHAR);
CREATE TABLE IF NOT EXISTS meta.partitions (
    id BIGINT, table_id BIGINT, name VARCHAR, is_temp BOOLEAN, lower_bound VARCHAR, upper_bound VARCHAR,
    list_values VARCHAR, value_text VARCHAR, version BIGINT, version_time TIMESTAMP, epoch BIGINT,
    row_count BIGINT);
CREATE TABLE IF NOT EXISTS meta.views (id BIGINT, db VARCHAR, name VARCHAR, query VARCHAR, columns VARCHAR);
CREATE TABLE IF NOT EXISTS meta.jobs (
    id BIGINT, txn BIGINT, db VARCHAR, table_name VARCHAR, label VARCHAR, type VARCHAR, username VARCHAR,
    state VARCHAR, progress INTEGER, scanned BIGINT, filtered BIGINT, unselected BIGINT, loaded BIGINT,
    error VARCHAR, created TIMESTAMP, started TIMESTAMP, finished TIMESTAMP, properties VARCHAR,
    bytes BIGINT, files INTEGER);
CREATE TABLE IF NOT EXISTS meta.tracking (job_id BIGINT, label VARCHAR, db VARCHAR, log VARCHAR, type VARCHAR);
CREATE TABLE IF NOT EXISTS meta.tasks (
    query_id VARCHAR, name VARCHAR, created TIMESTAMP, finished TIMESTAMP, state VARCHAR, db VARCHAR,
    definition VARCHAR, error_code BIGINT, error VARCHAR, progress VARCHAR);
CREATE TABLE IF NOT EXISTS meta.analyzed (
    id BIGINT, db VARCHAR, table_name VARCHAR, columns VARCHAR, type VARCHAR, status VARCHAR,
    started TIMESTAMP, finished TIMESTAMP, properties VARCHAR, reason VARCHAR);
"""
_ID_BATCH = 1000


def quote(name: str) -> str:
    """A DuckDB identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """A DuckDB literal of the value's text; any string can be written, NUL included."""
    if value is None:
        return "NULL"
    text = "'" + str(value).replace("'", "''") + "'"
    return "(" + text.replace("\0", "' || chr(0) || '") + ")" if "\0" in text else text


def now() -> datetime:
    """The server's clock, to the second as StarRocks' DATETIME columns show it."""
    return datetime.now().replace(microsecond=0)


_UNNESTED = "(SELECT unnest(from_json(?, '[[\"VARCHAR\"]]')) AS r)"


def bulk_insert(cursor: duckdb.DuckDBPyConnection, target: str, rows: Sequence[Row]) -> None:
    """Insert Python rows, sent as one JSON text.

    DuckDB needs 0.3 ms a row for parsed VALUES and 10 us for JSON. NumPy arrays of objects would be faster
    still, but DuckDB's threads need Python's global lock to read them, which can deadlock with a thread
    that holds it and waits for DuckDB.
    """
    if rows:
        cells = ", ".join(f"r[{number}]" for number in range(1, len(rows[0]) + 1))
        cursor.execute(f"INSERT INTO {target} SELECT {cells} FROM {_UNNESTED}", [_to_json(rows)])


def stage_rows(cursor: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Row], width: int) -> None:
    """Make a temporary table of Python rows, with columns c0, c1, ... of strings."""
    cells = ", ".join(f"r[{number + 1}] AS c{number}" for number in range(width))
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {cells} FROM {_UNNESTED}", [_to_json(rows)]
    )


def _to_json(rows: Sequence[Row]) -> str:
    return json.dumps(rows, default=str)


class Transaction:
    """One atomic change. Methods write DuckDB rows now and remember what to do in memory after COMMIT."""

    def __init__(self, store: Store, cursor: duckdb.DuckDBPyConnection) -> None:
        self.store = store
        self.cursor = cursor
        self._after: list[Callable[[], None]] = []

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        return self.cursor.execute(sql, list(parameters))

    def then(self, action: Callable[[], None]) -> None:
        self._after.append(action)

    def apply(self) -> None:
        for action in self._after:
            action()

    def create_database(self, name: str) -> None:
        self.execute("INSERT INTO meta.databases VALUES (?, ?)", [self.store.next_id(), name])
        self.then(lambda: self.store.databases.setdefault(name, {}).clear())

    def drop_database(self, name: str) -> None:
        for relation in list(self.store.databases[name].values()):
            self.drop(relation)
        self.execute("DELETE FROM meta.databases WHERE name = ?", [name])
        self.then(lambda: self.store.forget_database(name))

    def create_table(self, table: Table, partitions: Sequence[Partition]) -> None:
        columns = ", ".join(
            f"{quote(column.name)} {column.type.stored}" for column in table.definition.columns
        )
        self.execute(f"CREATE TABLE {table.data} ({columns}, __pid BIGINT)")
        self.define(table, table.definition)
        self.add_partitions(table, partitions)
        self.then(lambda: self.store.databases[table.db].__setitem__(table.name, table))

    def define(self, table: Table, definition: Definition) -> None:
        """Store what a table is, in place of what it was."""
        created = self.execute("SELECT created FROM meta.tables WHERE id = ?", [table.id]).fetchone()
        self.execute("DELETE FROM meta.tables WHERE id = ?", [table.id])
        self.execute("DELETE FROM meta.columns WHERE table_id = ?", [table.id])
        properties = dict(definition.properties)
        self.execute(
            "INSERT INTO meta.tables VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                table.id,
                table.db,
                table.name,
                definition.to_json(),
                definition.key_model,
                definition.comment,
                ", ".join(definition.partitioning.columns),
                ", ".join(definition.distribution),
                max(definition.buckets, 1),
                int(properties.get("replication_num", "1")),
                created[0] if created else now(),
            ],
        )
        bulk_insert(self.cursor, "meta.columns", list(_column_rows(table.id, definition)))
        self.then(lambda: setattr(table, "definition", definition))

    def rename(self, table: Table, name: str) -> None:
        self.execute("UPDATE meta.tables SET name = ? WHERE id = ?", [name, table.id])
        if table.partitioning.kind == "none":  # its one partition has the table's name
            partitions = list(table.partitions.values())
            self.detach_partitions(table, partitions)
            self.add_partitions(table, [replace(partition, name=name) for partition in partitions])

        def move() -> None:
            del self.store.databases[table.db][table.name]
            table.name = name
            self.store.databases[table.db][name] = table

        self.then(move)

    def create_view(self, view: View) -> None:
        self.execute(
            "INSERT INTO meta.views VALUES (?, ?, ?, ?, ?)",
            [view.id, view.db, view.name, view.query, json.dumps(view.columns)],
        )
        self.then(lambda: self.store.databases[view.db].__setitem__(view.name, view))

    def drop(self, relation: Table | View) -> None:
        if isinstance(relation, Table):
            self.execute(f"DROP TABLE {relation.data}")
            for table, key in (("tables", "id"), ("columns", "table_id"), ("partitions", "table_id")):
                self.execute(f"DELETE FROM meta.{table} WHERE {key} = ?", [relation.id])
        else:
            self.execute("DELETE FROM meta.views WHERE id = ?", [relation.id])
        self.then(lambda: self.store.forget(relation))

    def add_partitions(self, table: Table, partitions: Sequence[Partition]) -> None:
        bulk_insert(
            self.cursor, "meta.partitions", [_partition_row(table, partition) for partition in partitions]
        )

        def show() -> None:
            for partition in partitions:
                table.pool(partition.temporary)[partition.key] = partition

        self.then(show)

    def drop_partitions(self, table: Table, partitions: Sequence[Partition]) -> None:
        """Drop partitions and their rows. Called before `add_partitions` when names are used again."""
        self.detach_partitions(table, partitions)
        ids = ", ".join(str(partition.id) for partition in partitions)
        if ids:
            self.execute(f"DELETE FROM {table.data} WHERE __pid IN ({ids})")

    def detach_partitions(self, table: Table, partitions: Sequence[Partition]) -> None:
        """Take partitions out of the catalog and leave their rows, for `add_partitions` of the same ids."""
        if not partitions:
            return
        ids = ", ".join(str(partition.id) for partition in partitions)
        self.execute(f"DELETE FROM meta.partitions WHERE id IN ({ids})")

        def hide() -> None:
            for partition in partitions:
                table.pool(partition.temporary).pop(partition.key, None)

        self.then(hide)

    def update_partitions(self, table: Table, partitions: Sequence[Partition]) -> None:
        """Store new versions of partitions that keep their id and name."""
        self.detach_partitions(table, partitions)
        self.add_partitions(table, partitions)


class Store:
    """Databases, tables and views, kept in one DuckDB file or in memory."""

    def __init__(self, data_dir: Path | None, *, version: str, threads: int = 2) -> None:
        self.databases: dict[str, dict[str, Table | View]] = {}
        self.version = version
        self._lock = threading.Lock()
        self._ids = threading.Lock()
        self._connection = _open(data_dir)
        self._connection.execute(f"SET threads = {threads}")
        self._connection.execute("SET GLOBAL error_on_division_by_zero = false")
        self._connection.execute(_SCHEMA)
        for macro in MACROS:
            self._connection.execute(f"CREATE OR REPLACE MACRO {macro}")
        self._reserved = self._next = self._read_counter()
        self._epochs = itertools.count(time.time_ns() // 1_000_000 << 22)
        self._load()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own for one session or job."""
        return self._connection.cursor()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[Transaction]:
        """All that is done inside becomes visible at once, or not at all."""
        with self._lock:
            transaction = Transaction(self, cursor)
            cursor.execute("BEGIN")
            try:
                yield transaction
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            transaction.apply()

    def next_id(self, count: int = 1) -> int:
        """The first of `count` ids never used before, also not before a restart."""
        with self._ids:
            first = self._next
            self._next += count
            if self._next > self._reserved:
                self._reserved = self._next + _ID_BATCH
                self._connection.cursor().execute("UPDATE meta.counter SET reserved = ?", [self._reserved])
            return first

    def next_epoch(self) -> int:
        """A global transaction id: milliseconds and a sequence, as StarRocks' GtidGenerator."""
        return next(self._epochs)

    def new_partition(
        self,
        name: str,
        *,
        lower: Bound | None = None,
        upper: Bound | None = None,
        values: tuple[ListValue, ...] = (),
        temporary: bool = False,
        version: int = 1,
        rows: int = 0,
    ) -> Partition:
        return Partition(
            self.next_id(), name, version, now(), self.next_epoch(), temporary, lower, upper, values, rows
        )

    def database(self, name: str | None) -> dict[str, Table | View]:
        if name not in self.databases:
            raise unknown_database(name or "")
        return self.databases[name]

    def table(self, db: str | None, name: str) -> Table:
        relation = self.database(db).get(name)
        if not isinstance(relation, Table):
            raise unknown_table(str(db), name)
        return relation

    def forget(self, relation: Table | View) -> None:
        self.databases[relation.db].pop(relation.name, None)

    def forget_database(self, name: str) -> None:
        self.databases.pop(name, None)

    def _read_counter(self) -> int:
        row = self._connection.execute("SELECT max(reserved) FROM meta.counter").fetchone()
        if row and row[0] is not None:
            return int(row[0])
        self._connection.execute("INSERT INTO meta.counter VALUES (10001)")
        return 10001

    def _load(self) -> None:
        """Read the catalog that an earlier start left."""
        run = self._connection.execute
        self.databases = {
            name: {} for (name,) in run("SELECT name FROM meta.databases ORDER BY id").fetchall()
        }
        tables: dict[int, Table] = {}
        for id_, db, name, text in run("SELECT id, db, name, definition FROM meta.tables").fetchall():
            tables[id_] = Table(id_, db, name, Definition.from_json(text))
            self.databases[db][name] = tables[id_]
        for id_, db, name, query, columns in run("SELECT * FROM meta.views").fetchall():
            self.databases[db][name] = View(id_, db, name, query, tuple(json.loads(columns)))
        for row in run("SELECT * FROM meta.partitions ORDER BY id").fetchall():
            table = tables[row[1]]
            partition = _partition_from_row(table, row)
            table.pool(partition.temporary)[partition.key] = partition
        if "_statistics_" not in self.databases:
            with self.transaction(self.cursor()) as change:
                change.create_database("_statistics_")


def _open(data_dir: Path | None) -> duckdb.DuckDBPyConnection:
    if data_dir is None:
        # DuckDB would spill into .tmp of the working directory otherwise
        spill = Path(tempfile.gettempdir()) / "sr-assets-standin"
        return duckdb.connect(":memory:", config={"temp_directory": str(spill)})
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        return duckdb.connect(str(data_dir / "standin.duckdb"))
    except duckdb.IOException as error:
        if "lock" not in str(error).lower():
            raise
        raise StorageInUse(
            f"The data directory {data_dir} is in use by another stand-in server. "
            "Stop that server, or start this one with another --data-dir."
        ) from error


def _column_rows(table_id: int, definition: Definition) -> Iterable[Row]:
    for position, column in enumerate(definition.columns, start=1):
        decimal = column.type.arguments if column.type.base == "DECIMAL" else (None, None)
        yield (
            table_id,
            position,
            column.name,
            column.type.data_type,
            column.type.column_type,
            column.type.field,
            column.nullable,
            column.name in definition.keys,
            column.default,
            column.comment,
            column.type.max_bytes,
            decimal[0],
            decimal[1],
            "auto_increment" if column.auto_increment else "",
        )


def _partition_row(table: Table, partition: Partition) -> Row:
    return (
        partition.id,
        table.id,
        partition.name,
        partition.temporary,
        None if partition.lower is None else bounds.show_bound(partition.lower),
        None if partition.upper is None else bounds.show_bound(partition.upper),
        json.dumps(partition.values),
        bounds.value_text(table, partition),
        partition.version,
        str(partition.version_time),
        partition.epoch,
        partition.rows,
    )


def _partition_from_row(table: Table, row: Row) -> Partition:
    lower, upper = (None if text is None else bounds.parse_bound(table, text) for text in row[4:6])
    values = tuple(tuple(value) for value in json.loads(row[6]))
    return Partition(row[0], row[2], row[8], row[9], row[10], row[3], lower, upper, values, row[11])
