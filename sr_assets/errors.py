"""The exception hierarchy: every error that a user can meet.

SrAssetsError
├── DeclarationError     an asset, its SQL or the project's settings are wrong; found at load
├── SelectionError       a selection, key or range that a person typed is wrong
├── StarRocksError       the server said no, or could not be reached
│   ├── ConnectFailed    no server, wrong password
│   └── DeadlineExceeded a wait ended at its deadline
├── ClaimRefused         another run is writing these partitions
├── Blocked              an upstream partition is not fit to be read now
└── CheckFailed          rows were written, and a blocking check said no
"""

from __future__ import annotations


class SrAssetsError(Exception):
    """Root of all errors here.

    `message` says what is wrong and where, `hint` what to do about it. `str()` gives both.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class DeclarationError(SrAssetsError):
    """An asset, its SQL or the project's settings are wrong."""


class SelectionError(SrAssetsError):
    """A selection, a partition key or a range is wrong."""


class StarRocksError(SrAssetsError):
    """The server refused a statement.

    `code` is MySQL's error number (0 where there is none); `statement` the text sent, secrets masked.
    `transient` tells whether the same statement may succeed when sent again later.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        statement: str = "",
        transient: bool = False,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.statement = statement
        self.transient = transient


class ConnectFailed(StarRocksError):
    """No connection could be made: nothing listens there, or user or password are wrong."""


class DeadlineExceeded(StarRocksError):
    """A wait ended at its deadline; what StarRocks was doing may still be going on."""


class ClaimRefused(SrAssetsError):
    """Another run holds a live claim on one of these partitions."""


class Blocked(SrAssetsError):
    """An upstream partition failed, is missing or is being rebuilt."""


class CheckFailed(SrAssetsError):
    """A blocking check failed on rows that were just written."""
