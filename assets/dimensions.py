"""Carriers, airports and aircraft: small tables that are replaced as a whole.

StarRocks reads the files with its table function FILES(). `$1`, `$2`, … are the columns of the CSV file, in
its order. Without `partitions=` a table has one partition, whose key is `all`.
"""

from sr_assets import Column, files_load, not_null, row_count, unique

CSV = {"csv.column_separator": ",", "csv.skip_header": "1"}

airlines = files_load(
    "nyc.airlines",
    path="s3://nycflights/airlines/*.csv",
    format="csv",
    load_options=CSV,
    select={"carrier": "$1", "name": "$2"},
    columns=[
        Column("carrier", "VARCHAR(2)", "IATA code of the carrier", nullable=False),
        Column("name", "VARCHAR(64)", "Name of the carrier", nullable=False),
    ],
    key=["carrier"],
    key_model="primary",
    buckets=1,
    checks=[row_count(min=10)],
    description="Carriers with flights from New York.",
    owner="reference-data",
    group="dimensions",
    tags=["reference"],
)

airports = files_load(
    "nyc.airports",
    path="s3://nycflights/airports/*.csv",
    format="csv",
    load_options=CSV,
    select={
        "faa": "$1",
        "name": "$2",
        "latitude": "CAST($3 AS DOUBLE)",
        "longitude": "CAST($4 AS DOUBLE)",
        "altitude_ft": "CAST($5 AS INT)",
        "utc_offset_hours": "CAST($6 AS INT)",
        "timezone": "NULLIF($8, 'NA')",
    },
    columns=[
        Column("faa", "VARCHAR(3)", "FAA code of the airport", nullable=False),
        Column("name", "VARCHAR(128)", "Name of the airport", nullable=False),
        Column("latitude", "DOUBLE", "Degrees north"),
        Column("longitude", "DOUBLE", "Degrees east"),
        Column("altitude_ft", "INT", "Elevation of the field, feet"),
        Column("utc_offset_hours", "INT", "Hours from UTC in winter"),
        Column("timezone", "VARCHAR(32)", "IANA time zone; NULL where it is not known"),
    ],
    key=["faa"],
    key_model="primary",
    buckets=1,
    checks=[row_count(min=1000), not_null("latitude", "longitude")],
    description="Airports of the United States. A few destinations, San Juan among them, are not listed.",
    owner="reference-data",
    group="dimensions",
    tags=["reference"],
)

planes = files_load(
    "nyc.planes",
    path="s3://nycflights/planes/*.csv",
    format="csv",
    load_options=CSV,
    select={
        "tail_number": "$1",
        "year_built": "CAST(NULLIF($2, 'NA') AS INT)",
        "type": "$3",
        "manufacturer": "$4",
        "model": "$5",
        "engines": "CAST($6 AS INT)",
        "seats": "CAST($7 AS INT)",
        "engine": "$9",
    },
    columns=[
        Column("tail_number", "VARCHAR(6)", "Registration", nullable=False),
        Column("year_built", "INT", "Year of manufacture; NULL where it is not known"),
        Column("type", "VARCHAR(32)", "Kind of aircraft, such as `Fixed wing multi engine`"),
        Column("manufacturer", "VARCHAR(64)", "Manufacturer"),
        Column("model", "VARCHAR(32)", "Model, such as `A320-214`"),
        Column("engines", "INT", "Number of engines"),
        Column("seats", "INT", "Number of seats"),
        Column("engine", "VARCHAR(32)", "Kind of engine, such as `Turbo-fan`"),
    ],
    key=["tail_number"],
    checks=[row_count(min=1000), unique("tail_number")],
    distributed_by=["tail_number"],
    buckets=1,
    description="The FAA's registry of aircraft, end of 2013; about a sixth of the fleet is missing.",
    owner="reference-data",
    group="dimensions",
    tags=["reference", "faa"],
)
