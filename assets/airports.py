"""Departures from each airport, what the weather does to them, and the routes.

Longer queries stand in .sql files, where an editor knows what they are.
"""

from sr_assets import Column, Daily, not_null, row_count, table, unique

# Same day: one partition of nyc.flights for one partition of this table.
airport_day = table(
    "mart.airport_day",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="""
    SELECT
        flight_date,
        origin,
        COUNT(*) AS flights,
        SUM(CASE WHEN cancelled THEN 1 ELSE 0 END) AS cancelled,
        AVG(departure_delay) AS mean_departure_delay,
        MAX(departure_delay) AS worst_departure_delay,
        MAX(departed_at) AS last_departure
    FROM nyc.flights
    WHERE flight_date = '{{ partition.start }}'
    GROUP BY flight_date, origin
    """,
    columns=[
        Column("flight_date", "DATE", "Day of scheduled departure, New York time", nullable=False),
        Column("origin", "VARCHAR(3)", "Airport", nullable=False),
        Column("flights", "INT", "Scheduled departures"),
        Column("cancelled", "INT", "Departures that were cancelled"),
        Column("mean_departure_delay", "DOUBLE", "Mean delay of the flights that left, minutes"),
        Column("worst_departure_delay", "INT", "Longest delay of a flight that left, minutes"),
        Column("last_departure", "DATETIME", "When the day's last flight left; may be after midnight"),
    ],
    key=["flight_date", "origin"],
    distributed_by=["origin"],
    buckets=1,
    checks=[row_count(min=3, max=3), unique("origin")],
    description="Departures of each airport, by day.",
    owner="analytics",
    group="airports",
    tags=["daily"],
)

# Two grains: a day of nyc.flights, and the 24 hours of that day of nyc.weather.
flight_weather = table(
    "mart.flight_weather",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="sql/flight_weather.sql",
    columns=[
        Column("flight_date", "DATE", "Day of scheduled departure, New York time", nullable=False),
        Column("carrier", "VARCHAR(2)", "IATA code of the carrier", nullable=False),
        Column("flight_number", "INT", "Flight number", nullable=False),
        Column("origin", "VARCHAR(3)", "Departure airport", nullable=False),
        Column("scheduled_departure", "DATETIME", "Scheduled off-block time, local"),
        Column("departure_delay", "INT", "Minutes behind schedule at departure"),
        Column("cancelled", "BOOLEAN", "Whether the flight never left the gate"),
        Column("wind_speed_mph", "DOUBLE", "Wind at the scheduled hour, miles an hour"),
        Column("precipitation_in", "DOUBLE", "Precipitation of the scheduled hour, inches"),
        Column("visibility_miles", "DOUBLE", "Visibility at the scheduled hour, statute miles"),
        Column("flight_rules", "VARCHAR(8)", "VFR, MVFR, IFR or LIFR by visibility alone; NULL if unknown"),
    ],
    key=["flight_date", "carrier", "flight_number"],
    distributed_by=["carrier", "flight_number"],
    buckets=1,
    checks=[row_count(min=500), unique("carrier", "flight_number", "origin")],
    description="Every flight with the weather at its airport in the hour of its scheduled departure.",
    owner="analytics",
    group="airports",
    tags=["daily", "weather"],
)

# A diamond: both airport_day and flight_weather read nyc.flights. When a day of flights changes, this waits
# for the two of them and is built once.
weather_impact = table(
    "mart.weather_impact",
    partitions=Daily("flight_date", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="sql/weather_impact.sql",
    columns=[
        Column("flight_date", "DATE", "Day of scheduled departure, New York time", nullable=False),
        Column("origin", "VARCHAR(3)", "Airport", nullable=False),
        Column("flights", "INT", "Scheduled departures"),
        Column("cancelled", "INT", "Departures that were cancelled"),
        Column("flights_in_poor_weather", "INT", "Departures scheduled into less than 5 miles of visibility"),
        Column("cancelled_in_poor_weather", "INT", "Of these, how many were cancelled"),
        Column("mean_delay_poor_weather", "DOUBLE", "Mean departure delay in poor weather, minutes"),
        Column("mean_delay_fair_weather", "DOUBLE", "Mean departure delay in fair weather, minutes"),
        Column("precipitation_in", "DOUBLE", "Precipitation of the day, inches"),
    ],
    key=["flight_date", "origin"],
    distributed_by=["origin"],
    buckets=1,
    checks=[row_count(min=3, max=3), unique("origin"), not_null("flights_in_poor_weather")],
    description="Delays and cancellations of each airport in poor and in fair weather, by day.",
    owner="analytics",
    group="airports",
    tags=["daily", "weather"],
)

# A trailing window: each day reads itself and the six days before.
route_7d = table(
    "mart.route_7d",
    partitions=Daily("as_of", start="2013-01-01", end="2014-01-01", timezone="America/New_York"),
    sql="sql/route_7d.sql",
    columns=[
        Column("as_of", "DATE", "Last of the seven days", nullable=False),
        Column("origin", "VARCHAR(3)", "Departure airport", nullable=False),
        Column("destination", "VARCHAR(3)", "Arrival airport", nullable=False),
        Column("flights", "INT", "Scheduled flights of the seven days"),
        Column("cancelled", "INT", "Flights that never left the gate"),
        Column("mean_arrival_delay", "DOUBLE", "Mean delay of the flights that arrived, minutes"),
        Column("worst_arrival_delay", "INT", "Longest delay of a flight that arrived, minutes"),
    ],
    key=["as_of", "origin", "destination"],
    distributed_by=["origin", "destination"],
    buckets=1,
    checks=[row_count(min=100), unique("origin", "destination")],
    description="Delays of each route over the last seven days.",
    owner="analytics",
    group="routes",
    tags=["daily", "trailing"],
)

# Unpartitioned, from all days: any changed day makes it stale, and days still missing do not hold it up.
route_summary = table(
    "mart.route_summary",
    sql="sql/route_summary.sql",
    columns=[
        Column("origin", "VARCHAR(3)", "Departure airport", nullable=False),
        Column("destination", "VARCHAR(3)", "Arrival airport", nullable=False),
        Column("destination_name", "VARCHAR(128)", "Name of the arrival airport; NULL if not listed"),
        Column("distance_miles", "INT", "Distance, statute miles"),
        Column("carriers", "INT", "Number of carriers that flew the route"),
        Column("flights", "INT", "Scheduled flights"),
        Column("cancelled", "INT", "Flights that never left the gate"),
        Column("first_day", "DATE", "First day with a flight"),
        Column("last_day", "DATE", "Last day with a flight"),
        Column("mean_arrival_delay", "DOUBLE", "Mean delay of the flights that arrived, minutes"),
    ],
    key=["origin", "destination"],
    distributed_by=["origin", "destination"],
    buckets=1,
    checks=[row_count(min=100), unique("origin", "destination")],
    description="Every route from New York, over all days.",
    owner="analytics",
    group="routes",
    tags=["summary"],
)
