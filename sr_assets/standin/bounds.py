"""Limits of range partitions: reading, printing, stepping, comparing and naming them.

Names follow StarRocks' automatic ones: p2024, p202401, p20240101, p2024010113, p202401011305, and for
lists the values with all but letters and digits dropped or hex-encoded (`AnalyzerUtils`).
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from operator import itemgetter

from sr_assets.standin.errors import ServerError, analyzing
from sr_assets.standin.model import Bound, Column, ListValue, Partition, Table

GRAINS = ("minute", "hour", "day", "week", "month", "quarter", "year")
_NAME_FORMATS = {
    "minute": "%Y%m%d%H%M",
    "hour": "%Y%m%d%H",
    "day": "%Y%m%d",
    "week": "%Y%m%d",
    "month": "%Y%m",
    "quarter": "%Y%m",
    "year": "%Y",
}
_MAX_NAME = 50


def parse_bound(table: Table, text: str) -> Bound:
    """A limit as the partition column's type has it."""
    base = table.bound_type.base
    try:
        if base == "DATETIME":
            return datetime.fromisoformat(text)
        if base == "DATE":
            return datetime.fromisoformat(text).date()
        return text if base in ("VARCHAR", "CHAR") else int(text)
    except ValueError as error:
        raise analyzing(f"Invalid date literal in partition column: {text}") from error


def normalize_value(column: Column, text: str | None) -> str | None:
    """A list value as DuckDB prints the column's type, so that equal values are equal texts."""
    if text is None:
        return None
    base = column.type.base
    try:
        if base == "DATETIME":
            return str(datetime.fromisoformat(text))
        if base == "DATE":
            return str(datetime.fromisoformat(text).date())
        if base == "BOOLEAN":
            return "true" if text.lower() in ("1", "true") else "false"
        return str(int(text)) if base.endswith("INT") else text
    except ValueError as error:
        raise analyzing(f"Invalid value '{text}' for partition column '{column.name}'") from error


def show_bound(bound: Bound) -> str:
    """`2024-01-01`, `2024-01-01 05:00:00` or a number."""
    return str(bound)


def value_text(table: Table, partition: Partition) -> str:
    """PARTITION_VALUE of partitions_meta and Range or List of SHOW PARTITIONS.

    `[types: [DATE]; keys: [2024-01-01]; ..types: [DATE]; keys: [2024-01-02]; )`, `('LA', 'SF')` for a list
    on one column, `(('2024-01-01', 'LA'))` on several or with automatic partitions (`ListPartitionInfo`).
    """
    scheme = table.partitioning
    if scheme.kind == "none":
        return ""
    if scheme.kind == "list":
        values = [", ".join(map(_quote_value, value)) for value in partition.values]
        if scheme.automatic or len(scheme.columns) > 1:
            values = [f"({value})" for value in values]
        return f"({', '.join(values)})"
    name = table.bound_type.base
    lower = lowest_text(table) if partition.lower is None else show_bound(partition.lower)
    upper = "MAXVALUE" if partition.upper is None else show_bound(partition.upper)
    return f"[types: [{name}]; keys: [{lower}]; ..types: [{name}]; keys: [{upper}]; )"


def _quote_value(text: str | None) -> str:
    return "NULL" if text is None else f"'{text}'"


def lowest_text(table: Table) -> str:
    """How an open lower bound is printed: the type's smallest value."""
    return {
        "DATE": "0000-01-01",
        "DATETIME": "0000-01-01 00:00:00",
        "TINYINT": str(-(2**7)),
        "SMALLINT": str(-(2**15)),
        "INT": str(-(2**31)),
        "BIGINT": str(-(2**63)),
    }.get(table.bound_type.base, "")


