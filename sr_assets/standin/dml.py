"""INSERT, DELETE, UPDATE and SELECT."""

# ruff: noqa: S608 - DuckDB text is built here: names go through quote(), values through literal()

from __future__ import annotations

from collections.abc import Sequence

from sr_assets.standin.engine import Context
from sr_assets.standin.errors import ServerError, analyzing
from sr_assets.standin.jobs import Job
from sr_assets.standin.lexer import Cursor, Token, commas, text_of
from sr_assets.standin.model import Partition, Table
from sr_assets.standin.results import Done, Result, Rows
from sr_assets.standin.staging import Target, convert
from sr_assets.standin.storage import Transaction, literal, now, quote, stage_rows
from sr_assets.standin.writing import Tolerance, count_rows


def select(context: Context, cursor: Cursor) -> Result:
    if cursor.at("VALUES"):
        return context.fetch(context.translate(f"SELECT * FROM ({cursor.text}) AS v"))
    return context.fetch(context.translate(cursor.text))


def explain(context: Context, cursor: Cursor) -> Result:
    """EXPLAIN checks the query; the plan is DuckDB's."""
    cursor.accept_any("VERBOSE", "COSTS", "LOGICAL", "ANALYZE")
    query = context.translate(cursor.rest())
    rows = context.cancellation.cursor.execute(f"EXPLAIN {query.sql}").fetchall()
    return Rows(["Explain String"], [(line,) for row in rows for line in str(row[1]).splitlines()])


def insert(context: Context, cursor: Cursor) -> Result:
    """INSERT {INTO | OVERWRITE} t [TEMPORARY] [PARTITION (...)] [WITH LABEL l] [(columns)] [PROPERTIES (...)] query"""
    overwrite = cursor.accept("OVERWRITE")
    if not overwrite:
        cursor.expect("INTO")
    if cursor.at("FILES", "(") or cursor.at("BLACKHOLE", "("):
        raise cursor.unexpected()
    table = context.table(cursor)
    temporary = cursor.at("TEMPORARY", "PARTITION") and cursor.accept("TEMPORARY")
    names, values = _partitions(cursor) if cursor.accept_any("PARTITION", "PARTITIONS") else (None, None)
    label: str | None = None
    columns: tuple[str, ...] = ()
    properties: dict[str, str] = {}
    while not cursor.done():
        if cursor.accept("WITH", "LABEL"):
            label = cursor.name()
        elif cursor.accept("PROPERTIES"):
            properties = cursor.properties()
        elif cursor.at("(") and not _starts_query(cursor):
            columns = tuple(cursor.names())
        else:
            break
    variables = context.variables
    target = Target(
        table,
        columns,
        names,
        values,
        temporary,
        overwrite,
        overwrite and _dynamic(table, names, values, variables),
    )
    job = context.engine.jobs.begin(
        context.cancellation.cursor,
        db=table.db,
        table=table.name,
        label=label,
        type="INSERT",
        user=context.user,
        properties=properties,
    )
    with context.engine.writer.job(context.cancellation, job):
        query = _source(context, cursor)
        context.engine.writer.load(
            context.cancellation, job, [(target, query)], _tolerance(variables, properties)
        )
    return _loaded(job)


def _dynamic(table: Table, names: object, values: object, variables: dict[str, object]) -> bool:
    """dynamic_overwrite is silently ignored on tables without automatic partitions (StarRocks #72943)."""
    wanted = bool(variables["dynamic_overwrite"])
    return wanted and names is None and values is None and table.partitioning.automatic


def _tolerance(variables: dict[str, object], properties: dict[str, str]) -> Tolerance:
    strict = properties.get("strict_mode", str(variables["enable_insert_strict"])).lower() == "true"
    if not strict:
        return Tolerance(strict=False, ratio=None)
    ratio = properties.get("max_filter_ratio", str(variables["insert_max_filter_ratio"]))
    return Tolerance(strict=True, ratio=float(ratio))


def _loaded(job: Job) -> Done:
    status = "COMMITTED" if job.state == "COMMITTED" else "VISIBLE"
    info = f"{{'label':'{job.label}', 'status':'{status}', 'txnId':'{job.txn}'}}"
    return Done(job.loaded, job.filtered, info)


def _starts_query(cursor: Cursor) -> bool:
    depth = 0
    while (token := cursor.peek(depth)) is not None and token.upper == "(":
        depth += 1
    return token is not None and token.upper in ("SELECT", "WITH", "VALUES")


def _partitions(cursor: Cursor) -> tuple[tuple[str, ...] | None, dict[str, str | None] | None]:
    """`(p1, p2)` gives names, `(dt = '2024-01-01', city = 'LA')` values."""
    if not cursor.at("("):
        return (cursor.name(),), None
    names: list[str] = []
    values: dict[str, str | None] = {}
    for item in cursor.items():
        name = item.name()
        if item.accept("="):
            token = item.next()
            values[name] = None if token.upper == "NULL" else token.value
        else:
            names.append(name)
        item.end()
    if names and values:
        raise analyzing("PARTITION clause mixes partition names and partition values")
    return (tuple(names), None) if names else (None, values)


# Sources


