"""Partition descriptions of CREATE TABLE and ALTER TABLE: text in, partitions out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from sr_assets.standin import bounds
from sr_assets.standin.errors import analyzing, not_implemented
from sr_assets.standin.lexer import Cursor
from sr_assets.standin.model import Bound, ListValue, Partition, Partitioning, Table

NewPartition = Callable[..., Partition]
"""Makes a partition with a fresh id: `Store.new_partition`."""


def parse_scheme(cursor: Cursor) -> tuple[Partitioning, list[Cursor]]:
    """What follows PARTITION BY: the scheme, and the descriptions of the first partitions."""
    if cursor.accept("RANGE"):
        columns = tuple(cursor.names())
        if len(columns) > 1:
            raise not_implemented("range partitions on several columns")
        return Partitioning("range", columns), cursor.items()
    if cursor.accept("LIST"):
        columns = tuple(cursor.names())
        descriptions = cursor.items() if cursor.at("(") else []
        return Partitioning("list", columns, automatic=not descriptions), descriptions
    for function in ("DATE_TRUNC", "TIME_SLICE"):
        if cursor.accept(function):
            scheme = _time_expression(function, cursor.items())
            return scheme, cursor.items() if cursor.at("(") else []
    columns = tuple(_column_list(cursor))
    if cursor.at("("):
        raise analyzing(
            "Does not support creating partitions in advance for expression partitions on columns"
        )
    return Partitioning("list", columns, automatic=True), []


def _time_expression(function: str, arguments: list[Cursor]) -> Partitioning:
    if function == "DATE_TRUNC":
        grain, column, step = arguments[0].string().lower(), arguments[1].name(), 1
    else:
        column = arguments[0].name()
        arguments[1].expect("INTERVAL")
        step, grain = arguments[1].integer(), arguments[1].name().lower()
    if grain not in bounds.GRAINS:
        raise analyzing(f"Unsupported partition granularity: {grain}")
    return Partitioning("range", (column,), automatic=True, grain=grain, step=step)


def _column_list(cursor: Cursor) -> Iterable[str]:
    if cursor.at("("):
        yield from cursor.names()
        return
    yield cursor.name()
    if cursor.at("("):
        raise not_implemented("partition expressions other than date_trunc, time_slice and columns")
    while cursor.accept(","):
        yield cursor.name()


def first_partitions(table: Table, descriptions: Iterable[Cursor], new: NewPartition) -> list[Partition]:
    """The partitions of a CREATE TABLE."""
    found: list[Partition] = []
    for cursor in descriptions:
        if cursor.at("START"):
            found += every(table, cursor, new)
        else:
            found.append(single(table, cursor, new, existing=found).partition)
    bounds.check_no_overlap(table, found, ())
    return found


@dataclass(frozen=True, slots=True)
class Described:
    """One PARTITION description."""

    partition: Partition
    if_not_exists: bool


def single(
    table: Table, cursor: Cursor, new: NewPartition, *, existing: Iterable[Partition], temporary: bool = False
) -> Described:
    """`PARTITION [IF NOT EXISTS] p VALUES {LESS THAN (..) | [(..), (..)) | IN (..)} [(properties)]`"""
    cursor.expect("PARTITION")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name()
    cursor.expect("VALUES")
    lower: Bound | None = None
    upper: Bound | None = None
    values: tuple[ListValue, ...] = ()
    if (table.partitioning.kind == "list") != cursor.at("IN"):
        raise analyzing(f"Partition {name} does not fit the table's {table.partitioning.kind} partitioning")
    if cursor.accept("IN"):
        values = _list_values(table, cursor)
    elif cursor.accept("LESS", "THAN"):
        upper = None if cursor.accept("MAXVALUE") else _bound(table, cursor)
        lower = _highest_below(existing, upper)
    else:
        cursor.expect("[")
        lower = _bound(table, cursor)
        cursor.expect(",")
        upper = _bound(table, cursor)
        cursor.expect(")")
        if lower is None or (upper is not None and not lower < upper):  # type: ignore[operator]
            raise analyzing(f"The partition's lower bound must be below its upper bound: {name}")
    if cursor.at("("):
        cursor.properties()
    partition = new(name, lower=lower, upper=upper, values=values, temporary=temporary)
    return Described(partition, if_not_exists)


def _bound(table: Table, cursor: Cursor) -> Bound | None:
    """`("2024-01-01")`, or None for `(MAXVALUE)`."""
    item = cursor.items()[0]
    if item.accept("MAXVALUE"):
        return None
    sign = "-" if item.accept("-") else ""
    return bounds.parse_bound(table, sign + item.next().value)


def _highest_below(existing: Iterable[Partition], upper: Bound | None) -> Bound | None:
    """Where a LESS THAN partition starts: at the end of the one before."""
    ends = [
        partition.upper
        for partition in existing
        if partition.upper is not None and (upper is None or partition.upper <= upper)  # type: ignore[operator]
    ]
    return max(ends, default=None)


def _list_values(table: Table, cursor: Cursor) -> tuple[ListValue, ...]:
    columns = [table.definition.column(name) for name in table.partitioning.columns]
    values = []
    for item in cursor.items():
        cells = [_cell(cell) for cell in item.items()] if item.at("(") else [_cell(item)]
        if len(cells) != len(columns):
            raise analyzing(f"Partition values {tuple(cells)} need one value for each partition column")
        values.append(
            tuple(bounds.normalize_value(column, cell) for column, cell in zip(columns, cells, strict=True))
        )
    return tuple(values)


def _cell(cursor: Cursor) -> str | None:
    if cursor.accept("NULL"):
        return None
    sign = "-" if cursor.accept("-") else ""
    return sign + cursor.next().value


def every(table: Table, cursor: Cursor, new: NewPartition, *, temporary: bool = False) -> list[Partition]:
    """`START ("..") END ("..") EVERY (INTERVAL 1 DAY)`, or `EVERY (1)` for numbers."""
    cursor.expect("START")
    lower = _bound(table, cursor)
    cursor.expect("END")
    end = _bound(table, cursor)
    cursor.expect("EVERY")
    interval = cursor.items()[0]
    if lower is None or end is None or not lower < end:  # type: ignore[operator]
        raise analyzing("Batch build partition: START must be below END")
    grain = ""
    count = interval.integer() if not interval.accept("INTERVAL") else 0
    if not count:
        count, grain = interval.integer(), interval.name().lower().removesuffix("s")
    if isinstance(lower, date) != bool(grain) or (grain and grain not in bounds.GRAINS):
        raise analyzing("Batch build partition EVERY does not fit the partition column's type")
    _check_granularity(table, lower, end, grain, count)
    prefix = "tp" if temporary else "p"
    found = []
    while lower < end:  # type: ignore[operator]
        upper = min(bounds.step(lower, grain, count), end)
        found.append(
            new(bounds.range_name(prefix, lower, grain), lower=lower, upper=upper, temporary=temporary)
        )
        lower = upper
    return found


def _check_granularity(table: Table, lower: Bound, end: Bound, grain: str, count: int) -> None:
    """On a date_trunc table only its own periods can be added, whole ones and one by one."""
    scheme = table.partitioning
    if not scheme.automatic:
        return
    if grain != scheme.grain or count != 1 or scheme.step != 1:
        raise analyzing(
            f"The granularity of the auto-partitioned table granularity({scheme.grain.upper()}) should be "
            f"consistent with the increased partition granularity({grain.upper()})"
        )
    for bound in (lower, end):
        if isinstance(bound, date) and bounds.align(bound, grain) != bound:
            raise analyzing(f"The bound {bound} is not aligned with the granularity {grain.upper()}")
