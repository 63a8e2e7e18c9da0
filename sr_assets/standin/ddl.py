"""CREATE, DROP and TRUNCATE of databases, tables and views."""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sr_assets.standin.datatypes import parse_type
from sr_assets.standin.engine import Context
from sr_assets.standin.errors import ServerError, analyzing, not_implemented, unknown_table
from sr_assets.standin.lexer import Cursor, Token
from sr_assets.standin.model import Column, Definition, Partitioning, Table, View
from sr_assets.standin.partition_clauses import first_partitions, parse_scheme
from sr_assets.standin.results import Done, Result


def create(context: Context, cursor: Cursor) -> Result:
    replace_view = cursor.accept("OR", "REPLACE")
    cursor.accept("EXTERNAL")
    if cursor.accept("DATABASE") or cursor.accept("SCHEMA"):
        return _create_database(context, cursor)
    if cursor.accept("VIEW"):
        return _create_view(context, cursor, replace_view)
    if cursor.accept("TABLE"):
        return _create_table(context, cursor)
    if cursor.at("MATERIALIZED"):
        raise not_implemented("materialized views")
    raise cursor.unexpected()


def drop(context: Context, cursor: Cursor) -> Result:
    if cursor.accept("DATABASE") or cursor.accept("SCHEMA"):
        return _drop_database(context, cursor)
    kind = cursor.accept_any("TABLE", "VIEW")
    if kind is None:
        raise cursor.unexpected()
    if_exists = cursor.accept("IF", "EXISTS")
    db, name = context.qualify(cursor.dotted_name())
    cursor.accept("FORCE")
    cursor.end()
    with context.store.transaction(context.cancellation.cursor) as change:
        relation = context.store.databases.get(db, {}).get(name)
        if isinstance(relation, Table if kind == "TABLE" else View):
            change.drop(relation)
        elif not if_exists:
            context.store.database(db)
            raise unknown_table(db, name)
    return Done()


def truncate(context: Context, cursor: Cursor) -> Result:
    """TRUNCATE TABLE t [PARTITION (p, ...)]: new, empty partitions under the old names."""
    cursor.expect("TABLE")
    table = context.table(cursor)
    names = cursor.names() if cursor.accept_any("PARTITION", "PARTITIONS") else None
    cursor.end()
    store = context.store
    with store.transaction(context.cancellation.cursor) as change:
        old = table.named(names) if names is not None else list(table.partitions.values())
        new = [
            store.new_partition(p.name, lower=p.lower, upper=p.upper, values=p.values, temporary=p.temporary)
            for p in old
        ]
        change.drop_partitions(table, old)
        change.add_partitions(table, new)
    return Done()


def _create_database(context: Context, cursor: Cursor) -> Result:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.dotted_name()[-1]
    if cursor.accept("PROPERTIES"):
        cursor.properties()
    cursor.end()
    with context.store.transaction(context.cancellation.cursor) as change:
        if name not in context.store.databases:
            change.create_database(name)
        elif not if_not_exists:
            raise ServerError(f"Can't create database '{name}'; database exists", 1007)
    return Done()


def _drop_database(context: Context, cursor: Cursor) -> Result:
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.dotted_name()[-1]
    cursor.accept("FORCE")
    cursor.end()
    with context.store.transaction(context.cancellation.cursor) as change:
        if name in context.store.databases:
            change.drop_database(name)
        elif not if_exists:
            raise ServerError(f"Can't drop database '{name}'; database doesn't exist", 1008)
    return Done()


def _create_view(context: Context, cursor: Cursor, or_replace: bool) -> Result:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    db, name = context.qualify(cursor.dotted_name())
    columns: tuple[str, ...] = ()
    if cursor.at("("):
        columns = tuple(item.name() for item in cursor.items())
    if cursor.accept("COMMENT"):
        cursor.string()
    cursor.expect("AS")
    view = View(context.store.next_id(), db, name, cursor.rest(), columns)
    query = context.translate(view.query)
    context.cancellation.cursor.execute(f"SELECT * FROM ({query.sql}) AS v LIMIT 0")
    with context.store.transaction(context.cancellation.cursor) as change:
        old = context.store.database(db).get(name)
        if old is not None and not (or_replace and isinstance(old, View)):
            if if_not_exists:
                return Done()
            raise analyzing(f"Table '{name}' already exists", 1050)
        if old is not None:
            change.drop(old)
        change.create_view(view)
    return Done()


def _create_table(context: Context, cursor: Cursor) -> Result:
    store = context.store
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    db, name = context.qualify(cursor.dotted_name())
    if name in store.database(db):
        return _exists(name, if_not_exists)
    if cursor.at("AS") or cursor.at("LIKE"):
        raise not_implemented(f"CREATE TABLE ... {cursor.next().upper}")
    definition, descriptions = _parse_definition(cursor)
    table = Table(store.next_id(), db, name, definition)
    if definition.partitioning.kind == "none":
        partitions = [store.new_partition(name)]
    else:
        for column in definition.partitioning.columns:
            definition.column(column)
        partitions = first_partitions(table, descriptions, store.new_partition)
    with store.transaction(context.cancellation.cursor) as change:
        if name in store.database(db):
            return _exists(name, if_not_exists)
        change.create_table(table, partitions)
    return Done()


