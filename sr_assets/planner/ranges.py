"""Ranges of time as a person types them."""

from __future__ import annotations

from datetime import datetime

from lineage import calendar
from lineage.calendar import Grain
from sr_assets.errors import SelectionError


def parse_range(start: str | None, end: str | None) -> tuple[datetime | None, datetime | None]:
    """[start, end) from the keys of the first and the last partition of the range, of any grain.

    `2013-02` as end is the whole of February. Raises SelectionError for what is no key, or a reversed range.
    """
    first = None if start is None else _steps(start, "start")[0]
    last = None if end is None else _steps(end, "end")[1]
    if first is not None and last is not None and last <= first:
        raise SelectionError(f"the range is reversed: it starts at {start} and ends at {end}")
    return first, last


def _steps(text: str, name: str) -> tuple[datetime, datetime]:
    """First moment of the key's step, and of the one after it."""
    for grain in Grain:
        try:
            number = calendar.parse_key(grain, text)
        except ValueError:
            continue
        return calendar.start(grain, number), calendar.start(grain, number + 1)
    raise SelectionError(
        f"{name}: {text!r} is no partition key",
        hint="write a day (2013-02-08), an hour (2013-02-08T05), a week (2013-W06), a month (2013-02) or a year",
    )
