"""SHOW and DESC."""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from sr_assets.standin import bounds
from sr_assets.standin.datatypes import wire_type
from sr_assets.standin.engine import Context
from sr_assets.standin.errors import ServerError, unknown_table
from sr_assets.standin.information_schema import visible_columns
from sr_assets.standin.lexer import Cursor
from sr_assets.standin.model import Column, Partition, Table, View
from sr_assets.standin.results import Result, Rows
from sr_assets.standin.storage import literal, quote


def show(context: Context, cursor: Cursor) -> Result:
    temporary = cursor.accept("TEMPORARY")
    if cursor.accept("PARTITIONS"):
        return _partitions(context, cursor, temporary)
    full = cursor.accept("FULL")
    everywhere = cursor.accept_any("GLOBAL", "SESSION", "ALL") == "GLOBAL"
    for words, handler in _SIMPLE.items():
        if cursor.accept(*words):
            return handler(context, cursor)
    if cursor.accept("TABLES"):
        return _tables(context, cursor, full)
    if cursor.accept_any("COLUMNS", "FIELDS"):
        return _columns(context, cursor, full)
    if cursor.accept("VARIABLES"):
        return _variables(context, cursor, everywhere)
    raise cursor.unexpected()


def describe(context: Context, cursor: Cursor) -> Result:
    cursor.accept("TABLE")
    table = context.table(cursor)
    cursor.end()
    return _fields(table.definition.columns, table)


def _tail(context: Context, view: str, condition: str, cursor: Cursor, *, renamed: str = "") -> Result:
    """Rows of a view under a `[WHERE ...] [ORDER BY ...] [LIMIT ...]` in StarRocks' words."""
    columns = ", ".join(quote(name) for name in visible_columns(context.cancellation.cursor, view))
    columns = columns.replace('"Range"', f'"Range" AS {quote(renamed)}') if renamed else columns
    rows = f"SELECT {columns} FROM info.{view} WHERE {condition}"
    context.cancellation.cursor.execute(f"CREATE OR REPLACE TEMP VIEW __show AS {rows}")
    tail = re.sub(r"\bLIMIT\s+(\d+)\s*,\s*(\d+)", r"LIMIT \2 OFFSET \1", cursor.rest(), flags=re.I)
    query = context.engine.translator.rows_of("__show", tail, context.scope)
    return context.fetch(query)


def _partitions(context: Context, cursor: Cursor, temporary: bool) -> Result:
    cursor.expect("FROM")
    table = context.table(cursor)
    column = "List" if table.partitioning.kind == "list" else ""
    condition = f'"$table" = {table.id} AND "$temp" = {temporary}'
    return _tail(context, "_show_partitions", condition, cursor, renamed=column)


def _load(context: Context, cursor: Cursor) -> Result:
    db = cursor.name() if cursor.accept_any("FROM", "IN") else context.database
    if db is None:
        raise ServerError("No database selected", 1046)
    context.store.database(db)
    return _tail(context, "_show_load", f'"$db" = {literal(db)}', cursor)


def _analyze_status(context: Context, cursor: Cursor) -> Result:
    return _tail(context, "_show_analyze", "true", cursor)


def _like(cursor: Cursor, values: Sequence[str]) -> list[str]:
    """The values that an optional LIKE pattern lets through."""
    pattern = cursor.string() if cursor.accept("LIKE") else "%"
    wanted = re.compile(re.escape(pattern).replace("%", ".*").replace("_", "."), re.I | re.S)
    return [value for value in values if wanted.fullmatch(value)]


def _databases(context: Context, cursor: Cursor) -> Result:
    names = sorted([*context.store.databases, "information_schema"])
    return Rows(["Database"], [(name,) for name in _like(cursor, names)])


def _tables(context: Context, cursor: Cursor, full: bool) -> Result:
    db = cursor.name() if cursor.accept_any("FROM", "IN") else context.database
    if db is None:
        raise ServerError("No database selected", 1046)
    relations = context.store.database(db)
    names = _like(cursor, sorted(relations))
    if not full:
        return Rows([f"Tables_in_{db}"], [(name,) for name in names])
    kinds = {name: "VIEW" if isinstance(relations[name], View) else "BASE TABLE" for name in names}
    return Rows([f"Tables_in_{db}", "Table_type"], list(kinds.items()))


def _columns(context: Context, cursor: Cursor, full: bool) -> Result:
    if cursor.accept_any("FROM", "IN") is None:
        raise cursor.unexpected()
    parts = cursor.dotted_name()
    if cursor.accept_any("FROM", "IN"):
        parts = [cursor.name(), parts[-1]]
    table = context.store.table(*context.qualify(parts))
    wanted = _like(cursor, [column.name for column in table.definition.columns])
    columns = [column for column in table.definition.columns if column.name in wanted]
    if not full:
        return _fields(columns, table)
    names = ["Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment"]
    rows = [
        (c.name, c.type.sql, None, _yes(c), _key(c, table), c.default, _extra(c), "", c.comment)
        for c in columns
    ]
    return Rows(names, rows)