def _source(context: Context, cursor: Cursor) -> str:
    """The DuckDB query that an INSERT reads from."""
    if cursor.at("VALUES"):
        cursor.next()
        return _values(context, cursor)
    query = context.translate(cursor.rest())
    if query.sleep:
        context.cancellation.pause(query.sleep)
    return query.sql


def _values(context: Context, cursor: Cursor) -> str:
    """VALUES lists. Literals go to DuckDB as data and never through a parser, so any text survives."""
    rows: list[list[list[Token]]] = []
    while True:
        rows.append(commas(cursor.brackets()))
        if not cursor.accept(","):
            break
    cursor.end()
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise ServerError("Getting analyzing error. Detail message: Values have unequal number of columns.")
    if all(_is_literal(item) for row in rows for item in row):
        texts = [[_literal_text(item) for item in row] for row in rows]
        stage_rows(context.cancellation.cursor, "given", texts, width)
        return "SELECT * FROM given"
    lists = ", ".join("(" + ", ".join(_item(context, cursor.sql, item) for item in row) + ")" for row in rows)
    return f"SELECT * FROM (VALUES {lists})"


def _is_literal(item: Sequence[Token]) -> bool:
    if len(item) == 2:
        sign, token = item
        return (sign.text in ("-", "+") and token.kind == "number") or (
            sign.upper == "_BINARY" and token.kind == "string"
        )
    return len(item) == 1 and (
        item[0].kind in ("string", "number") or item[0].upper in ("NULL", "TRUE", "FALSE", "DEFAULT")
    )


def _literal_text(item: Sequence[Token]) -> str | None:
    last = item[-1]
    if last.kind in ("string", "number"):
        return ("-" if item[0].text == "-" else "") + last.value
    return {"TRUE": "1", "FALSE": "0"}.get(last.upper)


def _item(context: Context, sql: str, item: Sequence[Token]) -> str:
    if _is_literal(item):
        return f"CAST({literal(_literal_text(item))} AS VARCHAR)"
    return f"CAST(({context.expression(text_of(sql, item))}) AS VARCHAR)"


# Changing rows in place


def delete(context: Context, cursor: Cursor) -> Result:
    """DELETE FROM t [PARTITION (...)] WHERE condition"""
    cursor.expect("FROM")
    table = context.table(cursor)
    names = cursor.names() if cursor.accept_any("PARTITION", "PARTITIONS") else None
    if not cursor.accept("WHERE"):
        raise analyzing("Delete must specify where clause to prevent full table delete")
    condition = context.expression(cursor.rest())
    return _change_rows(context, table, names, condition, None)


def update(context: Context, cursor: Cursor) -> Result:
    """UPDATE t SET column = expression, ... WHERE condition"""
    table = context.table(cursor)
    if not table.has_primary_key:
        raise analyzing(
            f"table {table.name} is not a primary key table: only primary key tables support UPDATE"
        )
    cursor.expect("SET")
    rest = cursor.tokens[cursor.position :]
    split = next((n for n, token in enumerate(rest) if token.upper == "WHERE"), None)
    if split is None:
        raise analyzing("must specify where clause to prevent full table update")
    assignments = []
    for item in commas(rest[:split]):
        part = Cursor(cursor.sql, item)
        column = table.definition.column(part.dotted_name()[-1])
        part.expect("=")
        if column.name in table.definition.keys:
            raise analyzing(f"primary key column cannot be updated: {column.name}")
        assignments.append(
            f"{quote(column.name)} = {convert(f'({context.expression(part.rest())})', '', column)}"
        )
    condition = context.expression(text_of(cursor.sql, rest[split + 1 :]))
    return _change_rows(context, table, None, condition, ", ".join(assignments))


def _change_rows(
    context: Context, table: Table, names: Sequence[str] | None, condition: str, assignments: str | None
) -> Result:
    cancellation, engine = context.cancellation, context.engine
    kind = "DELETE" if assignments is None else "UPDATE"
    if names is not None:
        table.named(names)
    job = engine.jobs.begin(
        cancellation.cursor, db=table.db, table=table.name, label=None, type=kind, user=context.user
    )

    def action(change: Transaction) -> None:
        partitions = table.named(names) if names is not None else tuple(table.partitions.values())
        ids = ", ".join(str(partition.id) for partition in partitions)
        alias = quote(table.name)
        matching = (
            f"SELECT {alias}.rowid FROM {table.data} AS {alias} WHERE __pid IN ({ids}) AND ({condition})"
        )
        touched = dict(
            change.execute(
                f"SELECT __pid, count(*) FROM {table.data} WHERE rowid IN ({matching}) GROUP BY 1"
            ).fetchall()
        )
        job.loaded = sum(touched.values())
        if assignments is None:
            change.execute(f"DELETE FROM {table.data} WHERE rowid IN ({matching})")
        else:
            change.execute(f"UPDATE {table.data} AS {alias} SET {assignments} WHERE rowid IN ({matching})")
        _bump(change, table, [partition for partition in partitions if partition.id in touched])

    with engine.writer.job(cancellation, job):
        engine.writer.publish(cancellation, job, Target(table), action)
    return _loaded(job)


def _bump(change: Transaction, table: Table, partitions: Sequence[Partition]) -> None:
    if partitions:
        rows, moment = count_rows(change, table, partitions), now()
        change.update_partitions(
            table, [partition.written(rows[partition.id], moment) for partition in partitions]
        )
