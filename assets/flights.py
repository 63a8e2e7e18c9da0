"""Flights out of New York's three airports, as the carriers report them.

The feed leaves one CSV file a day under s3://nycflights/flights/. It is Broker Load that reads it: StarRocks
fetches the files itself, in the background, and a rebuild replaces a day's rows in one step.
"""

from sr_assets import Column, Daily, broker_load, not_null, row_count, unique

# The file writes clock times as 1455 and missing values as NA. Names on the left are the table's columns,
# names inside of the expressions are those of `load_columns` below.
SCHEDULED = "STR_TO_DATE(CONCAT(year, '-', month, '-', day, ' ', hour, ':', minute), '%Y-%m-%d %H:%i')"

flights = broker_load(
    "nyc.flights",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    # `{{ partition.key }}` is the day, such as 2013-02-08. A day's folder may hold any number of files.
    path="s3://nycflights/flights/dt={{ partition.key }}/*.csv",
    format="csv",
    load_options={"column_separator": ",", "skip_header": "1"},
    # The columns of the file, in its order. Those named as a table column are loaded as they are.
    load_columns=[
        *("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time"),
        *("arr_delay", "carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance", "hour"),
        *("minute", "time_hour"),
    ],
    set={
        "flight_date": "STR_TO_DATE(CONCAT_WS('-', year, month, day), '%Y-%m-%d')",
        "flight_number": "CAST(flight AS INT)",
        "destination": "dest",
        "tail_number": "NULLIF(tailnum, 'NA')",
        "scheduled_departure": SCHEDULED,
        # Not from dep_time: a flight of 23:55 that leaves at 00:10 leaves on the next day.
        "departed_at": f"MINUTES_ADD({SCHEDULED}, CAST(NULLIF(dep_delay, 'NA') AS INT))",
        "departure_delay": "CAST(NULLIF(dep_delay, 'NA') AS INT)",
        "arrival_delay": "CAST(NULLIF(arr_delay, 'NA') AS INT)",
        "air_minutes": "CAST(NULLIF(air_time, 'NA') AS INT)",
        "distance_miles": "CAST(distance AS INT)",
        "cancelled": "dep_time = 'NA'",
    },
    columns=[
        Column("flight_date", "DATE", "Day of scheduled departure, New York time", nullable=False),
        Column("carrier", "VARCHAR(2)", "IATA code, see nyc.airlines", nullable=False),
        Column("flight_number", "INT", "Flight number without the carrier's code", nullable=False),
        Column("origin", "VARCHAR(3)", "Departure airport: EWR, JFK or LGA", nullable=False),
        Column("destination", "VARCHAR(3)", "Scheduled arrival airport, see nyc.airports", nullable=False),
        Column("tail_number", "VARCHAR(6)", "Registration of the aircraft, see nyc.planes; unknown for some"),
        Column("scheduled_departure", "DATETIME", "Scheduled off-block time, local", nullable=False),
        Column("departed_at", "DATETIME", "Actual off-block time, local; NULL for a cancelled flight"),
        Column("departure_delay", "INT", "Minutes behind schedule at departure; negative is early"),
        Column("arrival_delay", "INT", "Minutes behind schedule at arrival; NULL if cancelled or diverted"),
        Column("air_minutes", "INT", "Minutes in the air; NULL if cancelled or diverted"),
        Column("distance_miles", "INT", "Distance between the two airports, statute miles"),
        Column("cancelled", "BOOLEAN", "Whether the flight never left the gate", nullable=False),
    ],
    key=["flight_date", "carrier", "flight_number"],
    # About 900 rows a day: one bucket is enough, and a year stays at 365 tablets.
    distributed_by=["carrier", "flight_number"],
    buckets=1,
    checks=[
        row_count(min=500),  # the quietest day, Thanksgiving, had 634
        not_null("scheduled_departure", "origin", "destination", "cancelled"),
        unique("carrier", "flight_number", "origin"),
    ],
    description="Every scheduled departure from EWR, JFK and LGA in 2013.",
    owner="flight-operations",
    group="raw",
    tags=["faa", "daily"],
    # 2013 is over, so nothing is scheduled. A live feed would be asked for yesterday every morning:
    # schedule="30 6 * * *",
)
