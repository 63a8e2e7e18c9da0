"""ALTER TABLE: partitions, columns, properties and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sr_assets.standin import bounds
from sr_assets.standin.ddl import parse_column
from sr_assets.standin.engine import Context
from sr_assets.standin.errors import ServerError, analyzing, not_implemented
from sr_assets.standin.lexer import Cursor, commas
from sr_assets.standin.model import Column, Definition, Partition, Table
from sr_assets.standin.partition_clauses import every, single
from sr_assets.standin.results import Done, Result
from sr_assets.standin.storage import literal, quote


def alter(context: Context, cursor: Cursor) -> Result:
    if cursor.at("MATERIALIZED"):
        raise not_implemented("materialized views")
    cursor.expect("TABLE")
    table = context.table(cursor)
    actions = [Cursor(cursor.sql, tokens) for tokens in commas(cursor.tokens[cursor.position :])]
    for action in actions:
        _alter(context, table, action)
    return Done()


def _alter(context: Context, table: Table, cursor: Cursor) -> None:
    if cursor.accept("ADD"):
        if cursor.accept("COLUMN"):
            _add_columns(context, table, [cursor])
        elif cursor.at("("):
            _add_columns(context, table, cursor.items())
        else:
            _add_partitions(context, table, cursor)
    elif cursor.accept("DROP"):
        if cursor.accept("COLUMN"):
            _drop_column(context, table, cursor.name())
        else:
            _drop_partitions(context, table, cursor)
    elif cursor.accept("REPLACE"):
        _replace_partitions(context, table, cursor)
    elif cursor.accept("MODIFY"):
        cursor.expect("COLUMN")
        _modify_column(context, table, cursor)
    elif cursor.accept("RENAME"):
        _rename(context, table, cursor)
    elif cursor.accept("SET"):
        _set_properties(context, table, cursor.properties())
    elif cursor.accept("COMMENT"):
        cursor.expect("=")
        _define(context, table, replace(table.definition, comment=cursor.string()))
    else:
        raise cursor.unexpected()
    cursor.end()


# Partitions


def _add_partitions(context: Context, table: Table, cursor: Cursor) -> None:
    """Names are compared before ranges, and IF NOT EXISTS compares names only."""
    store = context.store
    temporary = cursor.accept("TEMPORARY")
    scheme = table.partitioning
    if scheme.kind == "none":
        raise analyzing(f"Table {table.name} is not partitioned, partitions cannot be added")
    if_not_exists = False
    if cursor.accept("PARTITIONS"):
        added = every(table, cursor, store.new_partition, temporary=temporary)
        if cursor.at("("):
            cursor.properties()
    else:
        if scheme.automatic and scheme.kind == "range" and not temporary:
            raise analyzing(
                "Currently, you cannot manually add a single range partition to a table that is automatically "
                "partitioned. Use ADD PARTITIONS START .. END .. EVERY"
            )
        existing = list(table.pool(temporary).values())
        described = single(table, cursor, store.new_partition, existing=existing, temporary=temporary)
        added, if_not_exists = [described.partition], described.if_not_exists
    if cursor.accept("DISTRIBUTED", "BY"):
        if not cursor.accept("RANDOM"):
            cursor.expect("HASH")
            cursor.names()
        if cursor.accept("BUCKETS"):
            cursor.integer()
    cursor.accept("PROPERTIES")
    if cursor.at("("):
        cursor.properties()
    cursor.end()
    with store.transaction(context.cancellation.cursor) as change:
        pool = table.pool(temporary)
        if if_not_exists and added[0].key in pool:
            return
        for partition in added:
            if partition.key in pool:
                raise ServerError(f"Duplicate partition name {partition.name}", 1517)
        bounds.check_no_overlap(table, added, pool.values())
        change.add_partitions(table, added)


def _drop_partitions(context: Context, table: Table, cursor: Cursor) -> None:
    temporary = cursor.accept("TEMPORARY")
    if cursor.accept_any("PARTITION", "PARTITIONS") is None:
        raise cursor.unexpected()
    if_exists = cursor.accept("IF", "EXISTS")
    if cursor.at("WHERE"):
        raise not_implemented("DROP PARTITIONS WHERE")
    names = cursor.names()
    cursor.accept("FORCE")
    cursor.end()
    with context.store.transaction(context.cancellation.cursor) as change:
        pool = table.pool(temporary)
        for name in names:
            if name.lower() not in pool and not if_exists:
                raise ServerError(f"Error in list of partitions to [{name}]", 1507)
        found = {name.lower(): pool[name.lower()] for name in names if name.lower() in pool}
        change.drop_partitions(table, list(found.values()))


def _replace_partitions(context: Context, table: Table, cursor: Cursor) -> None:
    """REPLACE PARTITION (...) WITH TEMPORARY PARTITION (...) [PROPERTIES(...)], all of them at once."""
    cursor.expect("PARTITION")
    names = cursor.names()
    cursor.expect("WITH", "TEMPORARY", "PARTITION")
    temporary_names = cursor.names()
    properties = cursor.properties() if cursor.accept("PROPERTIES") else {}
    cursor.end()
    strict = properties.get("strict_range", "true").lower() == "true"
    keep_names = properties.get("use_temp_partition_name", "false").lower() == "true"
    with context.store.transaction(context.cancellation.cursor) as change:
        old = table.named(names)
        temporary = table.named(temporary_names, temporary=True)
        if strict and _extent(table, old) != _extent(table, temporary):
            raise analyzing(
                "The ranges of the replaced partitions and of the temporary partitions must be the same"
            )
        if not strict:
            others = [partition for partition in table.partitions.values() if partition not in old]
            bounds.check_no_overlap(table, temporary, others)
        take_names = not keep_names and len(old) == len(temporary)
        new = [
            replace(partition, temporary=False, name=old[n].name if take_names else partition.name)
            for n, partition in enumerate(temporary)
        ]
        change.drop_partitions(table, old)
        change.detach_partitions(table, temporary)
        change.add_partitions(table, new)


def _extent(table: Table, partitions: Sequence[Partition]) -> object:
    """What partitions hold together: adjacent ranges merged, or the set of list values."""
    if table.partitioning.kind != "range":
        return {value for partition in partitions for value in partition.values}
    merged: list[list[object]] = []
    for partition in sorted(partitions, key=bounds.lower_key):
        if merged and merged[-1][1] == partition.lower:
            merged[-1][1] = partition.upper
        else:
            merged.append([partition.lower, partition.upper])
    return merged


# Columns, properties, names


def _define(context: Context, table: Table, definition: Definition, *statements: str) -> None:
    with context.store.transaction(context.cancellation.cursor) as change:
        for statement in statements:
            change.execute(statement)
        change.define(table, definition)


def _check_no_temporary(table: Table) -> None:
    if table.temporary:
        raise analyzing(f"Can not alter table when there are temp partitions in table {table.name}")


def _add_columns(context: Context, table: Table, items: Sequence[Cursor]) -> None:
    for item in items:
        _check_no_temporary(table)
        column, _ = parse_column(item)
        columns = list(table.definition.columns)
        if any(existing.name.lower() == column.name.lower() for existing in columns):
            raise analyzing(f"Duplicate column name '{column.name}'", 1060)
        position = len(columns)
        if item.accept("FIRST"):
            position = 0
        elif item.accept("AFTER"):
            position = columns.index(table.definition.column(item.name())) + 1
        item.end()
        columns.insert(position, column)
        default = (
            "" if column.default in (None, "CURRENT_TIMESTAMP") else f" DEFAULT {literal(column.default)}"
        )
        _define(
            context,
            table,
            replace(table.definition, columns=tuple(columns)),
            f"ALTER TABLE {table.data} ADD COLUMN {quote(column.name)} {column.type.stored}{default}",
        )


def _drop_column(context: Context, table: Table, name: str) -> None:
    _check_no_temporary(table)
    column = table.definition.column(name)
    if column.name in (*table.definition.keys, *table.partitioning.columns, *table.definition.distribution):
        raise analyzing(f"Can not drop key, partition or distribution column {column.name}")
    columns = tuple(other for other in table.definition.columns if other != column)
    _define(
        context,
        table,
        replace(table.definition, columns=columns),
        f"ALTER TABLE {table.data} DROP COLUMN {quote(column.name)}",
    )


def _modify_column(context: Context, table: Table, cursor: Cursor) -> None:
    _check_no_temporary(table)
    column, _ = parse_column(cursor)
    old = table.definition.column(column.name)
    columns: tuple[Column, ...] = tuple(
        replace(column, name=old.name) if other == old else other for other in table.definition.columns
    )
    _define(
        context,
        table,
        replace(table.definition, columns=columns),
        f"ALTER TABLE {table.data} ALTER COLUMN {quote(old.name)} TYPE {column.type.stored}",
    )


def _set_properties(context: Context, table: Table, properties: dict[str, str]) -> None:
    merged = dict(table.definition.properties) | properties
    _define(context, table, replace(table.definition, properties=tuple(merged.items())))


def _rename(context: Context, table: Table, cursor: Cursor) -> None:
    if cursor.accept("PARTITION"):
        old, new = cursor.name(), cursor.name()
        cursor.end()
        with context.store.transaction(context.cancellation.cursor) as change:
            (partition,) = table.named([old])
            if new.lower() in table.partitions:
                raise ServerError(f"Duplicate partition name {new}", 1517)
            change.detach_partitions(table, [partition])
            change.add_partitions(table, [replace(partition, name=new)])
        return
    if cursor.accept("COLUMN"):
        _rename_column(context, table, cursor)
        return
    name = cursor.name()
    cursor.end()
    with context.store.transaction(context.cancellation.cursor) as change:
        if name in context.store.database(table.db):
            raise analyzing(f"Table name[{name}] is already used", 1050)
        change.rename(table, name)


def _rename_column(context: Context, table: Table, cursor: Cursor) -> None:
    old = table.definition.column(cursor.name())
    cursor.accept("TO")
    new = cursor.name()
    columns = tuple(replace(c, name=new) if c == old else c for c in table.definition.columns)
    definition = replace(table.definition, columns=columns)
    _define(
        context,
        table,
        definition,
        f"ALTER TABLE {table.data} RENAME COLUMN {quote(old.name)} TO {quote(new)}",
    )