def step(bound: Bound, grain: str, count: int) -> Bound:
    """`bound` moved by `count` units; numbers move by `count` itself."""
    if not isinstance(bound, date):
        return int(bound) + count
    months = {"month": 1, "quarter": 3, "year": 12}.get(grain)
    if months is not None:
        total = bound.year * 12 + bound.month - 1 + months * count
        return bound.replace(year=total // 12, month=total % 12 + 1)
    return bound + timedelta(**{f"{grain}s": count})


def align(bound: date, grain: str, count: int = 1) -> Bound:
    """The start of the period that `bound` is in. `count` > 1 slices count from 0001-01-01, as time_slice."""
    moment = bound if isinstance(bound, datetime) else datetime(bound.year, bound.month, bound.day)
    moment = moment.replace(second=0, microsecond=0)
    if grain != "minute":
        moment = moment.replace(minute=0)
    if grain not in ("minute", "hour"):
        moment = moment.replace(hour=0)
    if grain == "week":
        moment -= timedelta(days=moment.weekday())
    if grain in ("month", "quarter", "year"):
        month = {"month": moment.month, "quarter": (moment.month - 1) // 3 * 3 + 1, "year": 1}[grain]
        moment = moment.replace(day=1, month=month)
    if count > 1:
        moment = _slice(moment, grain, count)
    return moment if isinstance(bound, datetime) else moment.date()


def _slice(moment: datetime, grain: str, count: int) -> datetime:
    origin = datetime(1, 1, 1)
    months = {"month": 1, "quarter": 3, "year": 12}.get(grain)
    if months is not None:
        number = (moment.year - 1) * 12 + moment.month - 1
        number -= number % (months * count)
        return origin.replace(year=number // 12 + 1, month=number % 12 + 1)
    width = timedelta(**{f"{grain}s": count})
    return origin + (moment - origin) // width * width


def range_name(prefix: str, lower: Bound, grain: str) -> str:
    """The name that START .. END .. EVERY and automatic partitions give: prefix and the period's start."""
    if isinstance(lower, date):
        return prefix + lower.strftime(_NAME_FORMATS[grain])
    return f"{prefix}{lower}"


def list_name(value: ListValue, taken: Iterable[str]) -> str:
    """The automatic name of a list partition: p20240101_beijing."""
    name = "p" + "_".join("NULL" if text is None else _clean(text) for text in value)
    digest = hashlib.sha256(repr(value).encode()).hexdigest()[:8]
    if len(name) > _MAX_NAME:
        name = f"{name[:_MAX_NAME]}_{digest}"
    return f"{name}_{digest}" if name.lower() in set(taken) else name


def _clean(text: str) -> str:
    head = "_" if text.startswith("-") else ""
    kept = re.sub(r"[-: ]", "", text)
    return head + re.sub(r"[^A-Za-z0-9]", lambda match: match[0].encode().hex(), kept)


class PartitionIndex:
    """Finds the partition that holds a key, among one table's partitions at one moment."""

    def __init__(self, table: Table, partitions: Iterable[Partition]) -> None:
        self._table = table
        self._by_value: dict[ListValue, Partition] = {}
        self._ranges: list[tuple[tuple[bool, Bound], Partition]] = []
        for partition in tuple(partitions):  # a copy in one step: other threads change tables
            self.add(partition)

    def add(self, partition: Partition) -> None:
        if self._table.partitioning.kind == "list":
            self._by_value.update(dict.fromkeys(partition.values, partition))
        else:
            insort(self._ranges, (lower_key(partition), partition), key=itemgetter(0))

    def find(self, key: ListValue) -> Partition | None:
        if self._table.partitioning.kind == "list":
            return self._by_value.get(key)
        bound = parse_bound(self._table, str(key[0]))
        position = bisect_right(self._ranges, (True, bound), key=itemgetter(0))
        if position == 0:
            return None
        partition = self._ranges[position - 1][1]
        return partition if partition.upper is None or bound < partition.upper else None  # type: ignore[operator]


def check_no_overlap(table: Table, added: Sequence[Partition], existing: Iterable[Partition]) -> None:
    """Raise ServerError when two partitions would hold the same rows."""
    if table.partitioning.kind == "list":
        taken = {value for partition in existing for value in partition.values}
        for partition in added:
            if not taken.isdisjoint(partition.values):
                raise ServerError(f"Duplicate partition values exist: {value_text(table, partition)}")
            taken.update(partition.values)
        return
    ordered = sorted([*existing, *added], key=lower_key)
    for before, after in pairwise(ordered):
        if before.upper is None or after.lower is None or after.lower < before.upper:  # type: ignore[operator]
            new, old = (after, before) if after in added else (before, after)
            raise analyzing(
                f"Range {value_text(table, new)} is intersected with range: {value_text(table, old)}"
            )


def lower_key(partition: Partition) -> tuple[bool, Bound]:
    lower = partition.lower
    return (lower is not None, 0 if lower is None else lower)
