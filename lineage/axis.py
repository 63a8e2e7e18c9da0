"""A partition column as an axis: ordinals, and the lowest and highest column value of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime

from lineage import calendar
from lineage.calendar import Grain
from lineage.partitions import TICK, PartitionColumn

Value = date | datetime | str | int | float | None
"""A SQL value while a predicate is evaluated. None is NULL."""

# The search range. Years outside of it are never excluded by a search (solve.py): above all,
# '9999-12-31' as "until further notice" is a partition of some tables.
_FIRST = datetime(1000, 1, 1)
_LAST = datetime(9900, 1, 1)


@dataclass(frozen=True, slots=True)
class Axis:
    """`low(n)` and `high(n)` bound the values of partition `n`; with `ordered` both rise with `n`."""

    column: PartitionColumn
    ordered: bool
    first: int
    last: int

    @classmethod
    def of(cls, column: PartitionColumn) -> Axis:
        if column.grain is None:
            return cls(column, False, 0, len(column.values) - 1)
        ordered = column.kind in ("date", "datetime") or big_endian(_format(column))
        first, last = (calendar.ordinal(column.grain, moment) for moment in (_FIRST, _LAST))
        return cls(column, ordered, first, last)

    @property
    def is_list(self) -> bool:
        return self.column.grain is None

    def low(self, number: int) -> Value:
        if self.column.grain is None:
            return self._listed(number)
        return self._encode(calendar.start(self.column.grain, number))

    def high(self, number: int) -> Value:
        if self.column.grain is None:
            return self._listed(number)
        return self._encode(calendar.start(self.column.grain, number + 1) - TICK)

    def _listed(self, number: int) -> Value:
        text = self.column.values[number]
        if self.column.kind == "int":
            return int(text)
        if self.column.kind in ("date", "datetime"):
            return self._encode(datetime.fromisoformat(text))
        return text

    def _encode(self, moment: datetime) -> Value:
        match self.column.kind:
            case "date":
                return moment.date()
            case "datetime":
                return moment
            case "int":
                return int(moment.strftime(_format(self.column)))
        return moment.strftime(_format(self.column))


DATES = Axis.of(PartitionColumn("", Grain.DAY, "date"))
"""Axis of a DATE column that is no partition column."""
DATETIMES = Axis.of(PartitionColumn("", Grain.HOUR, "datetime"))
"""Axis of a DATETIME column that is no partition column."""


def _format(column: PartitionColumn) -> str:
    return column.format or ("%Y%m%d" if column.kind == "int" else "%Y-%m-%d")


def big_endian(format: str) -> bool:
    """Whether texts in this strftime format sort as the moments they are written from.

    So it is when the directives begin with the year and go down without a gap; what stands between
    them is constant and of constant width.
    """
    directives = "".join(re.findall(r"%(.)", format))
    return directives != "" and "YmdHMS".startswith(directives)
