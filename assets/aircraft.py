"""How much each aircraft flies: by day, and since the year began."""

from sr_assets import Column, Daily, not_null, reads, row_count, table, unique

aircraft_day = table(
    "mart.aircraft_day",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="""
    SELECT
        f.flight_date,
        f.tail_number,
        p.model,
        p.seats,
        COUNT(*) AS flights,
        COALESCE(SUM(f.air_minutes), 0) AS air_minutes,
        SUM(f.distance_miles) AS miles
    FROM nyc.flights AS f
    LEFT JOIN nyc.planes AS p ON p.tail_number = f.tail_number
    WHERE f.flight_date = '{{ partition.start }}' AND NOT f.cancelled AND f.tail_number IS NOT NULL
    GROUP BY f.flight_date, f.tail_number, p.model, p.seats
    """,
    # The registry is published again and again, with few changes to old aircraft: a new edition is used from
    # now on, and does not rebuild a year of days.
    reads=[reads("nyc.planes", invalidates=False)],
    columns=[
        Column("flight_date", "DATE", "Day of scheduled departure, New York time", nullable=False),
        Column("tail_number", "VARCHAR(6)", "Registration of the aircraft", nullable=False),
        Column("model", "VARCHAR(32)", "Model; NULL where the registry does not know the aircraft"),
        Column("seats", "INT", "Number of seats; NULL where the registry does not know the aircraft"),
        Column("flights", "INT", "Flights that left"),
        Column("air_minutes", "INT", "Minutes in the air, without diverted flights"),
        Column("miles", "INT", "Scheduled distance of these flights, statute miles"),
    ],
    key=["flight_date", "tail_number"],
    distributed_by=["tail_number"],
    buckets=1,
    checks=[row_count(min=200), unique("tail_number")],
    description="Flights and time in the air of each aircraft, by day.",
    owner="fleet",
    group="aircraft",
    tags=["daily"],
)

# A table that reads its own previous day: days are built one after the other, and a correction of one day
# makes all later ones stale.
aircraft_hours = table(
    "mart.aircraft_hours",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="sql/aircraft_hours.sql",
    columns=[
        Column("flight_date", "DATE", "State at the end of this day", nullable=False),
        Column("tail_number", "VARCHAR(6)", "Registration of the aircraft", nullable=False),
        Column("flights", "INT", "Flights from New York since 1 January"),
        Column("air_minutes", "BIGINT", "Minutes in the air on these flights"),
        Column("last_flown", "DATE", "Last day on which it left New York"),
    ],
    key=["flight_date", "tail_number"],
    distributed_by=["tail_number"],
    buckets=1,
    checks=[row_count(min=200), unique("tail_number"), not_null("air_minutes", "last_flown")],
    description="Running totals of each aircraft, for planning its maintenance.",
    owner="fleet",
    group="aircraft",
    tags=["daily", "running-total"],
)
