"""How punctual the carriers are: by day, week and month.

Every table keeps counts and sums beside the ratios, so that a longer period is computed from a shorter one
without averaging averages.
"""

from sr_assets import Column, Daily, Monthly, Weekly, not_null, row_count, table, unique

# As the Department of Transportation counts: on time is less than 15 minutes late at the gate, and a flight
# that was cancelled or diverted is not on time.
PUNCTUALITY = [
    Column("flights", "INT", "Scheduled flights"),
    Column("cancelled", "INT", "Flights that never left the gate"),
    Column("on_time", "INT", "Flights that arrived less than 15 minutes late"),
    Column("arrivals", "INT", "Flights that arrived where they were meant to"),
    Column("arrival_delay_minutes", "BIGINT", "Sum of the arrivals' delays; early arrivals count negative"),
]

# Same day: one partition of nyc.flights for one partition of this table.
carrier_day = table(
    "mart.carrier_day",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="""
    SELECT
        f.flight_date,
        f.carrier,
        a.name AS carrier_name,
        COUNT(*) AS flights,
        SUM(CASE WHEN f.cancelled THEN 1 ELSE 0 END) AS cancelled,
        SUM(CASE WHEN f.arrival_delay < 15 THEN 1 ELSE 0 END) AS on_time,
        COUNT(f.arrival_delay) AS arrivals,
        COALESCE(SUM(f.arrival_delay), 0) AS arrival_delay_minutes
    FROM nyc.flights AS f
    LEFT JOIN nyc.airlines AS a ON a.carrier = f.carrier
    WHERE f.flight_date = '{{ partition.start }}'
    GROUP BY f.flight_date, f.carrier, a.name
    """,
    columns=[
        Column("flight_date", "DATE", "Day of scheduled departure, New York time", nullable=False),
        Column("carrier", "VARCHAR(2)", "IATA code of the carrier", nullable=False),
        Column("carrier_name", "VARCHAR(64)", "Name of the carrier"),
        *PUNCTUALITY,
    ],
    key=["flight_date", "carrier"],
    distributed_by=["carrier"],
    buckets=1,
    checks=[row_count(min=10), unique("carrier"), not_null("carrier_name")],
    description="Flights, cancellations and punctuality of each carrier, by day.",
    owner="analytics",
    group="carriers",
    tags=["daily", "on-time"],
)

# Daily → weekly. A week begins on Monday; 2013-W01 began on 31 December 2012, a day that is not in the data.
carrier_week = table(
    "mart.carrier_week",
    partitions=Weekly("week_start", start="2013-W01", end="2014-W01", timezone="America/New_York"),
    sql="""
    SELECT
        CAST('{{ partition.start }}' AS DATE) AS week_start,
        carrier,
        SUM(flights) AS flights,
        SUM(cancelled) AS cancelled,
        SUM(on_time) AS on_time,
        SUM(arrivals) AS arrivals,
        SUM(arrival_delay_minutes) AS arrival_delay_minutes
    FROM mart.carrier_day
    WHERE flight_date >= '{{ partition.start }}' AND flight_date < '{{ partition.end }}'
    GROUP BY carrier
    """,
    columns=[
        Column("week_start", "DATE", "Monday of the week", nullable=False),
        Column("carrier", "VARCHAR(2)", "IATA code of the carrier", nullable=False),
        *PUNCTUALITY,
    ],
    key=["week_start", "carrier"],
    distributed_by=["carrier"],
    buckets=1,
    checks=[row_count(min=10), unique("carrier")],
    description="Punctuality of each carrier, by week.",
    owner="analytics",
    group="carriers",
    tags=["weekly", "on-time"],
)

# Daily → monthly.
carrier_month = table(
    "mart.carrier_month",
    partitions=Monthly("flight_month", start="2013-01", end="2014-01", timezone="America/New_York"),
    sql="""
    SELECT
        CAST('{{ partition.start }}' AS DATE) AS flight_month,
        carrier,
        SUM(flights) AS flights,
        SUM(cancelled) AS cancelled,
        SUM(on_time) AS on_time,
        SUM(arrivals) AS arrivals,
        SUM(arrival_delay_minutes) AS arrival_delay_minutes,
        SUM(on_time) / SUM(flights) AS on_time_share,
        SUM(arrival_delay_minutes) / NULLIF(SUM(arrivals), 0) AS mean_arrival_delay
    FROM mart.carrier_day
    WHERE flight_date >= '{{ partition.start }}' AND flight_date < '{{ partition.end }}'
    GROUP BY carrier
    """,
    columns=[
        Column("flight_month", "DATE", "First day of the month", nullable=False),
        Column("carrier", "VARCHAR(2)", "IATA code of the carrier", nullable=False),
        *PUNCTUALITY,
        Column("on_time_share", "DOUBLE", "Share of the scheduled flights that were on time, 0 to 1"),
        Column("mean_arrival_delay", "DOUBLE", "Mean delay of the arrivals, minutes; NULL without any"),
    ],
    key=["flight_month", "carrier"],
    distributed_by=["carrier"],
    buckets=1,
    checks=[row_count(min=10), unique("carrier")],
    description="Punctuality of each carrier, by month.",
    owner="analytics",
    group="carriers",
    tags=["monthly", "on-time"],
)

# Month → day: each day reads its own day of one table and its whole month of another. All months of 2013 are
# over; a live table would join the month before, as the running one has no partition yet.
carrier_share = table(
    "mart.carrier_share",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="""
    SELECT
        d.flight_date,
        d.carrier,
        d.flights,
        m.flights AS flights_of_month,
        d.flights / m.flights AS share_of_month,
        d.on_time / d.flights - m.on_time_share AS on_time_against_month,
        d.arrival_delay_minutes / NULLIF(d.arrivals, 0) - m.mean_arrival_delay AS delay_against_month
    FROM mart.carrier_day AS d
    JOIN mart.carrier_month AS m
        ON m.carrier = d.carrier AND m.flight_month = DATE_TRUNC('month', d.flight_date)
    WHERE d.flight_date = '{{ partition.start }}'
    """,
    columns=[
        Column("flight_date", "DATE", "Day of scheduled departure, New York time", nullable=False),
        Column("carrier", "VARCHAR(2)", "IATA code of the carrier", nullable=False),
        Column("flights", "INT", "Scheduled flights of the day"),
        Column("flights_of_month", "INT", "Scheduled flights of the month that holds the day"),
        Column("share_of_month", "DOUBLE", "The day's share of the month's flights, 0 to 1"),
        Column("on_time_against_month", "DOUBLE", "On-time share of the day less that of the month, -1 to 1"),
        Column(
            "delay_against_month", "DOUBLE", "Mean arrival delay of the day less that of the month, minutes"
        ),
    ],
    key=["flight_date", "carrier"],
    distributed_by=["carrier"],
    buckets=1,
    checks=[row_count(min=10), unique("carrier"), not_null("share_of_month")],
    description="Each carrier's day against its month.",
    owner="analytics",
    group="carriers",
    tags=["daily", "on-time"],
)
