"""One client's session: statements come in as text, answers go out as rows or as an OK.

A statement runs in a worker thread on a DuckDB cursor of its own, under a time limit, and can be
stopped from another session.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import datetime
from typing import Any

import duckdb
from mysql_mimic import ResultColumn, ResultSet
from mysql_mimic.session import BaseSession
from mysql_mimic.variables import SessionVariables

from sr_assets.standin import admin, alter, ddl, dml, loads, show
from sr_assets.standin.cancellation import Cancellation
from sr_assets.standin.engine import Context, Engine
from sr_assets.standin.errors import Cancelled, ServerError, analyzing
from sr_assets.standin.lexer import Cursor, split_statements
from sr_assets.standin.results import Done, Result
from sr_assets.standin.variables import Variables

Handler = Callable[[Context, Cursor], Result]

_STATEMENTS: dict[str, Handler] = {
    "SHOW": show.show,
    "DESC": show.describe,
    "DESCRIBE": show.describe,
    "EXPLAIN": dml.explain,
    "INSERT": dml.insert,
    "DELETE": dml.delete,
    "UPDATE": dml.update,
    "CREATE": ddl.create,
    "TRUNCATE": ddl.truncate,
    "ALTER": alter.alter,
    "LOAD": loads.load,
    "CANCEL": loads.cancel,
    "SET": admin.set_variables,
    "USE": admin.use,
    "KILL": admin.kill,
    "ADMIN": admin.admin,
    "ANALYZE": admin.analyze,
    "SUBMIT": admin.submit,
    "BEGIN": admin.accepted,
    "START": admin.accepted,
    "COMMIT": admin.accepted,
    "ROLLBACK": admin.accepted,
}
_QUERIES = ("SELECT", "WITH", "VALUES", "(")
_WRITES = ("INSERT", "DELETE", "UPDATE")
_HINT = re.compile(r"SET_VAR\s*\((.*?)\)", re.I | re.S)
_HINT_ITEM = re.compile(r"(\w+)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([\w.]+))")


class Session(BaseSession):  # type: ignore[misc]
    """What mysql-mimic asks for, over one Engine. `abort` cuts the connection."""

    def __init__(self, engine: Engine, executor: Executor, record: Callable[[Session, str], None]) -> None:
        self.engine = engine
        self.variables: SessionVariables = Variables(engine.variables)
        self.username: str | None = None
        self.database: str | None = None
        self.connection_id = 0
        self.host = ""
        self.running = ""
        self.since = time.time()
        self.last: Done = Done()
        self.abort: Callable[[], object] = lambda: None
        self._executor = executor
        self._record = record
        self._cancellation: Cancellation | None = None

    @property
    def user(self) -> str:
        return self.username or ""

    async def use(self, database: str) -> None:
        self.check_database(database)
        self.database = database

    def check_database(self, name: str) -> None:
        """Raise ServerError 5501 unless there is such a database."""
        if name.lower() not in ("information_schema", "sys"):
            self.engine.store.database(name)

    async def close(self) -> None:
        self.kill_query()
        self.engine.peers.pop(self.connection_id, None)

    def kill_query(self) -> None:
        cancellation = self._cancellation
        if cancellation is not None:
            cancellation.cancel()

    def kill_connection(self) -> None:
        self.abort()

    async def handle_query(self, sql: str, _attributes: dict[str, str]) -> ResultSet | None:
        """Run the statements of one message; the answer is the last one's."""
        self._record(self, sql)
        self.last = Done()
        result: Result = Done()
        for cursor in split_statements(sql):
            result = await self._timed(cursor)
        if isinstance(result, Done):
            self.last = result
            return None
        columns = [ResultColumn(*pair) for pair in zip(result.names, result.column_types(), strict=True)]
        return ResultSet(rows=[tuple(row) for row in result.rows], columns=columns)

    async def _timed(self, cursor: Cursor) -> Result:
        sql = cursor.text
        context = Context(
            self.engine,
            Cancellation(self.engine.store.cursor()),
            self.user,
            self.database,
            self.connection_id,
            self.variables,
            _hints(cursor),
        )
        write = any(cursor.at(word) for word in _WRITES)
        limit, refusal = self._limit(context, cursor, write)
        self.running, self.since, self._cancellation = sql, time.time(), context.cancellation
        try:
            work = asyncio.get_running_loop().run_in_executor(self._executor, run, context, cursor)
            done, _ = await asyncio.wait({work}, timeout=limit)
            if not done:
                context.cancellation.cancel(refusal)
            try:
                result = await work
            except Cancelled as error:
                # Work that committed before the limit took effect has succeeded, and says so.
                raise ServerError(refusal, 5024) if error.message == refusal else error from error
        except asyncio.CancelledError:
            context.cancellation.cancel()
            raise
        finally:
            self.running, self._cancellation = "", None
        self.database = context.database
        return result

    def _limit(self, context: Context, cursor: Cursor, write: bool) -> tuple[float, str]:
        """Seconds that the statement may take, and what is said when it took longer."""
        # Before 3.4 query_timeout limited INSERT, too.
        insert = write and self.engine.config.at_least(3, 4)
        name = "insert_timeout" if insert else "query_timeout"
        seconds = int(str(context.variables[name]))
        seconds = _timeout_property(cursor, seconds) if write else seconds
        kind = "Insert" if write else "Query"
        return seconds, (
            f"{kind} reached its timeout of {seconds} seconds, "
            f"please increase the '{name}' session variable and retry"
        )


