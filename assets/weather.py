"""Weather at the three airports: hourly observations, and their summary by day.

The observations come from a service, not from files: a Python function gives the rows, and Stream Load
pushes them to StarRocks over HTTP.
"""

import csv
import io

import _landing  # beside this module; names that begin with `_` are helpers and declare no assets

from sr_assets import (
    Column,
    Daily,
    Grain,
    Hourly,
    Severity,
    Window,
    not_null,
    row_count,
    stream_load,
    table,
    unique,
)

NULL = r"\N"  # how CSV writes NULL for StarRocks

# What the service calls each column after the first two, in the order of `load_columns` below.
MEASUREMENTS = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")


def observations(window: Window) -> bytes:
    """The observations of a window as CSV. An hour without any is built as well, with no rows."""
    assert window.start is not None and window.end is not None, "hourly partitions have a start and an end"
    body = io.StringIO()
    writer = csv.writer(body, lineterminator="\n")
    for row in _landing.weather(window.start, window.end):
        observed_at = "{year}-{month:0>2}-{day:0>2} {hour:0>2}:00:00".format_map(row)
        observed_utc = row["time_hour"].replace("T", " ").rstrip("Z")
        measured = [NULL if row[name] == _landing.MISSING else row[name] for name in MEASUREMENTS]
        writer.writerow([observed_at, row["origin"], observed_utc, *measured])
    return body.getvalue().encode()


weather = stream_load(
    "nyc.weather",
    partitions=Hourly("observed_at", start="2013-01-01T00", end="2014-01-01T00", timezone="America/New_York"),
    rows=observations,
    # One request loads the 24 hours of a day. Every hour remains a partition of its own: it can be rebuilt
    # alone, and only what reads that hour is then stale.
    together=Grain.DAY,
    format="csv",
    load_options={"column_separator": ","},
    load_columns=[
        *("observed_at", "origin", "observed_utc", "temperature_f", "dew_point_f", "humidity_pct"),
        *("wind_direction_deg", "wind_speed_mph", "wind_gust_mph", "precipitation_in", "pressure_mb"),
        "visibility_miles",
    ],
    columns=[
        Column("observed_at", "DATETIME", "Hour of the observation, New York time", nullable=False),
        Column("origin", "VARCHAR(3)", "Airport: EWR, JFK or LGA", nullable=False),
        # When summer time ended on 3 November, the hour from 1 to 2 came twice: only UTC tells them apart.
        Column("observed_utc", "DATETIME", "The same hour in UTC", nullable=False),
        Column("temperature_f", "DOUBLE", "Temperature, °F"),
        Column("dew_point_f", "DOUBLE", "Dew point, °F"),
        Column("humidity_pct", "DOUBLE", "Relative humidity, percent"),
        Column("wind_direction_deg", "INT", "Where the wind comes from, degrees; 0 in calm"),
        Column("wind_speed_mph", "DOUBLE", "Wind speed, miles an hour"),
        Column("wind_gust_mph", "DOUBLE", "Speed of gusts, miles an hour; NULL where there were none"),
        Column("precipitation_in", "DOUBLE", "Precipitation, inches"),
        Column("pressure_mb", "DOUBLE", "Pressure at sea level, millibars"),
        Column("visibility_miles", "DOUBLE", "Visibility, statute miles; 10 is the most that is reported"),
    ],
    key=["observed_at", "origin"],
    distributed_by=["origin"],
    buckets=1,
    checks=[
        row_count(max=6),  # three airports, and an hour that may come twice
        unique("origin", "observed_utc"),
        # A broken sensor is worth knowing of, and no reason to stop what reads the table.
        not_null("temperature_f", "wind_speed_mph", severity=Severity.WARN),
    ],
    description="Hourly observations of the automatic weather stations at EWR, JFK and LGA.",
    owner="flight-operations",
    group="raw",
    tags=["asos", "hourly"],
)

# Hourly → daily: the predicate on `observed_at` says that a day reads its 24 hours, and nothing else has to.
weather_day = table(
    "mart.weather_day",
    partitions=Daily("weather_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="""
    SELECT
        CAST('{{ partition.start }}' AS DATE) AS weather_date,
        origin,
        COUNT(DISTINCT observed_at) AS hours_observed,
        MIN(temperature_f) AS low_f,
        MAX(temperature_f) AS high_f,
        SUM(precipitation_in) AS precipitation_in,
        MAX(wind_gust_mph) AS strongest_gust_mph,
        MIN(visibility_miles) AS worst_visibility_miles
    FROM nyc.weather
    WHERE observed_at >= '{{ partition.start }}' AND observed_at < '{{ partition.end }}'
    GROUP BY origin
    """,
    columns=[
        Column("weather_date", "DATE", "Day, New York time", nullable=False),
        Column("origin", "VARCHAR(3)", "Airport", nullable=False),
        Column("hours_observed", "INT", "Hours with an observation; 24 on a complete day"),
        Column("low_f", "DOUBLE", "Lowest temperature, °F"),
        Column("high_f", "DOUBLE", "Highest temperature, °F"),
        Column("precipitation_in", "DOUBLE", "Precipitation of the day, inches"),
        Column("strongest_gust_mph", "DOUBLE", "Strongest gust, miles an hour; NULL on a calm day"),
        Column("worst_visibility_miles", "DOUBLE", "Lowest visibility of the day, statute miles"),
    ],
    key=["weather_date", "origin"],
    distributed_by=["origin"],
    buckets=1,
    checks=[row_count(max=3), unique("origin")],
    description="The weather of each day at each airport.",
    owner="analytics",
    group="weather",
    tags=["daily"],
)
