"""Errors as StarRocks words them: MySQL code, SQLSTATE and text.

The codes are those of StarRocks' `ErrorCode.java`; the texts those of its analyzers.
"""

from __future__ import annotations

SQLSTATES = {
    1044: "42000",
    1045: "28000",
    1046: "3D000",
    1050: "42S01",
    1064: "42000",
    5501: "3F000",
    5502: "42602",
}


class ServerError(Exception):
    """A statement was refused. `code` is the MySQL error number, `message` the text a client shows."""

    def __init__(self, message: str, code: int = 1064) -> None:
        super().__init__(message)
        self.message = message
        self.code = code

    @property
    def sqlstate(self) -> str:
        return SQLSTATES.get(self.code, "HY000")


class Cancelled(ServerError):
    """A statement or load was stopped: by KILL, CANCEL LOAD, a timeout or the server's end."""

    def __init__(self, message: str = "Cancelled by user") -> None:
        super().__init__(message, 1064)


class ConnectionLost(ServerError):
    """A fail point cut the connection: no answer must reach the client (it sees error 2013)."""

    def __init__(self) -> None:
        super().__init__("Lost connection to StarRocks server during query", 2013)


class StorageInUse(RuntimeError):
    """Another process has this data directory open."""


def analyzing(detail: str, code: int = 1064) -> ServerError:
    """The analyzer's refusal: `Getting analyzing error. Detail message: <detail>.`"""
    return ServerError(f"Getting analyzing error. Detail message: {detail}.", code)


def unknown_database(name: str) -> ServerError:
    return analyzing(f"Unknown database '{name}'", 5501)


def unknown_table(db: str, name: str) -> ServerError:
    return analyzing(f"Unknown table '{db}.{name}'", 5502)


def unknown_partition(name: str, table: str) -> ServerError:
    return analyzing(f"Unknown partition '{name}' in table '{table}'")


def not_implemented(what: str) -> ServerError:
    """Something StarRocks can do and this stand-in cannot. Said aloud, never ignored."""
    return ServerError(f"The StarRocks stand-in does not implement {what}", 1235)
