"""From what a query reads to spans of upstream indexes, for every downstream partition at once."""

from __future__ import annotations

import numpy as np

from lineage import Bound, PartitionColumn, Pattern, Query
from lineage.calendar import Grain
from sr_assets.partitions import KeySpace, TimeKeys
from sr_assets.spans import Ints, Spans, everything, from_bounds, from_rows

_PERIODS = {"week": Grain.WEEK, "month": Grain.MONTH, "quarter": Grain.QUARTER, "year": Grain.YEAR}


def spans_read(
    query: Query,
    table: str,
    upstreams: dict[str, PartitionColumn],
    pattern: Pattern | None,
    down: KeySpace,
    up: KeySpace,
) -> Spans:
    """The upstream partitions of `table` that each partition in `down` reads, as indexes into `up`.

    Uses the offset form where the query has one, and otherwise asks the query for every partition.
    """
    if table not in upstreams:
        whole = np.zeros(down.size, dtype=np.int64)
        return from_bounds([(whole, whole)], down.size, up.size)
    if pattern is not None and all(bound is None for span in pattern.spans for bound in span):
        return everything(down.size, up.size)
    first = up.first if isinstance(up, TimeKeys) else 0
    if pattern is not None and isinstance(down, TimeKeys) and isinstance(up, TimeKeys):
        starts = np.arange(down.first, down.first + down.count, dtype=np.int64)
        moments = _Moments(down.grain, starts)
        bounds = [tuple(moments.ordinals(bound, up.grain, first) for bound in span) for span in pattern.spans]
        return from_bounds([(lo, hi) for lo, hi in bounds], down.count, up.size, up.size_to_come)
    wanted = (query.reads(down.window(index), upstreams)[table].spans for index in range(down.size))
    return from_rows(
        ([(_shift(lo, first), _shift(hi, first)) for lo, hi in row] for row in wanted),
        up.size,
        up.size_to_come,
    )


def _shift(ordinal: int | None, first: int) -> int | None:
    return None if ordinal is None else ordinal - first


class _Moments:
    """The anchor moments of many windows of one grain, in hours since 1970-01-01 00:00."""

    def __init__(self, grain: Grain, ordinals: Ints) -> None:
        self._start = hours_at(grain, ordinals)
        self._end = hours_at(grain, ordinals + 1) - 1

    def ordinals(self, bound: Bound | None, grain: Grain, first: int) -> Ints | None:
        """Upstream index of a bound, for every window; None for an open bound."""
        if bound is None:
            return None
        index: Ints = ordinals_at(grain, self._anchor(bound.anchor)) + (bound.offset - first)
        return index

    def _anchor(self, name: str) -> Ints:
        if name == "start":
            return self._start
        if name == "end":
            return self._end
        period = _PERIODS[name.removesuffix("_end")]
        step = ordinals_at(period, self._start)
        return hours_at(period, step + 1) - 1 if name.endswith("_end") else hours_at(period, step)


def hours_at(grain: Grain, ordinals: Ints) -> Ints:
    """Hours from 1970-01-01 00:00 to the start of each step."""
    if grain is Grain.HOUR:
        return ordinals
    if grain is Grain.DAY:
        return ordinals * 24
    if grain is Grain.WEEK:
        return (ordinals * 7 - 3) * 24
    months = ordinals * {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]
    return months.astype("datetime64[M]").astype("datetime64[h]").astype(np.int64)


def ordinals_at(grain: Grain, hours: Ints) -> Ints:
    """The step that holds each hour; the inverse of `hours_at`."""
    if grain is Grain.HOUR:
        return hours
    if grain is Grain.DAY:
        return hours // 24
    if grain is Grain.WEEK:
        return (hours // 24 + 3) // 7
    months = hours.astype("datetime64[h]").astype("datetime64[M]").astype(np.int64)
    return months // {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]
