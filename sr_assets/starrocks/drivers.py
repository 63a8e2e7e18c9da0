"""What differs between PyMySQL, mysqlclient and mysql-connector-python: errors, texts and settings.

A DB-API module has a class `Error`; MySQL drivers put the server's error number in `args[0]` and the message
in `args[1]` (mysql-connector-python also in `msg`). So no driver has to be imported to recognise its errors.
"""

from __future__ import annotations

from typing import Any, Protocol

from sr_assets.errors import ConnectFailed, StarRocksError
from sr_assets.starrocks.log import mask, shorten
from sr_assets.starrocks.transient import CONNECTION_CODES, connection_lost, is_transient

STATEMENT_CHARACTERS = 2_000

# MySQL: access denied to a database, to a user, without password; StarRocks: privilege missing
_ACCESS_DENIED = frozenset({1044, 1045, 1698, 5203})


class DBAPIConnection(Protocol):
    """What is used of a DB-API 2 connection; PyMySQL, mysqlclient and mysql-connector-python have it."""

    def cursor(self) -> Any: ...
    def close(self) -> None: ...


def is_driver_error(error: Exception) -> bool:
    """Whether a driver or a socket raised `error`: anything else is somebody's bug and must not be caught."""
    return isinstance(error, OSError) or any(base.__name__ == "Error" for base in type(error).__mro__)


def failure(error: Exception, statement: str) -> StarRocksError:
    """The error of a statement."""
    code, message = _code_and_message(error)
    transient = is_transient(code, message)
    if connection_lost(code, message):
        message = f"The connection was lost during a statement: {message or type(error).__name__}"
        code = code or 2013
    return StarRocksError(
        message, code=code, statement=shorten(mask(statement), STATEMENT_CHARACTERS), transient=transient
    )


def connect_failure(error: Exception, address: str = "the StarRocks server", user: str = "") -> ConnectFailed:
    """The error of an attempt to connect; it names address and user, never the password."""
    code, message = _code_and_message(error)
    if code in _ACCESS_DENIED:
        who = f" for user {user!r}" if user else ""
        return ConnectFailed(
            f"Access denied at {address}{who}", code=code, hint="Check user and password of the connection."
        )
    return ConnectFailed(
        f"No connection to {address}: {message}",
        code=code,
        transient=code in CONNECTION_CODES or is_transient(code, message),
        hint="Check that StarRocks runs there and that the port is the FE's query port (9030 by default).",
    )


def as_text(value: object) -> str:
    """A text column's value: some drivers answer bytes where the server names no character set."""
    return bytes(value).decode() if isinstance(value, bytes | bytearray) else str(value)


def switch_on_autocommit(connection: Any) -> None:
    """`autocommit` is a method in PyMySQL and mysqlclient and a property in mysql-connector-python."""
    if callable(getattr(connection, "autocommit", None)):
        connection.autocommit(True)
    else:
        connection.autocommit = True


def use_utf8(connection: Any) -> DBAPIConnection:
    """The connection, talking UTF-8: mysqlclient begins with latin1, the others with utf8mb4."""
    name = getattr(connection, "character_set_name", lambda: "utf8mb4")()
    if not name.startswith("utf8"):
        connection.set_character_set("utf8mb4")
    return connection  # type: ignore[no-any-return]


def _code_and_message(error: Exception) -> tuple[int, str]:
    if isinstance(error, OSError):
        return 2013, mask(str(error))
    code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    message = getattr(error, "msg", None) or (error.args[1] if len(error.args) > 1 else str(error))
    return max(code, 0), mask(as_text(message or ""))
