"""StarRocks column types: how DuckDB stores them, how StarRocks prints them, how the wire carries them.

Printed forms follow StarRocks' `ScalarType.toSql`, `toMysqlDataTypeString` and `toMysqlColumnTypeString`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mysql_mimic import ColumnType

from sr_assets.standin.errors import analyzing
from sr_assets.standin.lexer import Token

MAX_STRING = 65533
"""The length, in bytes, that StarRocks gives to a STRING column."""

_STORED = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INTEGER",
    "BIGINT": "BIGINT",
    "LARGEINT": "HUGEINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "DATE": "DATE",
    "DATETIME": "TIMESTAMP",
    "VARCHAR": "VARCHAR",
    "CHAR": "VARCHAR",
    "JSON": "VARCHAR",
    "VARBINARY": "BLOB",
}
_SYNONYMS = {
    "INTEGER": "INT",
    "BOOL": "BOOLEAN",
    "STRING": "VARCHAR",
    "TEXT": "VARCHAR",
    "NUMERIC": "DECIMAL",
    "DECIMALV2": "DECIMAL",
    "DECIMALV3": "DECIMAL",
    "DECIMAL32": "DECIMAL",
    "DECIMAL64": "DECIMAL",
    "DECIMAL128": "DECIMAL",
    "TIMESTAMP": "DATETIME",
    "BINARY": "VARBINARY",
}
_DISPLAY = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint(4)",
    "SMALLINT": "smallint(6)",
    "INT": "int(11)",
    "BIGINT": "bigint(20)",
    "LARGEINT": "largeint(40)",
}
_WIRE = {
    "BOOLEAN": ColumnType.TINY,
    "TINYINT": ColumnType.TINY,
    "SMALLINT": ColumnType.SHORT,
    "INTEGER": ColumnType.LONG,
    "BIGINT": ColumnType.LONGLONG,
    "UTINYINT": ColumnType.LONGLONG,
    "USMALLINT": ColumnType.LONGLONG,
    "UINTEGER": ColumnType.LONGLONG,
    "FLOAT": ColumnType.FLOAT,
    "DOUBLE": ColumnType.DOUBLE,
    "DATE": ColumnType.DATE,
    "BLOB": ColumnType.BLOB,
}


@dataclass(frozen=True, slots=True)
class DataType:
    """A StarRocks type. `base` is its plain name, `arguments` its length or its precision and scale.

    `element` is the DuckDB text of a nested type (ARRAY, MAP, STRUCT), which is stored as it is.
    """

    base: str
    arguments: tuple[int, ...] = ()
    element: str = ""

    @property
    def stored(self) -> str:
        """The DuckDB type."""
        if self.base == "DECIMAL":
            return "DECIMAL({}, {})".format(*self.arguments)
        return self.element or _STORED[self.base]

    @property
    def max_bytes(self) -> int | None:
        """The longest string that fits, in bytes of UTF-8; None where there is no limit to check."""
        return self.arguments[0] if self.base in ("VARCHAR", "CHAR") else None

    @property
    def sql(self) -> str:
        """As in SHOW CREATE TABLE: `int(11)`, `varchar(64)`, `decimal(10, 2)`."""
        if self.base in ("VARCHAR", "CHAR"):
            return f"{self.base.lower()}({self.arguments[0]})"
        if self.base == "DECIMAL":
            return "decimal({}, {})".format(*self.arguments)
        return self.element.lower() or _DISPLAY.get(self.base, self.base.lower())

    @property
    def field(self) -> str:
        """As in DESC: `int`, `varchar(64)`, `decimal(10,2)`."""
        if self.base in ("VARCHAR", "CHAR", "DECIMAL"):
            return self.sql.replace(", ", ",")
        return self.element.lower() or self.base.lower()

    @property
    def data_type(self) -> str:
        """`information_schema.columns.DATA_TYPE`"""
        return {"BOOLEAN": "tinyint", "LARGEINT": "bigint unsigned"}.get(self.base, self.base.lower())

    @property
    def column_type(self) -> str:
        """`information_schema.columns.COLUMN_TYPE`"""
        return {"BOOLEAN": "tinyint(1)", "LARGEINT": "bigint(20) unsigned"}.get(self.base, self.sql)


def parse_type(tokens: Sequence[Token]) -> DataType:
    """The type that these tokens spell; raises ServerError for one that StarRocks does not have."""
    text = "".join(token.text.upper() for token in tokens)
    match = re.fullmatch(r"(\w+)(?:\((\d+)(?:,(\d+))?\))?", text)
    if match is None or match[1] in ("ARRAY", "MAP", "STRUCT"):
        return DataType(text.partition("<")[0], element=_nested(text))
    base = _SYNONYMS.get(match[1], match[1])
    numbers = tuple(int(number) for number in match.groups()[1:] if number)
    if base == "DECIMAL":
        return DataType(base, (*numbers, 0)[:2] if numbers else (10, 0))
    if base not in _STORED:
        raise analyzing(f"Unsupported data type: {match[1]}")
    if base in ("VARCHAR", "CHAR"):
        default = MAX_STRING if match[1] in ("STRING", "TEXT") else 1
        return DataType(base, numbers[:1] or (default,))
    return DataType(base)


def _nested(text: str) -> str:
    array = re.fullmatch(r"ARRAY<(\w+(?:\([\d,]+\))?)>", text)
    if array is None:
        raise analyzing(
            f"Unsupported data type: {text} (the stand-in has arrays of scalars, no maps or structs)"
        )
    return parse_type([Token("word", array[1], 0, 0)]).stored + "[]"


def wire_type(stored: str, *, largeint: bool = False) -> ColumnType:
    """The MySQL type that a DuckDB result column is sent as.

    DuckDB sums integers to HUGEINT where StarRocks has BIGINT; only a real LARGEINT travels as a string.
    """
    if stored in ("HUGEINT", "UBIGINT", "UHUGEINT"):
        return ColumnType.STRING if largeint else ColumnType.LONGLONG
    if stored.startswith("DECIMAL"):
        return ColumnType.NEWDECIMAL
    if stored.startswith("TIMESTAMP"):
        return ColumnType.DATETIME
    return _WIRE.get(stored, ColumnType.VAR_STRING)