def run(context: Context, cursor: Cursor) -> Result:
    """Run one statement in this thread. Raises ServerError, and nothing else, for what is wrong with it."""
    try:
        return _dispatch(context, cursor)
    except duckdb.InterruptException as error:
        raise Cancelled(context.cancellation.reason) from error
    except duckdb.Error as error:
        raise _translated(error) from error
    finally:
        context.cancellation.close()


def _dispatch(context: Context, cursor: Cursor) -> Result:
    token = cursor.peek()
    if token is None:
        return Done()
    if token.upper in _QUERIES:
        return dml.select(context, cursor)
    if cursor.accept("DROP", "TASK"):
        return admin.drop_task(context, cursor)
    handler = ddl.drop if token.upper == "DROP" else _STATEMENTS.get(token.upper)
    if handler is None:
        raise cursor.unexpected()
    cursor.next()
    return handler(context, cursor)


def _timeout_property(cursor: Cursor, default: int) -> int:
    """The timeout of `INSERT INTO t PROPERTIES("timeout" = "60") SELECT ...`"""
    for position, token in enumerate(cursor.tokens):
        if token.upper in ("SELECT", "VALUES"):
            break
        if token.upper == "PROPERTIES":
            properties = Cursor(cursor.sql, cursor.tokens[position + 1 :]).properties()
            return int(properties.get("timeout", default))
    return default


def _hints(cursor: Cursor) -> dict[str, str]:
    """`/*+ SET_VAR(name = value, ...) */`"""
    found = {}
    for token in cursor.hints:
        for body in _HINT.findall(token.text):
            for name, *values in _HINT_ITEM.findall(body):
                found[name] = next((value for value in values if value), "")
    return found


def _translated(error: duckdb.Error) -> ServerError:
    """DuckDB's refusal in StarRocks' words, as far as they are known."""
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    column = re.search(r'(?:Referenced column|column named) "([^"]+)"', first)
    if column is not None:
        return analyzing(f"Column '{column[1]}' cannot be resolved")
    function = re.search(r"(?:Function with name|does not exist!) ?\"?(\w+)", first)
    if isinstance(error, duckdb.CatalogException) and function is not None:
        return analyzing(f"No matching function with signature: {function[1].lower()}()")
    return analyzing(first.removeprefix("Binder Error: "))


def log_line(session: Session, sql: str) -> str:
    """One statement for the statement log."""
    entry: dict[str, Any] = {
        "time": datetime.now().isoformat(timespec="milliseconds"),
        "connection": session.connection_id,
        "user": session.user,
        "database": session.database,
        "sql": sql,
    }
    return json.dumps(entry, ensure_ascii=False)
