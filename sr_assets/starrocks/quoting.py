"""Names and values as StarRocks SQL text: the only place where a value becomes part of a statement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from sr_assets.errors import DeclarationError

Scalar: TypeAlias = bool | int | float | Decimal | str | date | datetime | bytes | None

# StarRocks' parser turns \n, \r, \0 and \\ back into the character; of other escapes it keeps only the
# character after the backslash (AstBuilder.escapeBackSlash). A raw line break is legal, but it makes a log
# line two.
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", '"': '\\"', "\0": "\\0", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table with its database. `str()` gives `db.table`, `sql` the quoted form."""

    database: str
    table: str

    @classmethod
    def parse(cls, name: str | TableName) -> TableName:
        """`db.table`, without quotes. Raises DeclarationError for anything else."""
        if isinstance(name, TableName):
            return name
        parts = name.split(".")
        if len(parts) != 2 or not all(parts):
            raise DeclarationError(
                f"{name!r} is not a table name", hint="Write it as database.table, for example sales.orders."
            )
        return cls(*parts)

    @property
    def sql(self) -> str:
        return f"{identifier(self.database)}.{identifier(self.table)}"

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


def identifier(name: str) -> str:
    """A name in backticks. Raises DeclarationError for a name that StarRocks cannot hold."""
    if not name or not name.isprintable() or "`" in name:
        raise DeclarationError(f"{name!r} cannot be a name in StarRocks")
    return f"`{name}`"


def identifiers(names: Iterable[str]) -> str:
    """Names in backticks, joined by commas."""
    return ", ".join(map(identifier, names))


def qualified(name: str | TableName) -> str:
    """`db.table` with both parts quoted."""
    return TableName.parse(name).sql


def literal(value: Scalar) -> str:
    """A value as an SQL literal that StarRocks reads back as the same value.

    Raises DeclarationError for what has no literal: NaN and infinities, lone surrogates, and datetimes with
    a time zone (columns hold wall-clock time, so the caller has to say which).
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case Decimal() if value.is_finite():
            return format(value, "f")
        case str():
            return f"'{_escaped(value)}'"
        case datetime() if value.tzinfo is None:
            return f"'{value.isoformat(sep=' ')}'"
        case date() if not isinstance(value, datetime):
            return f"'{value.isoformat()}'"
        case bytes():
            return f"x'{value.hex()}'"
    raise DeclarationError(f"{value!r} ({type(value).__name__}) has no form as a StarRocks literal")


def literals(values: Iterable[Scalar]) -> str:
    """Literals joined by commas, as `IN (…)` and `VALUES (…)` take them."""
    return ", ".join(map(literal, values))


def text(value: str) -> str:
    """A string in double quotes, as properties, paths, comments and partition bounds take it."""
    return f'"{_escaped(value)}"'


def _escaped(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DeclarationError(f"{value!r} is not valid Unicode text: {error.reason}") from error
    return value.translate(_ESCAPES)


def properties(mapping: Mapping[str, object]) -> str:
    """`"key"="value", …`, without parentheses. Booleans become `true` and `false`."""
    return ", ".join(f"{text(key)}={text(_property(value))}" for key, value in mapping.items())


def _property(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def bind(sql: str, params: Sequence[object]) -> str:
    """`sql` with each `%s` replaced by a literal. Other percent signs stay as they are.

    Raises ValueError if there are not as many values as placeholders.
    """
    pieces = sql.split("%s")
    if len(pieces) - 1 != len(params):
        raise ValueError(f"{len(pieces) - 1} placeholders, {len(params)} values: {sql}")
    filled = [pieces[0]]
    for value, piece in zip(params, pieces[1:], strict=True):
        filled += [literal(value), piece]  # type: ignore[arg-type]  # literal() itself refuses other types
    return "".join(filled)
