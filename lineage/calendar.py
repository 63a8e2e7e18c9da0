"""Calendar grains as integer axes.

A time partition is one step of a grain (an hour, a day, …), counted from 1970-01-01 00:00 as an
*ordinal*. Partition columns in StarRocks hold wall-clock values without a time zone, so an ordinal
is wall clock too: a day has 24 hours here, whatever a time zone does.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

_EPOCH = datetime(1970, 1, 1)
_EPOCH_MONDAY = datetime(1969, 12, 29)


class Grain(StrEnum):
    """Length of one time partition. Weeks are ISO weeks: they begin on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


def ordinal(grain: Grain, moment: datetime) -> int:
    """Number of the grain step that holds `moment`; 0 is the step that holds 1970-01-01 00:00."""
    if grain is Grain.HOUR:
        return (moment - _EPOCH) // timedelta(hours=1)
    if grain is Grain.DAY:
        return (moment - _EPOCH).days
    if grain is Grain.WEEK:
        return (moment - _EPOCH_MONDAY).days // 7
    months = (moment.year - 1970) * 12 + moment.month - 1
    return months // {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]


def start(grain: Grain, number: int) -> datetime:
    """First moment of step `number`; `start(grain, number + 1)` is its exclusive end.

    Raises OverflowError where the date is outside of years 1 to 9999.
    """
    if grain is Grain.HOUR:
        return _EPOCH + timedelta(hours=number)
    if grain is Grain.DAY:
        return _EPOCH + timedelta(days=number)
    if grain is Grain.WEEK:
        return _EPOCH_MONDAY + timedelta(weeks=number)
    months = number * {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]
    year, month = divmod(months, 12)
    if not 1 <= year + 1970 <= 9999:
        raise OverflowError(f"{grain} {number} is outside of years 1 to 9999")
    return datetime(year + 1970, month + 1, 1)


def is_start(grain: Grain, moment: datetime) -> bool:
    """Whether `moment` is the first moment of a step."""
    return start(grain, ordinal(grain, moment)) == moment


def key(grain: Grain, number: int) -> str:
    """Partition key of a step: `2024-01-01T05`, `2024-01-01`, `2024-W01`, `2024-01`, `2024-Q1`, `2024`."""
    first = start(grain, number)
    if grain is Grain.WEEK:
        year, week, _ = first.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if grain is Grain.QUARTER:
        return f"{first.year:04d}-Q{(first.month + 2) // 3}"
    text = first.isoformat(timespec="hours")
    return text[: {Grain.HOUR: 13, Grain.DAY: 10, Grain.MONTH: 7, Grain.YEAR: 4}[grain]]


def parse_key(grain: Grain, text: str) -> int:
    """Ordinal of a partition key in the form that `key` writes. Raises ValueError for anything else."""
    try:
        if grain is Grain.WEEK:
            year, week = text.split("-W")
            moment = datetime.fromisocalendar(int(year), int(week), 1)
        elif grain is Grain.QUARTER:
            year, quarter = text.split("-Q")
            moment = datetime(int(year), int(quarter) * 3 - 2, 1)
        else:
            fill = "0001-01-01T00"
            moment = datetime.fromisoformat(text + fill[len(text) :])
        number = ordinal(grain, moment)
        if key(grain, number) == text:
            return number
    except (ValueError, OverflowError):
        pass
    example = key(grain, ordinal(grain, datetime(2024, 1, 1)))
    raise ValueError(f"{text!r} is not a key of {grain} partitions, which look like {example!r}")
