"""The values of the public face: windows, partition columns, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from lineage import calendar
from lineage.calendar import Grain
from lineage.spans import HIGHEST, LOWEST, Spans, normal

TICK = timedelta(microseconds=1)
"""Resolution of a StarRocks DATETIME."""


@dataclass(frozen=True, slots=True)
class Window:
    """The partition (or run of partitions) that a template is rendered for.

    `start` and `end` (exclusive) are wall clock, naive, and None for list partitions and for
    unpartitioned tables, as `grain` is.
    """

    key: str
    start: datetime | None = None
    end: datetime | None = None
    grain: Grain | None = None

    @classmethod
    def of(cls, grain: Grain, number: int) -> Window:
        """The window of one partition, by its calendar ordinal."""
        return cls(
            calendar.key(grain, number),
            calendar.start(grain, number),
            calendar.start(grain, number + 1),
            grain,
        )


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """How a table is partitioned.

    `grain` None: list partitions, and `values` are their values in order. `kind` is the column's type:
    'date', 'datetime', 'string' or 'int'; for the last two `format` is the strftime format of its
    values, `%Y-%m-%d` (string) or `%Y%m%d` (int) where it is None.
    """

    column: str
    grain: Grain | None = None
    kind: str = "date"
    format: str | None = None
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in ("date", "datetime", "string", "int"):
            raise ValueError(
                f"kind of partition column {self.column} is {self.kind!r}, not date, datetime, string or int"
            )


@dataclass(frozen=True, slots=True)
class Reads:
    """Upstream partitions that one downstream partition reads.

    `spans` are inclusive spans of ordinals on the upstream's axis (calendar ordinals; positions in
    `values` for a list), ascending and disjoint, never narrower than what the query reads; a bound of
    None is open. `reasons` say why it is wider than exact.
    """

    spans: tuple[tuple[int | None, int | None], ...]
    reasons: tuple[str, ...] = ()

    ALL: ClassVar[Reads]

    @property
    def is_all(self) -> bool:
        return self.spans == ((None, None),)

    @classmethod
    def of(cls, found: Spans, reasons: tuple[str, ...] = ()) -> Reads:
        opened = ((None if low == LOWEST else low, None if high == HIGHEST else high) for low, high in found)
        return cls(tuple(opened), reasons)


Reads.ALL = Reads(((None, None),))


def _end_of(grain: Grain) -> Callable[[Window], datetime]:
    return lambda window: calendar.start(grain, calendar.ordinal(grain, _start(window)) + 1) - TICK


def _start_of(grain: Grain) -> Callable[[Window], datetime]:
    return lambda window: calendar.start(grain, calendar.ordinal(grain, _start(window)))


def _start(window: Window) -> datetime:
    if window.start is None:
        raise ValueError(f"window {window.key!r} has no start: a bound with an anchor needs a time window")
    return window.start


def _last(window: Window) -> datetime:
    if window.end is None:
        raise ValueError(f"window {window.key!r} has no end: a bound with an anchor needs a time window")
    return window.end - TICK


_PERIODS = (Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR)

ANCHORS: dict[str, Callable[[Window], datetime]] = {
    "start": _start,
    "end": _last,
    **{str(grain): _start_of(grain) for grain in _PERIODS},
    **{f"{grain}_end": _end_of(grain) for grain in _PERIODS},
}
"""Moment of each anchor of a `Bound`, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An upstream ordinal relative to the downstream window: that of the anchor's moment, plus `offset`.

    Anchors: 'start' (first moment of the window), 'end' (its last moment), 'week', 'month', 'quarter',
    'year' (start of that period holding the window's start), and the same with '_end' (the period's last
    moment).
    """

    anchor: str
    offset: int

    def ordinal(self, window: Window, grain: Grain) -> int:
        return calendar.ordinal(grain, ANCHORS[self.anchor](window)) + self.offset


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is read, in the form that is the same for every downstream partition. A bound of None is open."""

    spans: tuple[tuple[Bound | None, Bound | None], ...]
    reasons: tuple[str, ...] = ()

    def at(self, window: Window, upstream: PartitionColumn) -> Reads:
        """The upstream partitions of a window of one partition. Raises ValueError where no offset fits."""

        def place(bound: Bound | None, opened: int) -> int:
            if bound is None:
                return opened
            if upstream.grain is None:
                raise ValueError(f"a pattern with offsets does not fit list partitions on {upstream.column}")
            return bound.ordinal(window, upstream.grain)

        found = ((place(low, LOWEST), place(high, HIGHEST)) for low, high in self.spans)
        return Reads.of(normal(found), self.reasons)
