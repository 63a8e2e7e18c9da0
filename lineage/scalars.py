"""What StarRocks' scalar functions do to a value: conversions, comparison and date arithmetic.

Only cases are covered in which StarRocks' result is certain; anything else is `Undecided`, and the
predicate around it then excludes nothing. Sources: StarRocks' documentation of date and time functions
and of implicit conversion.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime, timedelta

from lineage import calendar
from lineage.axis import Value
from lineage.calendar import Grain


class Undecided(Exception):
    """The value of an expression, or the truth of a condition, is not known. The text says why."""


_MOMENT = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d{1,6}))?)?)?"
    r"|(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d))?"
)


def to_datetime(value: Value) -> datetime:
    """CAST(value AS DATETIME): of dates, and of texts and integers that spell one."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str | int):
        match = _MOMENT.fullmatch(str(value).strip())
        if match:
            dashed = match[1] is not None
            numbers = match.groups("0")[:6] if dashed else match.groups("0")[7:]
            fraction = int((match[7] or "0").ljust(6, "0"))
            year, month, day, hour, minute, second = map(int, numbers)
            return datetime(year, month, day, hour, minute, second, fraction)
    raise Undecided(f"{value!r} is no date")


def to_date(value: Value) -> date:
    return to_datetime(value).date()


def to_text(value: Value) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str | int):
        return str(value)
    raise Undecided(f"the text of {value!r}")


def to_int(value: Value) -> int:
    if isinstance(value, datetime):
        return int(value.strftime("%Y%m%d%H%M%S"))
    if isinstance(value, date):
        return int(value.strftime("%Y%m%d"))
    if isinstance(value, str | int):
        return int(value)
    raise Undecided(f"the integer of {value!r}")


def compare(a: Value, b: Value) -> int:
    """-1, 0 or 1, after the conversion that StarRocks applies to both sides of a comparison."""
    left, right = _alike(a, b)
    return (left > right) - (left < right)  # type: ignore[operator]


def _alike(a: Value, b: Value) -> tuple[Value, Value]:
    numbers = (int, float)
    if isinstance(a, date) or isinstance(b, date):
        if isinstance(a, numbers) or isinstance(b, numbers):
            raise Undecided("a date compared with a number")
        return to_datetime(a), to_datetime(b)
    if isinstance(a, str) and isinstance(b, numbers):
        return _number(a), b
    if isinstance(b, str) and isinstance(a, numbers):
        return a, _number(b)
    return a, b


def _number(text: str) -> int:
    # Texts such as '05' compare with 5 as texts or as numbers, depending on the session.
    if text.isdecimal() and str(int(text)) == text:
        return int(text)
    raise Undecided(f"{text!r} compared with a number")


_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_STEPS = {
    "MICROSECOND": timedelta(microseconds=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
    "WEEK": timedelta(weeks=1),
}


def shift(value: Value, count: int, unit: str) -> Value:
    """value + INTERVAL count unit; a month's end stays within the month."""
    moment = to_datetime(value)
    if unit in _MONTHS:
        year, month = divmod(moment.year * 12 + moment.month - 1 + count * _MONTHS[unit], 12)
        if not 1 <= year <= 9999:
            raise Undecided("a date outside of years 1 to 9999")
        day = min(moment.day, monthrange(year, month + 1)[1])
        moved = moment.replace(year=year, month=month + 1, day=day)
    elif unit in _STEPS:
        moved = moment + count * _STEPS[unit]
    else:
        raise Undecided(f"unit {unit.lower()}")
    whole_days = unit in _MONTHS or unit in ("DAY", "WEEK")
    return moved.date() if is_date(value) and whole_days else moved


def truncate(value: Value, unit: str) -> Value:
    """DATE_TRUNC: the first moment of the unit that holds `value`. Weeks begin on Monday."""
    moment = to_datetime(value)
    match unit:
        case "SECOND":
            first = moment.replace(microsecond=0)
        case "MINUTE":
            first = moment.replace(second=0, microsecond=0)
        case "HOUR" | "DAY" | "WEEK" | "MONTH" | "QUARTER" | "YEAR":
            grain = Grain(unit.lower())
            first = calendar.start(grain, calendar.ordinal(grain, moment))
        case _:
            raise Undecided(f"unit {unit.lower()}")
    return first.date() if is_date(value) else first


def last_day(value: Value) -> date:
    day = to_date(value)
    return day.replace(day=monthrange(day.year, day.month)[1])


def is_date(value: Value) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


_JODA = {"yyyyMMdd": "%Y%m%d", "yyyy-MM-dd": "%Y-%m-%d", "yyyyMM": "%Y%m", "yyyy-MM": "%Y-%m", "yyyy": "%Y"}
_JODA["yyyy-MM-dd HH:mm:ss"] = "%Y-%m-%d %H:%M:%S"


def python_format(format: str) -> str:
    """A format as SQLGlot gives it, as one of Python's with the same meaning in every locale."""
    format = _JODA.get(format, format).replace("%T", "%H:%M:%S").replace("%F", "%Y-%m-%d")
    directives = re.findall(r"%(.?)", format)
    if not all(d in tuple("YmdHMSj") for d in directives):
        raise Undecided(f"date format {format}")
    return format


def format_moment(value: Value, format: str) -> str:
    return to_datetime(value).strftime(format)


def parse_moment(value: Value, format: str) -> Value:
    """STR_TO_DATE: a DATETIME if the format has hours, else a DATE."""
    if not all(directive in format for directive in ("%Y", "%m", "%d")):
        raise Undecided(f"a date without year, month or day: format {format}")
    moment = datetime.strptime(to_text(value), format)
    return moment if "%H" in format else moment.date()
