"""CREATE TABLE from a specification, and the comparison of an existing table with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sr_assets.errors import DeclarationError
from sr_assets.starrocks.catalog import read_columns
from sr_assets.starrocks.drivers import as_text
from sr_assets.starrocks.quoting import TableName, identifier, identifiers, properties, text
from sr_assets.starrocks.session import Session

# Types of one family hold each other's values well enough to keep a table; BOOLEAN is shown as tinyint(1).
_FAMILIES = {
    "integer": ("boolean", "tinyint", "smallint", "int", "integer", "bigint", "largeint"),
    "decimal": ("decimal", "decimalv2", "decimal32", "decimal64", "decimal128", "decimal256", "numeric"),
    "float": ("float", "double", "real"),
    "string": ("char", "varchar", "string", "text"),
    "binary": ("binary", "varbinary"),
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names} | {
    "bigint unsigned": "integer"
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `default` is a literal's text, such as `0` or `2024-01-01`."""

    name: str
    type: str
    comment: str = ""
    nullable: bool = True
    default: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """Partitions by range or by list of one column, made beforehand (not by loads)."""

    column: str
    kind: Literal["range", "list"]


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as it should be.

    `key` columns come first in `columns`, in that order. An empty `distributed_by` means RANDOM for the
    duplicate model and the key for the primary model.
    """

    name: str
    columns: tuple[Column, ...]
    key_model: Literal["duplicate", "primary"] = "duplicate"
    key: tuple[str, ...] = ()
    partition: PartitionSpec | None = None
    distributed_by: tuple[str, ...] = ()
    buckets: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""


def create_table(spec: TableSpec) -> str:
    """The CREATE TABLE IF NOT EXISTS statement. Raises DeclarationError for what StarRocks would refuse."""
    _validate(spec)
    lines = [
        f"CREATE TABLE IF NOT EXISTS {TableName.parse(spec.name).sql} (",
        ",\n".join(f"  {_column(spec, column)}" for column in spec.columns),
        ")",
    ]
    if spec.key:
        lines.append(f"{spec.key_model.upper()} KEY ({identifiers(spec.key)})")
    if spec.comment:
        lines.append(f"COMMENT {text(spec.comment)}")
    if spec.partition:
        lines.append(f"PARTITION BY {spec.partition.kind.upper()} ({identifier(spec.partition.column)}) ()")
    hashed = spec.distributed_by or (spec.key if spec.key_model == "primary" else ())
    distribution = f"HASH ({identifiers(hashed)})" if hashed else "RANDOM"
    lines.append(f"DISTRIBUTED BY {distribution}" + (f" BUCKETS {spec.buckets}" if spec.buckets else ""))
    if spec.properties:
        lines.append(f"PROPERTIES ({properties(spec.properties)})")
    return "\n".join(lines)


def ensure_table(session: Session, spec: TableSpec) -> bool:
    """Creates database and table if they are missing; True if the table was created.

    An existing table has to have the declared columns (by name and type family; it may have more), the same
    key model and the same partition column: DeclarationError says what differs.
    """
    statement = create_table(spec)
    columns = read_columns(session, spec.name)
    if columns is None:
        session.execute(f"CREATE DATABASE IF NOT EXISTS {identifier(TableName.parse(spec.name).database)}")
        session.execute(statement)
        return True
    differences = [*_column_differences(spec, columns), *_layout_differences(session, spec)]
    if differences:
        raise DeclarationError(
            f"{spec.name} exists and differs from its declaration: {'; '.join(differences)}",
            hint="Change the declaration, or ALTER or drop the table.",
        )
    return False


def type_family(type_name: str) -> str:
    """`varchar(20)` → `string`, `bigint(20)` → `integer`; types without relatives give their own name."""
    found = re.match(r"\s*([a-z_0-9]+)", type_name.lower())
    name = found[1] if found else type_name.lower()
    return _FAMILY_OF.get(name, name)


def _column(spec: TableSpec, column: Column) -> str:
    required = not column.nullable or (spec.key_model == "primary" and column.name in spec.key)
    parts = [identifier(column.name), column.type, "NOT NULL" if required else "NULL"]
    if column.default is not None:
        parts.append(f"DEFAULT {text(column.default)}")
    if column.comment:
        parts.append(f"COMMENT {text(column.comment)}")
    return " ".join(parts)


def _validate(spec: TableSpec) -> None:
    names = [column.name for column in spec.columns]
    known = {name.lower() for name in names}
    problems = []
    if len(known) != len(names):
        problems.append("two of its columns have one name")
    if not names:
        problems.append("it has no column")
    for role, columns in (
        ("key", spec.key),
        ("distribution", spec.distributed_by),
        ("partition", (spec.partition.column,) if spec.partition else ()),
    ):
        problems += [
            f"its {role} column {name!r} is not a column" for name in columns if name.lower() not in known
        ]
    if tuple(names[: len(spec.key)]) != spec.key:
        problems.append(f"its key columns ({', '.join(spec.key)}) must come first, in this order")
    if spec.key_model == "primary":
        if not spec.key:
            problems.append("a primary key table needs key columns")
        if spec.partition and spec.partition.column not in spec.key:
            problems.append(f"its partition column {spec.partition.column!r} must be part of the primary key")
        if not set(spec.distributed_by) <= set(spec.key):
            problems.append("the distribution columns of a primary key table must be part of the key")
    for column in spec.columns:
        if not re.fullmatch(r"[A-Za-z_][\w ,()<>:]*", column.type, re.ASCII):
            problems.append(f"{column.type!r} of column {column.name!r} is not a type")
    if problems:
        raise DeclarationError(f"Table {spec.name} cannot be created: {'; '.join(problems)}")


def _column_differences(spec: TableSpec, columns: Mapping[str, str]) -> list[str]:
    differences = []
    for column in spec.columns:
        actual = columns.get(column.name.lower())
        if actual is None:
            differences.append(f"column {column.name!r} is not there")
        elif type_family(actual) != type_family(column.type):
            differences.append(f"column {column.name!r} is {actual}, declared {column.type}")
    return differences


def _layout_differences(session: Session, spec: TableSpec) -> Iterator[str]:
    """Differences in what the table's rows are kept by. Nothing for a view, which has no layout."""
    name = TableName.parse(spec.name)
    for model, partition_key in session.query(
        "SELECT TABLE_MODEL, PARTITION_KEY FROM information_schema.tables_config "
        "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        [name.database, name.table],
    ):
        # PRIMARY_KEYS in the code, PRI_KEYS in the documentation
        if as_text(model).startswith("PRI") != (spec.key_model == "primary"):
            yield f"its key model is {as_text(model)}, declared {spec.key_model}"
        actual = as_text(partition_key or "").replace("`", "").strip()
        declared = spec.partition.column if spec.partition else ""
        if actual.lower() != declared.lower():
            yield f"it is partitioned by {actual or 'nothing'}, declared {declared or 'without partitions'}"
