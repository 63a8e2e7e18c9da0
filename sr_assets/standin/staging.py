"""The SQL of staging: typed rows, which of them are bad, and which partition each belongs to."""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from sr_assets.standin import bounds
from sr_assets.standin.errors import analyzing
from sr_assets.standin.model import Bound, Column, ListValue, Partition, Table
from sr_assets.standin.storage import literal, now, quote, stage_rows

_MAX_TRACKED = 5
_FEW = 4  # partitions that a CASE finds faster than a join


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go. `columns` are those the source has, in its order; empty means all of the table's.

    `names` are the partitions of a PARTITION clause, `values` those of `PARTITION(dt='2024-01-01')`.
    """

    table: Table
    columns: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    values: Mapping[str, str | None] | None = None
    temporary: bool = False
    overwrite: bool = False
    dynamic: bool = False


def typed_query(cursor: duckdb.DuckDBPyConnection, target: Target, query: str, strict: bool) -> str:
    """A query with all of the table's columns in their types, and `__bad` for rows that must not go in."""
    table = target.table
    given = [table.definition.column(name) for name in target.columns] or list(table.definition.columns)
    description = cursor.execute(f"SELECT * FROM ({query}) AS s LIMIT 0").description
    if len(description) != len(given):
        raise analyzing(
            f"Inserted target column count: {len(given)} doesn't match select/value column count: {len(description)}"
        )
    sources = {column.name: (f"s.c{n}", str(description[n][1])) for n, column in enumerate(given)}
    columns, bad = [], ["false"]
    for column in table.definition.columns:
        source, source_type = sources.get(column.name) or (_default(table, column), "VARCHAR")
        value = convert(source, source_type, column)
        columns.append(f"{value} AS {quote(column.name)}")
        if not column.nullable:
            bad.append(f"{value} IS NULL")
        if strict and value != source:
            bad.append(f"{source} IS NOT NULL AND {value} IS NULL")
        if column.type.max_bytes is not None:
            bad.append(f"strlen({value}) > {column.type.max_bytes}")
    names = ", ".join(f"c{n}" for n in range(len(given)))
    return f"SELECT {', '.join(columns)}, coalesce({' OR '.join(bad)}, false) AS __bad FROM ({query}) AS s({names})"


def convert(source: str, source_type: str, column: Column) -> str:
    """DuckDB text that converts to the column's type; NULL where that fails."""
    stored = column.type.stored
    if source_type == stored:
        return source
    if stored in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"):
        return f"TRY_CAST(sr_whole({source}) AS {stored})"
    return f"TRY_CAST({source} AS {stored})"


def _default(table: Table, column: Column) -> str:
    if column.auto_increment:
        return f"((SELECT coalesce(max({quote(column.name)}), 0) FROM {table.data}) + row_number() OVER ())"
    if column.default == "CURRENT_TIMESTAMP":
        return literal(now())
    if column.default is None and not column.nullable:
        raise analyzing(f"'{column.name}' must be explicitly mentioned in column permutation")
    return f"CAST({literal(column.default)} AS VARCHAR)"


def assigned_query(
    cursor: duckdb.DuckDBPyConnection, table: Table, stage: str, partitions: Sequence[Partition]
) -> str:
    """The staged rows and the id of their partition, NULL for bad rows and rows outside of all of them."""
    scheme = table.partitioning
    columns = ", ".join(f"s.{quote(column.name)}" for column in table.definition.columns)
    columns += ", s.rowid AS __row"
    if scheme.kind == "none":
        ids = partitions[0].id
        return f"SELECT {columns}, CASE WHEN s.__bad THEN NULL ELSE {ids} END AS __pid FROM {stage} AS s"
    if scheme.kind == "list":
        entries = [(*value, partition.id) for partition in partitions for value in partition.values]
        stage_rows(cursor, "targets", entries, width=len(scheme.columns) + 1)
        on = " AND ".join(
            f"CAST(s.{quote(column)} AS VARCHAR) IS NOT DISTINCT FROM t.c{n}"
            for n, column in enumerate(scheme.columns)
        )
        pid = f"CAST(t.c{len(scheme.columns)} AS BIGINT)"
        return (
            f"SELECT {columns}, CASE WHEN s.__bad THEN NULL ELSE {pid} END AS __pid "
            f"FROM {stage} AS s LEFT JOIN targets AS t ON {on}"
        )
    return _assigned_by_range(cursor, table, stage, columns, partitions)


