"""One connection to StarRocks: statements, their errors, and the statement log."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from sr_assets.errors import ConnectFailed, DeclarationError, StarRocksError
from sr_assets.starrocks.drivers import (
    DBAPIConnection,
    as_text,
    connect_failure,
    failure,
    is_driver_error,
    switch_on_autocommit,
    use_utf8,
)
from sr_assets.starrocks.log import StatementLog
from sr_assets.starrocks.quoting import Scalar, bind, literal
from sr_assets.starrocks.transient import connection_lost

# Seconds of silence after which a connection is tried before it carries a statement that must not be sent
# twice.
IDLE_SECONDS = 1.0
CONNECT_TIMEOUT = 10.0
# StarRocks' own default for insert_timeout is 14,400 s (3.4+); a silent server is given up a little later.
READ_TIMEOUT = 14_400.0 + 300.0

_READ_ONLY = re.compile(r"\s*(SELECT|SHOW|WITH|DESC|DESCRIBE|EXPLAIN)\b", re.IGNORECASE)
_LATEST = (4, 1, 0)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """The FE's HTTP address, for Stream Load.

    `known_hosts` are the hosts to which a redirect may carry user and password: backends and compute nodes.
    The endpoint's own host is always one.
    """

    url: str
    user: str
    password: str = field(repr=False)
    known_hosts: frozenset[str] = frozenset()


class Session:
    """One server, one connection at a time, for use from one thread.

    A connection that was lost between two statements is opened again. A statement that was under way when
    the connection was lost is sent again only if it reads; of a write nobody knows what it did, so the caller
    gets a transient StarRocksError and has to look at the label and the partition.
    Session variables do not survive a new connection: set them with `variables()`, around one statement.
    """

    def __init__(
        self,
        connect: Callable[[], DBAPIConnection],
        *,
        http: HttpEndpoint | None = None,
        log: StatementLog | None = None,
    ) -> None:
        self._connect = connect
        self._connection: DBAPIConnection | None = None
        self._last_used = 0.0
        self._version: tuple[int, int, int] | None = None
        self.http = http
        self.log = log or StatementLog()

    def query(self, sql: str, params: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Rows of a statement that reads. Raises StarRocksError.

        Each `%s` is filled with a literal if `params` is given, and nothing else is changed in the text.
        """
        return self._read(sql, params)[1]

    def records(self, sql: str, params: Sequence[object] | None = None) -> list[dict[str, Any]]:
        """As `query`, each row by column name in upper case: for results whose columns differ by version."""
        names, rows = self._read(sql, params)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def execute(self, sql: str, params: Sequence[object] | None = None) -> int:
        """Sends a statement that changes something, once. Gives the number of affected rows.

        Raises StarRocksError; a transient one does not say whether the statement was carried out.
        """
        if self._connection is not None and time.monotonic() - self._last_used > IDLE_SECONDS:
            self._drop_if_dead()
        statement = sql if params is None else bind(sql, params)

        def affected(cursor: Any) -> int:
            if cursor.description:  # ANALYZE, for one, answers rows; unread they would block the connection
                return len(cursor.fetchall())
            return max(int(cursor.rowcount), 0)

        return self._send(statement, affected)

    def version(self) -> tuple[int, int, int]:
        """The server's version. A build without a number (`main-…`) counts as the newest known version."""
        if self._version is None:
            [(answer,)] = self.query("SELECT current_version()")
            found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", as_text(answer))
            self._version = (int(found[1]), int(found[2]), int(found[3] or 0)) if found else _LATEST
        return self._version

    @contextmanager
    def variables(self, values: Mapping[str, Scalar]) -> Iterator[None]:
        """Sets session variables for the statements inside, then puts the old values back."""
        names = ", ".join(f"@@{_variable(name)}" for name in values)
        [before] = self.query(f"SELECT {names}")
        self.execute(_set_statement(values))
        connection = self._connection
        try:
            yield
        finally:
            if self._connection is connection:  # a new connection has the old values anyway
                self.execute(_set_statement(dict(zip(values, before, strict=True))))

    @contextmanager
    def context(self, **values: str) -> Iterator[None]:
        """Adds `values` (asset, partition, run) to the log lines of the statements inside."""
        outer = self.log
        self.log = outer.bind(**values)
        try:
            yield
        finally:
            self.log = outer

    def clone(self) -> Session:
        """Another session with the same server, for another thread. It connects at its first statement."""
        return Session(self._connect, http=self.http, log=self.log)

    def close(self) -> None:
        """Closes the connection. The next statement would open one again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Exception as error:
                if not is_driver_error(error):  # a connection that the server has closed cannot say goodbye
                    raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, sql: str, params: Sequence[object] | None) -> tuple[list[str], list[tuple[Any, ...]]]:
        statement = sql if params is None else bind(sql, params)

        def fetch(cursor: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
            names = [column[0].upper() for column in cursor.description or ()]
            return names, [tuple(row) for row in cursor.fetchall()] if names else []

        fresh = self._connection is None
        try:
            return self._send(statement, fetch)
        except ConnectFailed:
            raise
        except StarRocksError:
            if fresh or self._connection is not None or not _READ_ONLY.match(statement):
                raise
            return self._send(statement, fetch)

    def _send(self, statement: str, result: Callable[[Any], _T]) -> _T:
        began = time.monotonic()
        rows = None
        try:
            cursor = self._open().cursor()
            try:
                cursor.execute(statement)
                answer = result(cursor)
                rows = cursor.rowcount
            finally:
                cursor.close()
        except StarRocksError as error:
            self.log.write(statement, seconds=time.monotonic() - began, outcome=error.message)
            raise
        except BaseException as error:
            if not isinstance(error, Exception) or not is_driver_error(error):
                self.close()  # interrupted in the middle of an answer: the connection cannot be used again
                raise
            fault = failure(error, statement)
            self.log.write(statement, seconds=time.monotonic() - began, outcome=fault.message)
            if connection_lost(fault.code, fault.message):
                self.close()
            raise fault from error
        self._last_used = time.monotonic()
        self.log.write(statement, seconds=self._last_used - began, outcome="ok", rows=rows)
        return answer

    def _open(self) -> DBAPIConnection:
        if self._connection is None:
            try:
                connection = self._connect()
            except Exception as error:
                if not is_driver_error(error):
                    raise
                raise connect_failure(error) from error
            switch_on_autocommit(connection)
            self._connection = connection
        return self._connection

    def _drop_if_dead(self) -> None:
        try:
            self._connection.ping(False)  # type: ignore[union-attr]  # all three drivers have ping(reconnect)
        except Exception as error:
            if not is_driver_error(error):
                raise
            self.close()


def connect_url(
    url: str, http: str | None = None, *, log: StatementLog | None = None, read_timeout: float = READ_TIMEOUT
) -> Session:
    """A session for `starrocks://user:password@host:9030` (or `mysql://`), connected at its first statement.

    `http` is the FE's HTTP address, `http://host:8030`, used with the same user. `read_timeout` (seconds)
    bounds the wait for any one answer. Statements raise ConnectFailed if no connection can be made.
    """
    parts = _split(url, {"starrocks", "mysql"}, "starrocks://user:password@host:9030")
    port = parts.port or 9030
    user, password = unquote(parts.username or "root"), unquote(parts.password or "")
    if http:
        _split(http, {"http", "https"}, "http://host:8030")

    def connect() -> DBAPIConnection:
        import pymysql  # a driver is loaded only by who connects

        try:
            return pymysql.connect(
                host=parts.hostname,
                port=port,
                user=user,
                password=password,
                database=parts.path.strip("/") or None,
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT,
                read_timeout=read_timeout,
            )
        except pymysql.Error as error:
            raise connect_failure(error, f"{parts.hostname}:{port}", user) from error

    endpoint = HttpEndpoint(http.rstrip("/"), user, password) if http else None
    return Session(connect, http=endpoint, log=log)


def from_dbapi(
    connect: Callable[[], DBAPIConnection],
    *,
    http: HttpEndpoint | None = None,
    log: StatementLog | None = None,
) -> Session:
    """A session on any of the three MySQL drivers, for example `MySqlHook(…).get_conn`.

    Autocommit and UTF-8 are switched on, whatever the connection's own settings.
    """

    return Session(lambda: use_utf8(connect()), http=http, log=log)


def _split(url: str, schemes: set[str], form: str) -> SplitResult:
    """The URL's parts. The error does not show the URL, which may hold a password."""
    hint = f"Write it as {form}."
    try:
        parts = urlsplit(url)
        readable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError as error:  # a port that is no number, an unclosed bracket
        raise DeclarationError("A URL of the StarRocks connection cannot be read", hint=hint) from error
    if not readable:
        raise DeclarationError("A URL of the StarRocks connection cannot be read", hint=hint)
    return parts


def _variable(name: str) -> str:
    if not re.fullmatch(r"\w+", name, re.ASCII):
        raise DeclarationError(f"{name!r} is not the name of a session variable")
    return name


def _set_statement(values: Mapping[str, Scalar]) -> str:
    return "SET " + ", ".join(f"{_variable(name)} = {literal(value)}" for name, value in values.items())