def _fields(columns: Sequence[Column], table: Table) -> Result:
    names = ["Field", "Type", "Null", "Key", "Default", "Extra"]
    rows = [
        (
            c.name,
            c.type.field,
            _yes(c),
            "true" if c.name in table.definition.keys else "false",
            c.default,
            _extra(c),
        )
        for c in columns
    ]
    return Rows(names, rows)


def _yes(column: Column) -> str:
    return "YES" if column.nullable else "NO"


def _key(column: Column, table: Table) -> str:
    return "YES" if column.name in table.definition.keys else "NO"


def _extra(column: Column) -> str:
    return "auto_increment" if column.auto_increment else ""


def _variables(context: Context, cursor: Cursor, everywhere: bool) -> Result:
    variables = context.session_variables
    pairs = dict(variables.pairs())
    if everywhere:
        pairs = {name: str(variables.global_variables.get(name)) for name in pairs}
    if cursor.accept("WHERE"):
        condition = context.expression(cursor.rest())
        rows = ", ".join(f"({literal(name)}, {literal(value)})" for name, value in pairs.items())
        found = context.cancellation.cursor.execute(
            f"SELECT * FROM (VALUES {rows}) AS v(Variable_name, Value) WHERE {condition}"
        ).fetchall()
        return Rows(["Variable_name", "Value"], found)
    return Rows(["Variable_name", "Value"], [(name, pairs[name]) for name in _like(cursor, list(pairs))])


def _process_list(context: Context, _: Cursor) -> Result:
    names = [
        "Id",
        "User",
        "Host",
        "Db",
        "Command",
        "ConnectionStartTime",
        "Time",
        "State",
        "Info",
        "IsPending",
    ]
    rows = [
        (
            id_,
            peer.user,
            peer.host,
            peer.database or "",
            "Query" if peer.running else "Sleep",
            "",
            int(time.time() - peer.since),
            "OK",
            peer.running,
            "false",
        )
        for id_, peer in sorted(context.engine.peers.items())
    ]
    long, text = wire_type("BIGINT"), wire_type("VARCHAR")
    return Rows(names, rows, [long, *[text] * 5, long, *[text] * 3])


def _backends(context: Context, _: Cursor) -> Result:
    config = context.engine.config
    row = {
        "BackendId": "10001",
        "IP": config.host,
        "HeartbeatPort": "9050",
        "BePort": "9060",
        "HttpPort": str(config.be_http_port),
        "BrpcPort": "8060",
        "LastStartTime": "",
        "LastHeartbeat": "",
        "Alive": "true",
        "SystemDecommissioned": "false",
        "ClusterDecommissioned": "false",
        "TabletNum": str(sum(len(db) for db in tuple(context.store.databases.values()))),
        "DataUsedCapacity": "0.000 ",
        "AvailCapacity": "1.000 GB",
        "TotalCapacity": "1.000 GB",
        "UsedPct": "0.00 %",
        "MaxDiskUsedPct": "0.00 %",
        "ErrMsg": "",
        "Version": config.version,
        "Status": '{"lastSuccessReportTabletsTime":"N/A"}',
        "CpuCores": "2",
    }
    return Rows(list(row), [tuple(row.values())])


def _compute_nodes(_context: Context, _: Cursor) -> Result:
    names = ["ComputeNodeId", "IP", "HeartbeatPort", "BePort", "HttpPort", "BrpcPort", "Alive", "Version"]
    return Rows(names, [])


def _frontends(context: Context, _: Cursor) -> Result:
    config = context.engine.config
    row = {
        "Id": "1",
        "Name": f"{config.host}_9010",
        "IP": config.host,
        "EditLogPort": "9010",
        "HttpPort": str(config.http_port),
        "QueryPort": str(config.port),
        "RpcPort": "9020",
        "Role": "LEADER",
        "Join": "true",
        "Alive": "true",
        "IsHelper": "true",
        "ErrMsg": "",
        "Version": config.version,
    }
    return Rows(list(row), [tuple(row.values())])


def _failpoints(context: Context, _: Cursor) -> Result:
    rows = context.engine.faults.list()
    return Rows(["Name", "TriggerMode", "Waiting"], [tuple(map(str, row)) for row in rows])


def _always(rows: Rows) -> Callable[[Context, Cursor], Result]:
    return lambda _context, _cursor: rows