def _assigned_by_range(
    cursor: duckdb.DuckDBPyConnection, table: Table, stage: str, columns: str, partitions: Sequence[Partition]
) -> str:
    """NULL is below every value, so it goes to the partition without a lower bound."""
    column = f"s.{quote(table.partitioning.columns[0])}"
    kind = table.bound_type.stored if table.bound_type.base in ("DATE", "DATETIME") else "HUGEINT"
    low = "CAST('0001-01-01' AS {})" if kind != "HUGEINT" else "CAST('-9223372036854775808' AS {})"
    low = low.format(kind)
    if len(partitions) <= _FEW:
        cases = "".join(
            f" WHEN {_in_range(f'coalesce({column}, {low})', kind, partition)} THEN {partition.id}"
            for partition in partitions
        )
        return f"SELECT {columns}, CASE WHEN s.__bad THEN NULL{cases} END AS __pid FROM {stage} AS s"
    rows = [
        (_bound_text(partition.lower), _bound_text(partition.upper), partition.id) for partition in partitions
    ]
    stage_rows(cursor, "targets", rows, width=3)
    return (
        f"SELECT {columns}, CASE WHEN s.__bad THEN NULL "
        f"WHEN t.upper IS NULL OR coalesce({column}, {low}) < t.upper THEN t.id END AS __pid "
        f"FROM {stage} AS s ASOF LEFT JOIN ("
        f"SELECT coalesce(CAST(c0 AS {kind}), {low}) AS lower, CAST(c1 AS {kind}) AS upper, "
        f"CAST(c2 AS BIGINT) AS id FROM targets"
        f") AS t ON coalesce({column}, {low}) >= t.lower"
    )


def _in_range(value: str, kind: str, partition: Partition) -> str:
    conditions = ["true"]
    if partition.lower is not None:
        conditions.append(f"{value} >= CAST('{partition.lower}' AS {kind})")
    if partition.upper is not None:
        conditions.append(f"{value} < CAST('{partition.upper}' AS {kind})")
    return " AND ".join(conditions)


def _bound_text(bound: Bound | None) -> str | None:
    return None if bound is None else bounds.show_bound(bound)


def bad_examples(cursor: duckdb.DuckDBPyConnection, table: Table, assigned: str) -> tuple[str, ...]:
    columns = ", ".join(quote(column.name) for column in table.definition.columns)
    rows = cursor.execute(
        f"SELECT {columns} FROM ({assigned}) WHERE __pid IS NULL LIMIT {_MAX_TRACKED}"
    ).fetchall()
    reason = "The row is out of partition ranges, or a value is NULL, too long or not of its column's type"
    return tuple(
        f"Error: {reason}. Row: [{', '.join('NULL' if value is None else str(value) for value in row)}]"
        for row in rows
    )


# Automatic partitions


def partition_value(table: Table, values: Mapping[str, str | None]) -> ListValue:
    """The key that `PARTITION(dt='2024-01-01', city='LA')` names."""
    scheme = table.partitioning
    if not scheme.automatic:
        raise analyzing("No partition specified in partition lists")
    given = {name.lower(): value for name, value in values.items()}
    if set(given) != {column.lower() for column in scheme.columns}:
        raise analyzing("Partition column size in PARTITION clause must equal the table's partition columns")
    key = tuple(
        bounds.normalize_value(table.definition.column(column), given[column.lower()])
        for column in scheme.columns
    )
    if scheme.kind == "range" and key[0] is None:
        raise analyzing("NULL is no partition value of a time expression")
    return key


def keys_in(cursor: duckdb.DuckDBPyConnection, table: Table, stage: str) -> list[ListValue]:
    """The partition keys of staged rows, as texts."""
    scheme = table.partitioning
    keys = [f"CAST({quote(column)} AS VARCHAR)" for column in scheme.columns]
    if scheme.kind == "range":
        column = quote(scheme.columns[0])
        grain = scheme.grain if scheme.step == 1 else "minute"
        keys = [f"CAST(CAST(date_trunc('{grain}', {column}) AS {table.bound_type.stored}) AS VARCHAR)"]
    condition = f" AND {quote(scheme.columns[0])} IS NOT NULL" if scheme.kind == "range" else ""
    query = f"SELECT DISTINCT {', '.join(keys)} FROM {stage} WHERE NOT __bad{condition} ORDER BY ALL"
    return [tuple(row) for row in cursor.execute(query).fetchall()]