def _exists(name: str, if_not_exists: bool) -> Result:
    if if_not_exists:
        return Done()
    raise analyzing(f"Table '{name}' already exists", 1050)


def _parse_definition(cursor: Cursor) -> tuple[Definition, list[Cursor]]:
    columns, keys = [], []
    for item in cursor.items():
        if item.at("INDEX"):
            continue
        column, is_key = parse_column(item)
        columns.append(column)
        keys += [column.name] if is_key else []
    definition = Definition(tuple(columns), "DUPLICATE", tuple(keys or [columns[0].name]))
    descriptions: list[Cursor] = []
    while not cursor.done():
        if cursor.accept("PARTITION", "BY"):
            scheme, descriptions = parse_scheme(cursor)
            definition = replace(definition, partitioning=_spelled(definition, scheme))
        else:
            definition = _table_option(definition, cursor)
    return _with_keys(definition), descriptions


def _spelled(definition: Definition, scheme: Partitioning) -> Partitioning:
    """The scheme with its columns spelled as the table spells them."""
    return replace(scheme, columns=tuple(definition.column(name).name for name in scheme.columns))


def _table_option(definition: Definition, cursor: Cursor) -> Definition:
    model = cursor.accept_any("DUPLICATE", "PRIMARY", "UNIQUE", "AGGREGATE")
    if model == "AGGREGATE":
        raise not_implemented("AGGREGATE KEY tables")
    if model is not None:
        cursor.expect("KEY")
        keys = tuple(definition.column(name).name for name in cursor.names())
        return replace(definition, key_model=model, keys=keys)
    if cursor.accept("ENGINE"):
        cursor.expect("=")
        cursor.name()
        return definition
    if cursor.accept("COMMENT"):
        return replace(definition, comment=cursor.string())
    if cursor.accept("DISTRIBUTED", "BY"):
        columns: tuple[str, ...] = ()
        if not cursor.accept("RANDOM"):
            cursor.expect("HASH")
            columns = tuple(definition.column(name).name for name in cursor.names())
        buckets = cursor.integer() if cursor.accept("BUCKETS") else 0
        return replace(definition, distribution=columns, buckets=buckets)
    if cursor.accept("ORDER", "BY"):
        return replace(definition, order_by=tuple(definition.column(name).name for name in cursor.names()))
    if cursor.accept("PROPERTIES"):
        return replace(definition, properties=tuple(cursor.properties().items()))
    raise cursor.unexpected()


def _with_keys(definition: Definition) -> Definition:
    """Key columns of a primary key are NOT NULL, and must hold the partition columns."""
    if definition.key_model != "PRIMARY":
        return definition
    outside = set(definition.partitioning.columns) - set(definition.keys)
    if outside:
        raise analyzing(f"The partition column {', '.join(sorted(outside))} must be part of the primary key")
    columns = tuple(
        replace(column, nullable=column.nullable and column.name not in definition.keys)
        for column in definition.columns
    )
    return replace(definition, columns=columns)


def parse_column(cursor: Cursor) -> tuple[Column, bool]:
    """`name type [KEY] [NULL | NOT NULL] [DEFAULT ...] [AUTO_INCREMENT] [COMMENT '...']`, and whether a key."""
    name = cursor.name()
    column = Column(name, parse_type(_type_tokens(cursor)))
    is_key = False
    while not cursor.done():
        if cursor.accept("NOT", "NULL"):
            column = replace(column, nullable=False)
        elif cursor.accept("NULL"):
            column = replace(column, nullable=True)
        elif cursor.accept("KEY"):
            is_key = True
        elif cursor.accept("DEFAULT"):
            column = replace(column, default=_default(cursor))
        elif cursor.accept("AUTO_INCREMENT"):
            column = replace(column, auto_increment=True, nullable=False)
        elif cursor.accept("COMMENT"):
            column = replace(column, comment=cursor.string())
        elif cursor.at("SUM") or cursor.at("REPLACE") or cursor.at("MIN") or cursor.at("MAX"):
            raise not_implemented("aggregate columns")
        else:
            break
    return column, is_key


def _type_tokens(cursor: Cursor) -> Sequence[Token]:
    """A type's name and its brackets, such as `DECIMAL(10, 2)` or `ARRAY<INT>`."""
    tokens = [cursor.next()]
    depth = 0
    while (token := cursor.peek()) is not None and (depth or token.text in ("(", "<")):
        depth += (token.text in ("(", "<")) - (token.text in (")", ">"))
        tokens.append(cursor.next())
    return tokens


def _default(cursor: Cursor) -> str | None:
    if cursor.accept("NULL"):
        return None
    if cursor.accept("("):
        raise not_implemented("expressions as defaults")
    if cursor.accept_any("CURRENT_TIMESTAMP", "NOW"):
        if cursor.at("("):
            cursor.brackets()
        return "CURRENT_TIMESTAMP"
    sign = "-" if cursor.accept("-") else ""
    return sign + cursor.next().value
