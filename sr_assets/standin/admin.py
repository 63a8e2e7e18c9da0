"""SET, USE, KILL, ANALYZE, SUBMIT TASK, fail points, and statements that need no answer."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping

from sr_assets.standin.cancellation import Cancellation
from sr_assets.standin.dml import insert
from sr_assets.standin.engine import Context
from sr_assets.standin.errors import ServerError, analyzing, not_implemented
from sr_assets.standin.lexer import Cursor, Token, commas, text_of
from sr_assets.standin.results import Done, Result, Rows
from sr_assets.standin.storage import now


def accepted(_context: Context, _cursor: Cursor) -> Result:
    """BEGIN, COMMIT, ROLLBACK and the like: no-ops, as in StarRocks before 3.5. Nothing is rolled back."""
    return Done()


def use(context: Context, cursor: Cursor) -> Result:
    context.use(cursor.dotted_name()[-1])
    cursor.end()
    return Done()


def set_variables(context: Context, cursor: Cursor) -> Result:
    """SET [SESSION | GLOBAL] name = value, ...; SET NAMES and SET CHARACTER SET change nothing."""
    if cursor.at("NAMES") or cursor.at("CHARACTER", "SET") or cursor.at("CHARSET"):
        return Done()
    if cursor.at("TRANSACTION") or cursor.at("SESSION", "TRANSACTION") or cursor.at("GLOBAL", "TRANSACTION"):
        return Done()
    if cursor.at("CATALOG"):
        return Done()
    for tokens in commas(cursor.tokens[cursor.position :]):
        _set_one(context, Cursor(cursor.sql, tokens))
    return Done()


def _set_one(context: Context, cursor: Cursor) -> None:
    everywhere = False
    if cursor.accept("@"):
        raise not_implemented("user-defined variables")
    cursor.accept("@@")
    scope = cursor.accept_any("GLOBAL", "SESSION", "LOCAL")
    if scope is not None:
        everywhere = scope == "GLOBAL"
        cursor.accept(".")
    name = cursor.name()
    cursor.accept(":")
    cursor.expect("=")
    value = cursor.tokens[cursor.position :]
    context.session_variables.assign(name, _value(context, cursor.sql, value), everywhere=everywhere)


def _value(context: Context, sql: str, tokens: list[Token]) -> str:
    if len(tokens) == 1 and tokens[0].kind in ("word", "string", "number", "quoted"):
        return tokens[0].value
    row = context.cancellation.cursor.execute(f"SELECT {context.expression(text_of(sql, tokens))}").fetchone()
    return "" if row is None else str(row[0])


def kill(context: Context, cursor: Cursor) -> Result:
    """KILL [QUERY | CONNECTION] id"""
    query_only = cursor.accept("QUERY")
    cursor.accept("CONNECTION")
    connection_id = cursor.integer()
    peer = context.engine.peers.get(connection_id)
    if peer is None:
        raise ServerError(f"Unknown thread id: {connection_id}", 1094)
    peer.kill_query()
    if not query_only:
        peer.kill_connection()
    return Done()


def admin(context: Context, cursor: Cursor) -> Result:
    """ADMIN {ENABLE | DISABLE} FAILPOINT 'point' [WITH n TIMES], ADMIN SET ..., ADMIN SHOW ..."""
    enable = cursor.accept("ENABLE")
    if not enable and not cursor.accept("DISABLE"):
        if cursor.accept("SET"):
            return Done()
        raise cursor.unexpected()
    cursor.expect("FAILPOINT")
    point = cursor.string()
    times = None
    if enable and cursor.accept("WITH"):
        times = cursor.integer()
        cursor.expect("TIMES")
    if enable and cursor.accept("ON"):
        cursor.position = len(cursor.tokens)
    cursor.end()
    name, _, label = point.partition(":")
    if name == "label_forgotten":
        # Not a point that a statement passes, but an event: the labels age out now.
        if enable:
            context.engine.jobs.forget(context.cancellation.cursor, label or None)
    elif enable:
        context.engine.faults.enable(point, times)
    else:
        context.engine.faults.disable(point)
    return Done()


def analyze(context: Context, cursor: Cursor) -> Result:
    """ANALYZE [FULL | SAMPLE] TABLE t [(columns)] [PARTITION (...)] [WITH {SYNC | ASYNC} MODE] [PROPERTIES (...)]"""
    kind = cursor.accept_any("FULL", "SAMPLE") or "FULL"
    if cursor.at("PROFILE"):
        raise not_implemented("ANALYZE PROFILE")
    cursor.expect("TABLE")
    table = context.table(cursor)
    columns = ["ALL"]
    if cursor.at("("):
        columns = [table.definition.column(name).name for name in cursor.names()]
    if cursor.at("PARTITION") or cursor.at("PARTITIONS"):
        if not context.engine.config.at_least(3, 5):
            raise cursor.unexpected()
        cursor.next()
        table.named(cursor.names())
    if cursor.accept("WITH"):
        if cursor.accept_any("SYNC", "ASYNC") is None:
            raise cursor.unexpected()
        cursor.expect("MODE")
    properties = cursor.properties() if cursor.accept("PROPERTIES") else {}
    cursor.end()
    moment = now()
    with context.store.transaction(context.cancellation.cursor) as change:
        change.execute(
            "INSERT INTO meta.analyzed VALUES (?, ?, ?, ?, ?, 'SUCCESS', ?, ?, ?, '')",
            [
                context.store.next_id(),
                table.db,
                table.name,
                ",".join(columns),
                kind,
                moment,
                moment,
                json.dumps(properties),
            ],
        )
    return Rows(
        ["Table", "Op", "Msg_type", "Msg_text"], [(f"{table.db}.{table.name}", "analyze", "status", "OK")]
    )


def submit(context: Context, cursor: Cursor) -> Result:
    """SUBMIT TASK [name] [PROPERTIES (...)] AS INSERT ...; its runs are in information_schema.task_runs"""
    cursor.expect("TASK")
    name = f"ctas-{uuid.uuid4()}"
    if not cursor.at("AS") and not cursor.at("PROPERTIES"):
        name = cursor.dotted_name()[-1]
    properties = cursor.properties() if cursor.accept("PROPERTIES") else {}
    cursor.expect("AS")
    if not cursor.at("INSERT"):
        raise cursor.unexpected()
    definition = cursor.rest()
    context.qualify([name])
    query_id = str(uuid.uuid4())
    with context.store.transaction(context.cancellation.cursor) as change:
        if change.execute("SELECT 1 FROM meta.tasks WHERE name = ?", [name]).fetchone():
            raise analyzing(f"Task [{name}] already exists")
        change.execute(
            "INSERT INTO meta.tasks VALUES (?, ?, ?, NULL, 'PENDING', ?, ?, 0, NULL, '0%')",
            [query_id, name, now(), context.database, definition],
        )
    context.engine.background(f"task-{name}", lambda: _run_task(context, query_id, definition, properties))
    return Rows(["TaskName", "Status"], [(name, "SUBMITTED")])


def drop_task(context: Context, cursor: Cursor) -> Result:
    """DROP TASK [IF EXISTS] name"""
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.dotted_name()[-1]
    cursor.accept("FORCE")
    cursor.end()
    with context.store.transaction(context.cancellation.cursor) as change:
        found = change.execute("DELETE FROM meta.tasks WHERE name = ? RETURNING name", [name]).fetchall()
        if not found and not if_exists:
            raise analyzing(f"Task {name} is not exist")
    return Done()


def _run_task(context: Context, query_id: str, definition: str, properties: Mapping[str, str]) -> None:
    hints = {
        key.removeprefix("session."): value for key, value in properties.items() if key.startswith("session.")
    }
    cancellation = Cancellation(context.store.cursor())
    own = Context(
        context.engine,
        cancellation,
        context.user,
        context.database,
        context.connection_id,
        context.session_variables,
        hints,
    )

    def record(state: str, code: int = 0, message: str | None = None) -> None:
        finished = None if state == "RUNNING" else now()
        with context.store.transaction(cancellation.cursor) as change:
            change.execute(
                "UPDATE meta.tasks SET state = ?, finished = ?, error_code = ?, error = ?, progress = ? "
                "WHERE query_id = ?",
                [state, finished, code, message, "100%" if state == "SUCCESS" else "0%", query_id],
            )

    try:
        record("RUNNING")
        statement = Cursor(definition)
        statement.expect("INSERT")
        insert(own, statement)
        record("SUCCESS")
    except ServerError as error:
        record("FAILED", error.code, error.message)
    finally:
        cancellation.close()