def _create_table(context: Context, cursor: Cursor) -> Result:
    db, name = context.qualify(cursor.dotted_name())
    relation = context.store.database(db).get(name)
    if isinstance(relation, View):
        return Rows(["View", "Create View"], [(name, f"CREATE VIEW {_tick(name)} AS {relation.query};")])
    if relation is None:
        raise unknown_table(db, name)
    return Rows(["Table", "Create Table"], [(name, create_table_text(relation))])


def _tick(name: str) -> str:
    return f"`{name}`"


def create_table_text(table: Table) -> str:
    """The statement that makes this table with its partitions, in StarRocks' layout."""
    definition = table.definition
    lines = [",\n".join(f"  {_column_text(column)}" for column in definition.columns), ") ENGINE=OLAP "]
    lines.append(f"{definition.key_model} KEY({', '.join(map(_tick, definition.keys))})")
    if definition.comment:
        lines.append(f'COMMENT "{definition.comment}"')
    lines += _partition_text(table)
    by = f"HASH({', '.join(map(_tick, definition.distribution))})" if definition.distribution else "RANDOM"
    buckets = f" BUCKETS {definition.buckets} " if definition.buckets else ""
    lines.append(f"DISTRIBUTED BY {by}{buckets}")
    if definition.order_by:
        lines.append(f"ORDER BY({', '.join(map(_tick, definition.order_by))})")
    properties = {"compression": "LZ4", "replication_num": "1"} | dict(definition.properties)
    lines.append("PROPERTIES (")
    lines.append(",\n".join(f'"{key}" = "{value}"' for key, value in sorted(properties.items())))
    return f"CREATE TABLE {_tick(table.name)} (\n" + "\n".join(lines) + "\n);"


def _column_text(column: Column) -> str:
    text = f"{_tick(column.name)} {column.type.sql} {'NULL' if column.nullable else 'NOT NULL'}"
    if column.auto_increment:
        text += " AUTO_INCREMENT"
    elif column.default == "CURRENT_TIMESTAMP":
        text += " DEFAULT CURRENT_TIMESTAMP"
    elif column.default is not None:
        text += f' DEFAULT "{column.default}"'
    return f'{text} COMMENT "{column.comment}"'


def _partition_text(table: Table) -> list[str]:
    scheme = table.partitioning
    columns = ", ".join(map(_tick, scheme.columns))
    if scheme.kind == "none":
        return []
    if scheme.automatic and scheme.grain:
        if scheme.step == 1:
            return [f"PARTITION BY date_trunc('{scheme.grain}', {scheme.columns[0]})"]
        return [f"PARTITION BY time_slice({scheme.columns[0]}, INTERVAL {scheme.step} {scheme.grain})"]
    if scheme.automatic:
        return [f"PARTITION BY ({columns})"]
    partitions = sorted(table.partitions.values(), key=lambda partition: partition.id)
    if scheme.kind == "range":
        partitions = sorted(partitions, key=bounds.lower_key)
    described = ",\n".join(_described(table, partition) for partition in partitions)
    return [f"PARTITION BY {scheme.kind.upper()}({columns})", f"({described})"]


def _described(table: Table, partition: Partition) -> str:
    if table.partitioning.kind == "list":
        return f"  PARTITION {partition.name} VALUES IN {bounds.value_text(table, partition)}"
    upper = "MAXVALUE" if partition.upper is None else f'"{bounds.show_bound(partition.upper)}"'
    lower = bounds.lowest_text(table) if partition.lower is None else bounds.show_bound(partition.lower)
    return f'PARTITION {partition.name} VALUES [("{lower}"), ({upper}))'


_SIMPLE: dict[tuple[str, ...], Callable[[Context, Cursor], Result]] = {
    ("DATABASES",): _databases,
    ("SCHEMAS",): _databases,
    ("LOAD",): _load,
    ("ANALYZE", "STATUS"): _analyze_status,
    ("CREATE", "TABLE"): _create_table,
    ("CREATE", "VIEW"): _create_table,
    ("PROCESSLIST",): _process_list,
    ("BACKENDS",): _backends,
    ("COMPUTE", "NODES"): _compute_nodes,
    ("FRONTENDS",): _frontends,
    ("FAILPOINTS",): _failpoints,
    ("WARNINGS",): _always(Rows(["Level", "Code", "Message"], [])),
    ("ERRORS",): _always(Rows(["Level", "Code", "Message"], [])),
    ("ROUTINE", "LOAD"): _always(Rows(["Id", "Name", "State"], [])),
    ("RESOURCE", "GROUPS"): _always(Rows(["name", "id", "cpu_weight"], [])),
    ("COLLATION",): _always(Rows(["Collation", "Charset", "Id", "Default", "Compiled", "Sortlen"], [])),
    ("STATUS",): _always(Rows(["Variable_name", "Value"], [])),
    ("ENGINES",): _always(Rows(["Engine", "Support"], [("OLAP", "YES")])),
}
